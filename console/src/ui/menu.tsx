// A button that opens a short list of further actions, in the browser's own popover.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  text: string;
  icon?: IconName;
  danger?: boolean;
  /** An item that is on or off; the menu stays open when it is selected. */
  isChecked?: boolean;
  /** The reason why it is disabled. */
  disabledReason?: string | null | undefined;
  onSelect: () => void;
}

interface MenuProps {
  /** Names what the actions are for: "More for alice". */
  label: string;
  icon?: IconName;
  /** Whether the button shows the label. */
  isWritten?: boolean;
  busy?: boolean;
  items: readonly MenuItem[];
}

export function Menu({ label, icon = 'more', isWritten, busy, items }: MenuProps) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLSpanElement>(null);
  const [isOpen, setIsOpen] = useState(false);

  useEffect(() => {
    if (!isOpen) return;
    menu.current?.querySelector('button')?.focus({ preventScroll: true });
    // It stays with its button while the page scrolls.
    const follow = () => place(menu.current, opener.current);
    addEventListener('scroll', follow, true);
    return () => removeEventListener('scroll', follow, true);
  }, [isOpen]);

  const move = (event: KeyboardEvent) => {
    if (event.key === 'Tab') menu.current?.hidePopover();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...(menu.current?.querySelectorAll('button') ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons.at((at + step) % buttons.length)?.focus();
  };
  return (
    <>
      <span ref={opener}>
        {isWritten ? (
          <Button kind="quiet" {...{ icon, busy }} popoverTarget={id} aria-haspopup="menu">
            {label}
          </Button>
        ) : (
          <IconButton icon={icon} label={label} popoverTarget={id} aria-haspopup="menu" />
        )}
      </span>
      <div
        id={id}
        ref={menu}
        class="menu"
        popover="auto"
        role="menu"
        aria-label={label}
        onBeforeToggle={() => place(menu.current, opener.current)}
        onToggle={(event) => setIsOpen(event.newState === 'open')}
        onKeyDown={move}
      >
        {items.map(({ text, icon, danger, isChecked, disabledReason, onSelect }) => (
          // biome-ignore lint/a11y/useAriaPropsSupportedByRole: checked items have the role for it
          <button
            key={text}
            type="button"
            role={isChecked === undefined ? 'menuitem' : 'menuitemcheckbox'}
            aria-checked={isChecked}
            aria-disabled={disabledReason ? 'true' : undefined}
            aria-description={disabledReason ?? undefined}
            title={disabledReason ?? undefined}
            class={danger ? 'danger' : undefined}
            onClick={() => {
              if (disabledReason) return;
              if (isChecked === undefined) menu.current?.hidePopover();
              onSelect();
            }}
          >
            {(icon || isChecked !== undefined) && <Icon name={icon ?? 'check'} />} {text}
          </button>
        ))}
      </div>
    </>
  );
}

/** Places it below its button, or above if there is more room. */
function place(menu: HTMLElement | null, opener: HTMLElement | null): void {
  const box = opener?.getBoundingClientRect();
  if (!menu || !box) return;
  const isLow = box.bottom > innerHeight * 0.65;
  Object.assign(menu.style, {
    insetInlineEnd: `${document.documentElement.clientWidth - box.right}px`,
    insetBlockStart: isLow ? 'auto' : `${box.bottom + 4}px`,
    insetBlockEnd: isLow ? `${innerHeight - box.top + 4}px` : 'auto',
  });
}
