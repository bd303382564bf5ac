// Buttons: one look for each weight of what they do.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface Refusable {
  /** Why it cannot be pressed now; it stays where it is, and says so. */
  refused?: string | null | undefined;
}

interface Look extends Refusable {
  kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  icon?: IconName;
  /** Shows that it works, and takes no second press. */
  busy?: boolean;
  children?: ComponentChildren;
}

type ButtonProps = Look & Omit<JSX.IntrinsicElements['button'], 'icon'>;

export function Button({
  kind = 'plain',
  icon,
  busy = false,
  refused,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...refusing(refused)}
      class={`button ${kind}`}
      aria-disabled={busy || rest.disabled || refused ? 'true' : undefined}
      aria-busy={busy ? 'true' : undefined}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  );
}

/** A button that is only an icon; `label` says what it does. */
export function IconButton({
  icon,
  label,
  refused,
  ...rest
}: { icon: IconName; label: string } & Refusable &
  Omit<JSX.IntrinsicElements['button'], 'icon' | 'label'>) {
  return (
    <button
      type="button"
      title={label}
      {...rest}
      {...refusing(refused)}
      class="button icon-only quiet"
      aria-label={label}
      aria-disabled={refused ? 'true' : undefined}
    >
      <Icon name={icon} />
    </button>
  );
}

/** It keeps the focus, so that the reason can be read; a press, or Enter in its form, does nothing. */
function refusing(reason: string | null | undefined): JSX.IntrinsicElements['button'] {
  if (!reason) return {};
  return {
    title: reason,
    'aria-description': reason,
    onClick: (event) => event.preventDefault(),
  };
}
