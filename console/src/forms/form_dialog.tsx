// Dialogs: at most one is open, and the usual ones have a form that does or makes something.
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { Dialog, type Fault, Form, notify } from '../ui/ui.ts';

type Render = (close: () => void) => ComponentChildren;
export type OpenDialog = (next: Render) => void;

/** Dialogs by their names in the address; `id` is the record, as in `dialog=change:alice`. */
type Linked = Record<string, (close: () => void, id: string) => ComponentChildren>;
export type OpenLinked = (name: string, id?: string) => void;

/**
 * `dialog` goes somewhere on the page; `open` shows a given dialog there, `openLinked` one of
 * `linked`, which a reload and a link also open. Links only add and change: a dialog that removes
 * or shows a secret has none.
 */
export function useDialog(linked: Linked = {}): {
  dialog: ComponentChildren;
  open: OpenDialog;
  openLinked: OpenLinked;
} {
  const [render, setRender] = useState<Render>();
  const [shown, setShown] = useAddressState('dialog');
  const [name = '', id = ''] = shown.split(/:(.*)/s);
  const renderLinked = Object.hasOwn(linked, name) ? linked[name] : undefined;
  return {
    dialog: render ? (
      render(() => setRender(undefined))
    ) : (
      <Fragment key={shown}>{renderLinked?.(() => setShown(''), id)}</Fragment>
    ),
    open: (next) => setRender(() => next),
    openLinked: (name, id = '') => setShown(id ? `${name}:${id}` : name),
  };
}

interface OfRecordProps<T> {
  /** Undefined until it is read; an open dialog stays meanwhile. */
  list: readonly T[] | undefined;
  is: (record: T) => boolean;
  /** The record's name, for "alice no longer exists." */
  name: string;
  /** Shown while there is no record yet. */
  unread?: ComponentChildren;
  onClose: () => void;
  children: (record: T) => ComponentChildren;
}

/**
 * A dialog about a record of a list, as it was when the dialog opened, since a form sends the
 * differences from that. It closes when the record is gone.
 */
export function OfRecord<T>({ list, is, name, unread, onClose, children }: OfRecordProps<T>) {
  const record = list?.find(is);
  const first = useRef(record);
  first.current ??= record;
  const isGone = list !== undefined && record === undefined;
  useEffect(() => {
    if (!isGone) return;
    onClose();
    notify(`${name} no longer exists.`);
  }, [isGone]);
  return <>{!isGone && (first.current ? children(first.current) : unread)}</>;
}

interface DialogProps {
  title: string;
  /** The text of the button. */
  verb: string;
  onClose: () => void;
  /** The consequences, or the fields of the form. */
  children?: ComponentChildren;
}

interface FormDialogProps extends DialogProps {
  kind?: 'danger' | 'primary';
  /** Submits the form; a sentence that it returns is shown. */
  onSubmit: (fields: FormData) => Promise<unknown>;
  /** Explains an error, where the default does not fit. */
  explain?: (error: unknown) => Fault;
  /** A warning about what the fields would do; with one, the button is red. */
  warningOf?: (fields: FormData) => string | undefined;
  wide?: boolean;
}

/** Says what it will do, does it, and closes. */
export function FormDialog({
  title,
  verb,
  kind = 'danger',
  onSubmit,
  explain,
  warningOf,
  onClose,
  wide = false,
  children,
}: FormDialogProps) {
  const warned = useRef<HTMLDivElement>(null);
  const [inputs, setInputs] = useState(0);
  const [warning, setWarning] = useState<string>();
  // After the fields are rendered: a calendar sets the text of another field.
  useEffect(() => {
    const form = warned.current?.closest('form');
    if (form) setWarning(warningOf?.(new FormData(form)));
  }, [inputs]);
  const submit = async (fields: FormData) => {
    const done = await onSubmit(fields);
    onClose();
    if (typeof done === 'string') notify(done);
  };
  return (
    <Dialog title={title} onClose={onClose} look={wide ? 'wide' : 'normal'}>
      <Form
        verb={verb}
        kind={warning ? 'danger' : kind}
        explain={explain}
        onSubmit={submit}
        onCancel={onClose}
      >
        {warningOf ? (
          <div class="stack" ref={warned} onInput={() => setInputs((before) => before + 1)}>
            {children}
            <div role="status">{warning && <p class="banner">{warning}</p>}</div>
          </div>
        ) : (
          children
        )}
      </Form>
    </Dialog>
  );
}

interface MakerDialogProps<T> extends DialogProps {
  make: (fields: FormData) => Promise<T>;
  /** Replaces the form when it is made. */
  shown: (made: T) => ComponentChildren;
  /** Replaces the title then. */
  titleOf?: (made: T) => string;
}

/** Makes something, such as a token, and shows it until the dialog is closed. */
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
