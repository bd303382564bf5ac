// Times as pages tell them: as seen from now, moving along, with the date a glance away.
import { dateTime, fromNow } from './format.ts';
import { now } from './now.ts';

/** A time as `text`; its date and time are a glance away. */
export function Time({ at, text }: { at: number; text: string }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={dateTime(at)}>
      {text}
    </time>
  );
}

/** A time as its date, for lists in its order; how long ago it was is a glance away. */
export function At({ at }: { at: number }) {
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      title={fromNow(Math.min(at, now.value), now.value)}
    >
      {dateTime(at)}
    </time>
  );
}

interface RelativeTimeProps {
  /** Epoch seconds; null or 0 where there is none. */
  at: number | null;
  /** Stands for null and 0. */
  never?: string;
}

/** A time that has passed: "3 minutes ago". The page's clock may be seconds behind the server's. */
export function Since({ at, never = 'never' }: RelativeTimeProps) {
  if (!at) return <span class="note">{never}</span>;
  return <Time at={at} text={fromNow(Math.min(at, now.value), now.value)} />;
}

/** A time to come: "in 8 hours". */
export function Until({ at, never = 'never' }: RelativeTimeProps) {
  if (!at) return <span class="note">{never}</span>;
  return <Time at={at} text={fromNow(at, now.value)} />;
}

/** The same with its date beneath, for tables. */
export function UntilWithDate({ at }: { at: number }) {
  return (
    <span class="two-lines">
      <Until at={at} />
      <span class="note">{dateTime(at)}</span>
    </span>
  );
}
