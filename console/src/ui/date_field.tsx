// The field for a date, or a date and time: the same format in every browser, 2026-11-25 22:19, or
// selected on its calendar.
import { useEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from './button.tsx';
import { Field, type FieldProps } from './field.tsx';
import { wholeDate } from './whole_date.ts';

interface DateFieldProps extends FieldProps {
  /** As `2026-11-25`, with a time `2026-11-25T22:19`; empty: none. */
  value: string;
  /** Gets such a text; an empty one while the text is incomplete. */
  onInput: (value: string) => void;
  withTime?: boolean;
  required?: boolean;
  /** The first and the last that the calendar offers. */
  min?: string | undefined;
  max?: string | undefined;
}

export function DateField(props: DateFieldProps) {
  const { label, name, hint, value, onInput, withTime = false, required, min, max } = props;
  const [typed, setTyped] = useState(shown(value));
  const input = useRef<HTMLInputElement>(null);
  const calendar = useRef<HTMLInputElement>(null);
  const form = withTime ? 'YYYY-MM-DD HH:MM' : 'YYYY-MM-DD';
  const isWrong = typed.trim() !== '' && wholeDate(typed, withTime) === '';
  useEffect(() => {
    input.current?.setCustomValidity(isWrong ? `Expected: ${form}.` : '');
  }, [isWrong, form]);
  // A value that is set from elsewhere.
  useEffect(
    () => setTyped((text) => (wholeDate(text, withTime) === value ? text : shown(value))),
    [value, withTime],
  );
  const take = (text: string) => {
    setTyped(text);
    onInput(wholeDate(text, withTime));
  };
  return (
    <Field label={label} name={name} hint={hint}>
      {(given) => (
        <div class="date-input">
          <input
            ref={input}
            type="text"
            autocomplete="off"
            spellcheck={false}
            placeholder={form}
            required={required}
            value={typed}
            onInput={(event) => take(event.currentTarget.value)}
            {...given}
          />
          <IconButton
            icon="calendar"
            label={`Calendar: ${label}`}
            onClick={() => calendar.current?.showPicker()}
          />
          {/* The browser's own field, only for its calendar: it belongs to no form. */}
          <input
            ref={calendar}
            type={withTime ? 'datetime-local' : 'date'}
            form=""
            tabIndex={-1}
            aria-hidden="true"
            min={min}
            max={max}
            value={value}
            onInput={(event) => take(shown(event.currentTarget.value))}
          />
        </div>
      )}
    </Field>
  );
}

const shown = (value: string) => value.replace('T', ' ');
