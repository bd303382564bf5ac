// Dialogs: one that is open at a time, and the usual ones, with a form that does something or makes something.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog, type Fault, Form, notify } from '../ui/ui.ts';

type Render = (close: () => void) => ComponentChildren;
export type OpenDialog = (next: Render) => void;

/** `dialog` belongs somewhere on the page; `open` shows there the dialog that it is given. */
export function useDialog(): { dialog: ComponentChildren; open: OpenDialog } {
  const [render, setRender] = useState<Render>();
  const close = () => setRender(undefined);
  return {
    dialog: render?.(close),
    open: (next) => setRender(() => next),
  };
}

interface DialogProps {
  title: string;
  /** Of the button. */
  verb: string;
  onClose: () => void;
  /** The consequences, or the fields of the form. */
  children?: ComponentChildren;
}

interface FormDialogProps extends DialogProps {
  kind?: 'danger' | 'primary';
  /** Does it; a sentence that it returns is then shown. */
  onSubmit: (fields: FormData) => Promise<unknown>;
  /** Puts an error into words, where the usual ones do not serve. */
  explain?: (error: unknown) => Fault;
  wide?: boolean;
}

/** Says what is about to be done, does it, and closes. */
export function FormDialog({
  title,
  verb,
  kind = 'danger',
  onSubmit,
  explain,
  onClose,
  wide = false,
  children,
}: FormDialogProps) {
  const submit = async (fields: FormData) => {
    const done = await onSubmit(fields);
    onClose();
    if (typeof done === 'string') notify(done);
  };
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form verb={verb} kind={kind} explain={explain} onSubmit={submit} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}

interface MakerDialogProps<T> extends DialogProps {
  make: (fields: FormData) => Promise<T>;
  /** Takes the place of the form. */
  shown: (made: T) => ComponentChildren;
  /** Takes the place of the title then. */
  titleOf?: (made: T) => string;
}

/** Makes something, such as a token, and shows it, until it is closed. */
export function MakerDialog<T>(props: MakerDialogProps<T>) {
  const { title, verb, make, shown, titleOf, onClose, children } = props;
  const [made, setMade] = useState<T>();
  const submit = async (fields: FormData) => setMade(await make(fields));
  return (
    <Dialog title={made !== undefined && titleOf ? titleOf(made) : title} onClose={onClose}>
      {made !== undefined ? (
        shown(made)
      ) : (
        <Form verb={verb} onSubmit={submit} onCancel={onClose}>
          {children}
        </Form>
      )}
    </Dialog>
  );
}
