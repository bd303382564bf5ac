// Times are epoch seconds, until the year 9999; entries and tokens expire within ten years.
import { invalidField } from '../errors.ts';

/** The last second of the year 9999. Times in milliseconds lie far beyond it. */
export const latestTime = 253_402_300_799;

const longestSeconds = 10 * 365.25 * 86_400;

/** An entry's expiry: now < expiry <= now + 10 years. Errors: 400 naming the field. */
export function checkExpiry(expiry: number, now: number, field = 'expiry'): void {
  if (expiry > now && expiry <= now + longestSeconds) return;
  if (Math.abs(expiry / 1000 - now) <= longestSeconds) {
    throw invalidField(
      field,
      `${expiry} looks like milliseconds; expected epoch seconds, such as ${Math.floor(expiry / 1000)}.`,
    );
  }
  throw invalidField(
    field,
    expiry <= now
      ? `${expiry} is not in the future; expected epoch seconds after ${now}.`
      : `${expiry} is more than 10 years away; expected epoch seconds of at most ${now + longestSeconds}.`,
  );
}

/** The same for many entries at once. Errors: 400 naming `entries.N.expiry`. */
export function checkExpiries(changes: ReadonlyArray<{ expiry: number }>, now: number): void {
  for (const [at, { expiry }] of changes.entries())
    checkExpiry(expiry, now, `entries.${at}.expiry`);
}
