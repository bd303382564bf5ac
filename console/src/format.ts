// Formats numbers and times: bytes in decimal units, times in the user's zone and language.

/** Of bytes, each a thousand of the one before. */
export const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** 21144505109 -> "21.1 GB". Rounded before the unit is selected: 999999 -> "1 MB". */
export function bytes(count: number): string {
  const rounded = Number(Math.round(count).toPrecision(3));
  const step = Math.min(units.length - 1, Math.floor(Math.log10(rounded || 1) / 3));
  return `${Number((rounded / 1000 ** step).toPrecision(3))} ${units[step]}`;
}

/** The same for a column, where digits stay in their places: 2900000000 -> "2.90 GB". */
export function columnBytes(count: number): string {
  const [amount = '', unit] = bytes(count).split(' ');
  return `${unit === 'B' ? amount : Number(amount).toPrecision(3)} ${unit}`;
}

/** Bits a second for a column: 2400000 -> "2.40 Mbit/s". */
export const columnRate = (bits: number) => `${columnBytes(bits).replace(/B$/, 'bit')}/s`;

/** Bits a second: 2400000 -> "2.4 Mbit/s". */
export function bitRate(bits: number): string {
  return `${bytes(bits).replace(/B$/, 'bit')}/s`;
}

/** 0.1234 -> "12%". */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return '<1%';
  return `${Math.round(value)}%`;
}

const steps: Array<[Intl.RelativeTimeFormatUnit, number]> = [
  ['year', 365.25 * 86_400],
  ['month', 30.44 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
// Times are in English, like the console.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** A time as seen from `now`, both in epoch seconds: "in 8 hours", "3 minutes ago", "just now". */
export function fromNow(time: number, now: number): string {
  const seconds = time - now;
  for (const [unit, size] of steps) {
    const count = Math.round(seconds / size);
    if (Math.abs(seconds) >= size * (unit === 'minute' ? 0.75 : 0.95) && count !== 0) {
      return relative.format(count, unit);
    }
  }
  return seconds > 0 ? 'in less than a minute' : 'just now';
}

const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** The times that a Date can hold, in epoch seconds. */
const isTime = (time: number) => Math.abs(time) <= 8.64e12;

/** "21 Nov 2026, 22:19", in the user's time zone. */
export function dateTime(time: number): string {
  return isTime(time) ? moment.format(time * 1000) : 'Unknown date';
}

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const weekday = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
});

/** "22:19", in the user's time zone. */
export function clockTime(time: number): string {
  return isTime(time) ? timeOfDay.format(time * 1000) : '';
}

/** The day of a time, as a heading: "Today", "Yesterday", "Saturday 21 November", "21 Nov 2025". */
export function dayHeading(time: number, now: number): string {
  if (!isTime(time)) return date(time);
  const [day, today, yesterday] = [time, now, now - 86_400].map(date);
  if (day === today) return 'Today';
  if (day === yesterday) return 'Yesterday';
  return now - time < 180 * 86_400 ? weekday.format(time * 1000) : date(time);
}

/** "21 Nov 2026", in the user's time zone. */
export function date(time: number): string {
  return isTime(time) ? day.format(time * 1000) : 'Unknown date';
}

/** "2026-11-21T22:19:00.000Z"; empty for a time that no date has. */
export function isoTime(time: number): string {
  return isTime(time) ? new Date(time * 1000).toISOString() : '';
}

const utcDay = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** "21 Nov 2026", in UTC. */
export function utcDate(time: number): string {
  return utcDay.format(time * 1000);
}

/** "21 Nov 2026 to 21 Dec 2026": a billing period, which begins and ends by UTC. */
export function periodText({ start, end }: { start: number; end: number }): string {
  return `${utcDate(start)} to ${utcDate(end)}`;
}

/** "1 entry", "2 entries". */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

/** "DE" -> "Germany". */
export function country(code: string): string {
  try {
    return regions.of(code) ?? code;
  } catch {
    return code;
  }
}

/** "Riga, Latvia"; a city that gives its country its name is named once: "Hong Kong". */
export function cityName({ city, country: code }: { city: string; country: string }): string {
  const land = country(code);
  return `${land} `.startsWith(`${city} `) ? city : `${city}, ${land}`;
}

/** ACCOUNT/NAME without the account: account names have no slash. */
export const ownName = (actor: string) => actor.slice(actor.indexOf('/') + 1);

/** The actor at the start of a sentence. Users and tokens of the account are named without it. */
export function actorName({ actor_kind, actor }: { actor_kind: string; actor: string }): string {
  const shortName = ownName(actor);
  if (actor_kind === 'user') return shortName;
  if (actor_kind === 'account') return `API token ${shortName}`;
  if (actor_kind === 'operator') return `Operator ${actor}`;
  if (actor_kind === 'node') return `Node ${actor}`;
  return `Exitward (${actor})`;
}
