// Dialogs: one that is open at a time, and the usual ones, with a form that does something or makes something.
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { Dialog, type Fault, Form, notify } from '../ui/ui.ts';

type Render = (close: () => void) => ComponentChildren;
export type OpenDialog = (next: Render) => void;

/** Dialogs by the names that they have in the address; `of` is the record, as in `dialog=change:alice`. */
type Linked = Record<string, (close: () => void, of: string) => ComponentChildren>;
export type OpenLinked = (name: string, of?: string) => void;

/**
 * `dialog` belongs somewhere on the page; `open` shows there the dialog that it is given, `openLinked` one of `linked`, which
 * reload and a link open as well. A link adds and changes: one that takes away, or shows a secret, is no link.
 */
export function useDialog(linked: Linked = {}): {
  dialog: ComponentChildren;
  open: OpenDialog;
  openLinked: OpenLinked;
} {
  const [render, setRender] = useState<Render>();
  const [shown, setShown] = useAddressState('dialog');
  const [name = '', of = ''] = shown.split(/:(.*)/s);
  const renderLinked = Object.hasOwn(linked, name) ? linked[name] : undefined;
  return {
    dialog: render ? (
      render(() => setRender(undefined))
    ) : (
      <Fragment key={shown}>{renderLinked?.(() => setShown(''), of)}</Fragment>
    ),
    open: (next) => setRender(() => next),
    openLinked: (name, of = '') => setShown(of ? `${name}:${of}` : name),
  };
}

interface OfRecordProps<T> {
  /** Undefined until it is read; a dialog that is open stays meanwhile. */
  list: readonly T[] | undefined;
  is: (record: T) => boolean;
  /** Its name, for "alice is not there any more." */
  name: string;
  /** Takes the place of the dialog while there is none to show. */
  unread?: ComponentChildren;
  onClose: () => void;
  /** The dialog. */
  children: (record: T) => ComponentChildren;
}

/**
 * A dialog about a record of a list: as it was when the dialog opened, since a form sends what differs from that. It closes
 * when the record is gone.
 */
export function OfRecord<T>({ list, is, name, unread, onClose, children }: OfRecordProps<T>) {
  const found = list?.find(is);
  const first = useRef(found);
  first.current ??= found;
  const isGone = list !== undefined && found === undefined;
  useEffect(() => {
    if (!isGone) return;
    onClose();
    notify(`${name} is not there any more.`);
  }, [isGone]);
  return <>{!isGone && (first.current ? children(first.current) : unread)}</>;
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
