// Dates as people write them, 2026-11-25 or 2026-11-25 22:19, and as date fields have them.

/**
 * `2026-11-25` or, with a time, `2026-11-25T22:19`; empty for an invalid date, such as February 30.
 */
export function wholeDate(text: string, withTime: boolean): string {
  const date = text.trim().replace(/ +/, 'T');
  const isWritten = (withTime ? /^\d{4}-\d\d-\d\dT\d\d:\d\d$/ : /^\d{4}-\d\d-\d\d$/).test(date);
  const time = Date.parse(withTime ? `${date}Z` : date);
  return isWritten && !Number.isNaN(time) && new Date(time).toISOString().startsWith(date)
    ? date
    : '';
}
