// Buttons: one look for each kind of action.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface Disablable {
  /** The reason why it is disabled; the button stays where it is and shows it. */
  disabledReason?: string | null | undefined;
}

interface Look extends Disablable {
  kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  icon?: IconName;
  /** Shows progress, and ignores a second press. */
  busy?: boolean;
  children?: ComponentChildren;
}

type ButtonProps = Look & Omit<JSX.IntrinsicElements['button'], 'icon'>;

export function Button({
  kind = 'plain',
  icon,
  busy = false,
  disabledReason,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...disabling(disabledReason)}
      class={`button ${kind}`}
      aria-disabled={busy || rest.disabled || disabledReason ? 'true' : undefined}
      aria-busy={busy ? 'true' : undefined}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  );
}

/** The main button of a list's page, which adds a record. */
export const AddButton = (props: Omit<ButtonProps, 'kind' | 'icon'>) => (
  <Button {...props} kind="primary" icon="plus" />
);

/** Saves what a card shows as CSV; screen readers hear what that is, such as "accounts". */
export function ExportCsvButton({ records, ...rest }: { records: string } & ButtonProps) {
  return (
    <Button {...rest} icon="download">
      Export<span class="visually-hidden"> {records} as CSV</span>
    </Button>
  );
}

/** A button that is only an icon; `label` says what it does. */
export function IconButton({
  icon,
  label,
  disabledReason,
  ...rest
}: { icon: IconName; label: string } & Disablable &
  Omit<JSX.IntrinsicElements['button'], 'icon' | 'label'>) {
  return (
    <button
      type="button"
      title={label}
      {...rest}
      {...disabling(disabledReason)}
      class="button icon-only quiet"
      aria-label={label}
      aria-disabled={disabledReason ? 'true' : undefined}
    >
      <Icon name={icon} />
    </button>
  );
}

/**
 * A disabled button keeps the focus, so that its reason can be read; a press or Enter does nothing.
 */
function disabling(reason: string | null | undefined): JSX.IntrinsicElements['button'] {
  if (!reason) return {};
  return {
    title: reason,
    'aria-description': reason,
    onClick: (event) => event.preventDefault(),
  };
}
