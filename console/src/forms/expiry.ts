// Expiries as people enter them: a time from now, or a date and time in their zone.

/** Seconds from now, as options of a form, with their text. */
export const lifetimes = [
  { value: '3600', text: '1 hour' },
  { value: '28800', text: '8 hours' },
  { value: '86400', text: '1 day' },
  { value: '604800', text: '1 week' },
  { value: '2592000', text: '30 days' },
  { value: '31536000', text: '1 year' },
] as const;
const longest = lifetimes[lifetimes.length - 1] as (typeof lifetimes)[number];

/** The initial choice of a form: a working day. */
export const defaultLifetime = '28800';

/**
 * The initial choice for entries with these expiries: the usual lifetime, or a longer one so that
 * none ends earlier. The longest, if none is long enough.
 */
export function lifetimeFor(expiries: readonly number[], now: number): string {
  const latest = Math.max(...expiries, now + Number(defaultLifetime));
  return (lifetimes.find(({ value }) => now + Number(value) >= latest) ?? longest).value;
}

/** The choice that leaves an expiry as it is. */
export const keep = 'keep';

/**
 * The expiry in epoch seconds for a form's text: seconds from `now`, or a local date and time such
 * as "2026-11-21 22:19". Undefined for `keep` and for an invalid text. The minute of `current`
 * gives `current` itself, with its seconds.
 */
export function expiryFrom(text: string, now: number, current?: number): number | undefined {
  if (current !== undefined && text.replace(' ', 'T') === localText(current)) return current;
  if (/^\d+$/.test(text)) return now + Number(text);
  if (!/^\d{4,6}-\d\d-\d\d[ T]\d\d:\d\d/.test(text)) return undefined;
  // A text without an offset is read in the user's own zone.
  const time = new Date(text.replace(' ', 'T')).getTime();
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}

/** Epoch seconds for a field of date and time: local, to the minute. */
export function localText(time: number): string {
  const local = new Date(time * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())}`;
  return `${date}T${two(local.getHours())}:${two(local.getMinutes())}`;
}

/** The user's time zone, with its offset at that time: "Europe/Berlin, UTC+1". */
export function zoneAt(time: number): string {
  const minutes = -new Date(time * 1000).getTimezoneOffset();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  if (minutes === 0) return timeZone === 'UTC' ? 'UTC' : `${timeZone}, UTC`;
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const offset = `${minutes < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
  return `${timeZone}, UTC${offset}`;
}
