// Buttons: one look for each weight of what they do.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface Look {
  kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  icon?: IconName;
  /** Shows that it works, and takes no second press. */
  busy?: boolean;
  children?: ComponentChildren;
}

type ButtonProps = Look & Omit<JSX.IntrinsicElements['button'], 'icon'>;

export function Button({ kind = 'plain', icon, busy = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}`}
      aria-disabled={busy || rest.disabled ? 'true' : undefined}
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
  ...rest
}: { icon: IconName; label: string } & Omit<JSX.IntrinsicElements['button'], 'icon' | 'label'>) {
  return (
    <button type="button" {...rest} class="button icon-only quiet" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}
