// A form: it collects its fields, shows progress, and shows each error at its field.
import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { useHold } from './dialog.tsx';
import { Explain, type Fault } from './explain.ts';
import { FieldFaults } from './field.tsx';

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
  const explainError = useContext(Explain);
  const [busy, setBusy] = useState(false);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const form = useRef<HTMLFormElement>(null);
  useHold(busy);
  const isAtField = ({ field }: Fault) =>
    field !== undefined && Boolean(fieldNamed(form.current, field));
  const others = faults.filter((fault) => !isAtField(fault));

  useEffect(() => {
    const wrong = form.current?.querySelector('[aria-invalid="true"]');
    if (faults.length > 0 && wrong instanceof HTMLElement) wrong.focus();
  }, [faults]);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy) return;
    const sent = event.currentTarget as HTMLFormElement;
    const missing = faultsIn(sent);
    setFaults(missing);
    if (missing.length > 0) return;
    setBusy(true);
    try {
      await onSubmit(new FormData(sent));
    } catch (error) {
      setFaults([(explain ?? explainError)(error)]);
    } finally {
      setBusy(false);
    }
  };
  /** The error disappears when its field is corrected. */
  const corrected = ({ target }: Event) => {
    if (!(target instanceof Node)) return;
    const isOf = ({ field }: Fault) =>
      field !== undefined && fieldNamed(form.current, field)?.contains(target);
    if (faults.some(isOf)) setFaults(faults.filter((fault) => !isOf(fault)));
  };
  return (
    <form
      ref={form}
      class="form"
      onSubmit={submit}
      onInput={corrected}
      // The browser would show one error at a time, in its own words and style.
      noValidate
    >
      <FieldFaults.Provider value={faults}>{children}</FieldFaults.Provider>
      <p class="fault" role="alert">
        {others.length > 0
          ? others.map(({ sentence }) => sentence).join(' ')
          : faults.length > 1 && `${faults.length} fields need your attention.`}
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

/** The faults of all fields at once, by their own constraints. */
function faultsIn({ elements }: HTMLFormElement): Fault[] {
  return ([...elements] as Control[])
    .filter(({ willValidate, validity }) => willValidate && !validity.valid)
    .map((control) => ({ field: control.name, sentence: sentenceFor(control) }));
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function sentenceFor(control: Control): string {
  const { validity, type, validationMessage } = control;
  if (validity.badInput || validity.rangeOverflow || validity.rangeUnderflow) {
    const { min = '', max = '' } = control as HTMLInputElement;
    return min && max ? `Enter a number from ${min} to ${max}.` : 'Enter a number.';
  }
  if (!validity.valueMissing) return validationMessage;
  if (type === 'checkbox') return 'Tick this box to continue.';
  return type === 'select-one' ? 'Select an option.' : 'This field is required.';
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
