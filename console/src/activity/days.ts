// Days as date fields write them, in the reader's time zone.

/** The start of such a day, or of one `later` days after it, epoch seconds. Undefined: invalid. */
export function localDay(text: string, later = 0): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const time = new Date(Number(year), Number(month) - 1, Number(day) + later).getTime() / 1000;
  return Number.isNaN(time) || time < 0 ? undefined : time;
}
