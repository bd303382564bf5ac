// Dialogs: one that is open at a time, and the usual one, which says what is about to be done and does it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { explain } from '../api/sentences.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { notify } from '../ui/toast.tsx';

type Render = (close: () => void) => ComponentChildren;

/** `dialog` belongs somewhere on the page; `open` shows what it is given there. */
export function useDialog() {
  const [render, setRender] = useState<Render>();
  const close = () => setRender(undefined);
  return {
    dialog: render?.(close),
    open: (next: Render) => setRender(() => next),
  };
}

interface FormDialogProps {
  title: string;
  /** What the button says. */
  verb: string;
  kind?: 'danger' | 'primary';
  /** Does it, and answers what is then said of it. */
  onSubmit: (fields: FormData) => Promise<string>;
  onClose: () => void;
  wide?: boolean;
  /** What is destroyed, or the fields of a form. */
  children?: ComponentChildren;
}

export function FormDialog({
  title,
  verb,
  kind = 'danger',
  onSubmit,
  onClose,
  wide,
  children,
}: FormDialogProps) {
  const submit = async (fields: FormData) => {
    const done = await onSubmit(fields);
    onClose();
    notify(done);
  };
  return (
    <Dialog title={title} onClose={onClose} wide={wide ?? false}>
      <Form verb={verb} kind={kind} explain={explain} onSubmit={submit} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
