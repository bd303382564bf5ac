// A dialog of the browser's own kind: it keeps the focus, closes on Escape, and gives the focus back.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { IconButton } from './button.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** For tables and long texts. */
  wide?: boolean;
}

/** Open while it is rendered. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    // Left to itself the focus goes to the button that closes.
    shown?.querySelector<HTMLElement>('form :is(input, select, textarea):not([hidden])')?.focus();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}
