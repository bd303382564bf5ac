// Times in tables and forms: how far from now, with the date beneath.

import { localText, zoneAt } from '../forms/expiry.ts';
import { Since, Until } from '../relative_time.tsx';
import { TextField } from '../ui/field.tsx';

/** What has happened: "3 minutes ago"; `never` where it has not. */
export function Happened({ at, never = 'never' }: { at: number | null; never?: string }) {
  if (at === null || at === 0) return <span class="note">{never}</span>;
  return <Since at={at} />;
}

/** What is to come: "in 8 hours", its date a glance away; `never` where there is none. */
export function Moment({ at, never = 'never' }: { at: number | null; never?: string }) {
  if (at === null || at === 0) return <span class="note">{never}</span>;
  return <Until at={at} />;
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
