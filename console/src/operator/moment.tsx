// Times in tables and forms: how far from now, with the date beneath.

import { dateTime, fromNow } from '../format.ts';
import { localText, zoneAt } from '../forms/expiry.ts';
import { now } from '../now.ts';
import { TextField } from '../ui/field.tsx';
import { Time } from '../ui/time.tsx';

/** "in 8 hours", its date a glance away; `never` where there is none. */
export function Moment({ at, never = 'never' }: { at: number | null; never?: string }) {
  if (at === null || at === 0) return <span class="note">{never}</span>;
  return <Time at={at} relative={fromNow(at, now.value)} full={dateTime(at)} />;
}

/** A date and time, in the operator's own zone; read it with `expiryOf`. */
export function ExpiryMoment({ label, at }: { label: string; at: number }) {
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
