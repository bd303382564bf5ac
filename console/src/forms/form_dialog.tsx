// Dialogs: one that is open at a time, and the usual ones, with a form that does something or makes something.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { Dialog, type Fault, Form, notify } from '../ui/ui.ts';

type Render = (close: () => void, open: OpenDialog) => ComponentChildren;
export type OpenDialog = (next: Render) => void;

/**
 * `dialog` belongs somewhere on the page; `open` shows there the dialog that it is given. Those that are `named` are a part of
 * the address (`?dialog=add`), so that links, and the palette, lead to them; `ask` opens one.
 */
export function useDialog(named: Record<string, Render> = {}): {
  dialog: ComponentChildren;
  open: OpenDialog;
  ask: (name: string) => void;
} {
  const [render, setRender] = useState<Render>();
  const [asked, ask] = useAddressState('dialog');
  const show = (next: Render | undefined) => {
    setRender(() => next);
    if (asked) ask('');
  };
  const shown = render ?? (Object.hasOwn(named, asked) ? named[asked] : undefined);
  return { dialog: shown?.(() => show(undefined), show), open: show, ask };
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
    <Dialog title={title} onClose={onClose} look={wide ? 'wide' : 'usual'}>
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
