// A dialog of the browser: it keeps the focus, closes on Escape, and gives the focus back.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from './button.tsx';
import { keepFocus } from './focus.ts';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** `wide`: for tables and long texts. `palette`: without a visible name and close button. */
  look?: 'normal' | 'wide' | 'palette';
}

/** Changes the number of actions that keep the dialog open. */
const Hold = createContext<(by: 1 | -1) => void>(() => {});

/** Keeps the surrounding dialog open while `busy`: its outcome would not be seen otherwise. */
export function useHold(busy: boolean): void {
  const hold = useContext(Hold);
  useLayoutEffect(() => {
    if (!busy) return;
    hold(1);
    return () => hold(-1);
  }, [busy, hold]);
}

/** Open while it is rendered. */
export function Dialog({ title, onClose, children, look = 'normal' }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [holds, setHolds] = useState(0);
  const [hold] = useState(() => (by: 1 | -1) => setHolds((before) => before + by));
  const isHeld = holds > 0;
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    // By default the close button would have the focus.
    shown?.querySelector<HTMLElement>('form :is(input, select, textarea):not([hidden])')?.focus();
    return () => {
      shown?.close();
      giveBack(before);
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${look}`}
      {...(look === 'palette' ? { 'aria-label': title } : { 'aria-labelledby': id })}
      onKeyDown={(event) => {
        // A second Escape would close it without a `cancel` event.
        if (isHeld && event.key === 'Escape') event.preventDefault();
      }}
      onCancel={(event) => {
        event.preventDefault();
        if (!isHeld) onClose();
      }}
    >
      {look !== 'palette' && (
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" disabled={isHeld} onClick={onClose} />
        </header>
      )}
      <Hold.Provider value={hold}>{children}</Hold.Provider>
    </dialog>
  );
}

/** Gives the focus back to the opener, which may disappear only now, as a removed row does. */
function giveBack(to: Element | null): void {
  if (!(to instanceof HTMLElement)) return;
  to.focus();
  keepFocus(to);
}
