// The field for a limit: an amount and its unit, with the exact bytes.
import { useState } from 'preact/hooks';
import { invalidField } from '../api/api.ts';
import { Field, textOf } from '../ui/ui.ts';
import { amountOf, bytesOf, type Unit, units } from './amount.ts';

/** The largest amount that the server counts exactly. */
const maxAmount = '9,007 TB';

interface LimitFieldProps {
  label: string;
  /** The initial bytes. */
  value: number | undefined;
  /** The meaning of an empty field; without it the field is required. */
  none?: string;
}

export function LimitField({ label, value, none }: LimitFieldProps) {
  const start = value === undefined ? { amount: '', unit: 'GB' as Unit } : amountOf(value);
  const [amount, setAmount] = useState(start.amount);
  const [unit, setUnit] = useState<string>(start.unit);
  const bytes = bytesOf(amount, unit);
  const exact =
    bytes === undefined
      ? `A number such as 500 or 1.5, at most ${maxAmount}.`
      : `Exactly ${bytes.toLocaleString('en')} bytes.`;
  return (
    <Field label={label} name="limit_bytes" hint={amount === '' && none ? none : exact}>
      {(given) => (
        <div class="amount">
          <input
            {...given}
            type="text"
            inputMode="decimal"
            autocomplete="off"
            required={none === undefined}
            value={amount}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
          <select
            name="limit_unit"
            aria-label="Unit"
            value={unit}
            onInput={(event) => setUnit(event.currentTarget.value)}
          >
            {units.map((choice) => (
              <option key={choice} value={choice} selected={choice === unit}>
                {choice}
              </option>
            ))}
          </select>
        </div>
      )}
    </Field>
  );
}

/** The bytes in a form's `LimitField`; null when empty, undefined for an invalid text. */
export function limitIn(fields: FormData): number | null | undefined {
  const amount = textOf(fields, 'limit_bytes');
  return amount === '' ? null : bytesOf(amount, textOf(fields, 'limit_unit'));
}

/** The same. Errors: ApiError 400 for an invalid text. */
export function limitOf(fields: FormData): number | null {
  const bytes = limitIn(fields);
  if (bytes === undefined) {
    throw invalidField(
      'limit_bytes',
      `expected a number that comes to whole bytes, at most ${maxAmount}.`,
    );
  }
  return bytes;
}
