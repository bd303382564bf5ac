// A dialog of the browser's own kind: it keeps the focus, closes on Escape, and gives the focus back.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from './button.tsx';
import { keepFocus } from './focus.ts';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** `wide`: for tables and long texts. `palette`: its name and the button that closes it are not shown. */
  look?: 'usual' | 'wide' | 'palette';
}

/** Changes by how many the works are that hold the dialog open. */
const Hold = createContext<(by: 1 | -1) => void>(() => {});

/** Keeps the dialog around this open while `busy`: who closed it would not learn what came of it. */
export function useHold(busy: boolean): void {
  const hold = useContext(Hold);
  useLayoutEffect(() => {
    if (!busy) return;
    hold(1);
    return () => hold(-1);
  }, [busy, hold]);
}

/** Open while it is rendered. */
export function Dialog({ title, onClose, children, look = 'usual' }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [holds, setHolds] = useState(0);
  const [hold] = useState(() => (by: 1 | -1) => setHolds((before) => before + by));
  const isHeld = holds > 0;
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    // Left to itself the focus goes to the button that closes.
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
        // A second Escape closes it without asking by `cancel`.
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

/** To what opened the dialog; it may go away only now, as a removed row does when the list is read anew. */
function giveBack(to: Element | null): void {
  if (!(to instanceof HTMLElement)) return;
  to.focus();
  keepFocus(to);
}
