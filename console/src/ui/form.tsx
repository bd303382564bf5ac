// A form: it collects its fields, shows progress, and shows an error at its field.
import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { useHold } from './dialog.tsx';
import { Explain, type Fault } from './explain.ts';
import { FieldFault } from './field.tsx';

interface FormProps {
  /** The text of the button. */
  verb: string;
  kind?: 'primary' | 'plain' | 'danger';
  /** Submits it; an error is shown at its field, or above the buttons. */
  onSubmit: (fields: FormData) => Promise<void>;
  /** Explains an error, where the default does not fit. */
  explain?: ((error: unknown) => Fault) | undefined;
  onCancel?: () => void;
  /** The reason why it cannot be sent now. */
  disabledReason?: string | null | undefined;
  children?: ComponentChildren;
}

export function Form({
  verb,
  kind = 'primary',
  onSubmit,
  explain,
  onCancel,
  disabledReason,
  children,
}: FormProps) {
  const usual = useContext(Explain);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const form = useRef<HTMLFormElement>(null);
  useHold(busy);
  const named = fault?.field !== undefined && Boolean(fieldNamed(form.current, fault.field));

  useEffect(() => {
    const wrong = form.current?.querySelector('[aria-invalid="true"]');
    if (fault && wrong instanceof HTMLElement) wrong.focus();
  }, [fault]);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setFault(undefined);
    try {
      await onSubmit(new FormData(event.currentTarget as HTMLFormElement));
    } catch (error) {
      setFault((explain ?? usual)(error));
    } finally {
      setBusy(false);
    }
  };
  /** The error disappears when its field is corrected. */
  const corrected = ({ target }: Event) => {
    if (fault?.field === undefined || !(target instanceof Node)) return;
    if (fieldNamed(form.current, fault.field)?.contains(target)) setFault(undefined);
  };
  return (
    <form
      ref={form}
      class="form"
      onSubmit={submit}
      onInput={corrected}
      // The browser blocks a submit for an error that it finds itself, and shows that one.
      onInvalidCapture={() => setFault(undefined)}
    >
      <FieldFault.Provider value={fault}>{children}</FieldFault.Provider>
      <p class="fault" role="alert">
        {fault && !named && fault.sentence}
      </p>
      <div class="actions">
        <Button kind={kind} type="submit" busy={busy} disabledReason={disabledReason}>
          {verb}
        </Button>
        {onCancel && (
          <Button disabled={busy} onClick={onCancel}>
            Cancel
          </Button>
        )}
      </div>
    </form>
  );
}

function fieldNamed(form: HTMLFormElement | null, name: string): Element | undefined {
  const field = form?.elements.namedItem(name);
  return field instanceof Element ? field : undefined;
}

/** The text of a field, trimmed. */
export function textOf(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
