// The field for an expiry: a choice such as "8 hours", or an exact date and time; it says what comes of it.
import { useState } from 'preact/hooks';
import { dateTime, fromNow } from '../format.ts';
import { now } from '../now.ts';
import { SelectField, TextField, textOf } from '../ui/ui.ts';
import { expiryFrom, keep, lifetimes, localText, usualLifetime, zoneAt } from './expiry.ts';

const exact = 'exact';

/** `current`: the expiry that is there, epoch seconds; it can be kept while it is still to come. */
export function ExpiryField({ current }: { current?: number }) {
  const canKeep = current !== undefined && current > now.value;
  const [choice, setChoice] = useState<string>(canKeep ? keep : usualLifetime);
  const isExact = choice === exact;
  const [text, setText] = useState(() =>
    localText(canKeep ? current : now.value + Number(usualLifetime)),
  );
  const expiry = choice === keep ? current : expiryFrom(isExact ? text : choice, now.value);
  const outcome = expiry !== undefined && `${dateTime(expiry)} (${zoneAt(expiry)})`;
  return (
    <>
      {/* The control that holds the expiry has its name, so that errors about it are shown there. */}
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
        hint={!isExact && outcome && `${outcome}.`}
      />
      {isExact && (
        <TextField
          label="Date and time"
          name="expiry"
          type="datetime-local"
          required
          min={localText(now.value)}
          max="9999-12-31T23:59"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          hint={
            outcome
              ? `${outcome}, ${fromNow(expiry, now.value)}.`
              : `In your time zone, ${zoneAt(now.value)}.`
          }
        />
      )}
    </>
  );
}

/** A date and time, in the reader's own zone; `expiryOf` reads it. */
export function ExactExpiryField({ label, at }: { label: string; at: number }) {
  return (
    <TextField
      label={label}
      name="expiry"
      type="datetime-local"
      required
      max="9999-12-31T23:59"
      defaultValue={localText(at)}
      hint={`In your time zone, ${zoneAt(at)}.`}
    />
  );
}

/** The expiry that a form with an `ExpiryField` asks for; undefined: as it is. */
export function expiryOf(fields: FormData): number | undefined {
  return expiryFrom(textOf(fields, 'expiry'), now.value);
}
