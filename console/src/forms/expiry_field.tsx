// The field for an expiry: a choice such as "8 hours", or an exact date and time, with the result.
import { useState } from 'preact/hooks';
import { count, dateTime, fromNow } from '../format.ts';
import { now } from '../now.ts';
import { DateField, SelectField, textOf } from '../ui/ui.ts';
import { expiryFrom, keep, lifetimeFor, lifetimes, localText, zoneAt } from './expiry.ts';

const exact = 'exact';

interface ExpiryFieldProps {
  /** The present expiry in epoch seconds, which can be kept unless it has passed. */
  current?: number;
  /**
   * The expiries of several entries: the initial choice ends none of them earlier, and the field
   * says how many a choice shortens.
   */
  replaced?: readonly number[];
}

export function ExpiryField({ current, replaced = [] }: ExpiryFieldProps) {
  const canKeep = current !== undefined && current > now.value;
  const [initial] = useState(() => lifetimeFor(replaced, now.value));
  const [choice, setChoice] = useState<string>(canKeep ? keep : initial);
  const isExact = choice === exact;
  const [text, setText] = useState(() =>
    localText(canKeep ? current : now.value + Number(initial)),
  );
  const expiry = choice === keep ? current : expiryFrom(choice, now.value);
  return (
    <>
      {/* The control with the expiry has its name, so that it shows the errors. */}
      <SelectField
        label="Expires"
        name={isExact ? 'expiry_choice' : 'expiry'}
        value={choice}
        onInput={setChoice}
        options={[
          ...(canKeep ? [{ value: keep, text: `Unchanged, ${fromNow(current, now.value)}` }] : []),
          ...lifetimes.map(({ value, text }) => ({ value, text: `In ${text}` })),
          { value: exact, text: 'At a date and time …' },
        ]}
        hint={!isExact && expiry !== undefined && `${inWords(expiry)}.`}
      />
      {isExact && <ExactField label="Date and time" value={text} onInput={setText} />}
      <Shortened expiries={replaced} by={isExact ? expiryFrom(text, now.value) : expiry} />
    </>
  );
}

function Shortened({ expiries: all, by }: { expiries: readonly number[]; by: number | undefined }) {
  const shortened = all.filter((expiry) => by !== undefined && by < expiry).length;
  if (shortened === 0) return null;
  return (
    <p class="banner notice" role="status">
      {shortened} of {count(all.length, 'entry', 'entries')} would expire sooner than they do now.
    </p>
  );
}

/** A date and time in the user's own zone; `expiryOf` reads it. */
export function ExactExpiryField({ label, at }: { label: string; at: number }) {
  const [text, setText] = useState(() => localText(at));
  return <ExactField label={label} value={text} onInput={setText} />;
}

interface ExactFieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
}

function ExactField(props: ExactFieldProps) {
  const expiry = expiryFrom(props.value, now.value);
  return (
    <DateField
      {...props}
      name="expiry"
      withTime
      required
      min={localText(now.value)}
      hint={
        expiry === undefined
          ? `In your time zone, ${zoneAt(now.value)}.`
          : `${inWords(expiry)}, ${fromNow(expiry, now.value)}.`
      }
    />
  );
}

const inWords = (expiry: number) => `${dateTime(expiry)} (${zoneAt(expiry)})`;

/** The expiry in a form's `ExpiryField`; undefined: unchanged. `current`: the present expiry. */
export function expiryOf(fields: FormData, current?: number): number | undefined {
  return expiryFrom(textOf(fields, 'expiry'), now.value, current);
}
