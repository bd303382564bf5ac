// Times relative to now, which are updated, with the date in the tooltip.
import { dateTime, fromNow, isoTime } from './format.ts';
import { now } from './now.ts';

/** A time as `text`, with its date and time in the tooltip. */
export function Time({ at, text }: { at: number; text: string }) {
  return (
    <time dateTime={isoTime(at)} title={dateTime(at)}>
      {text}
    </time>
  );
}

interface RelativeTimeProps {
  /** Epoch seconds; null or 0: never. */
  at: number | null;
  /** The text for null and 0. */
  never?: string;
}

/** A past time: "3 minutes ago". The page's clock may be seconds late. */
export function Since({ at, never = 'never' }: RelativeTimeProps) {
  if (!at) return <span class="note">{never}</span>;
  return <Time at={at} text={fromNow(Math.min(at, now.value), now.value)} />;
}

/** A future time: "in 8 hours". */
export function Until({ at, never = 'never' }: RelativeTimeProps) {
  if (!at) return <span class="note">{never}</span>;
  return <Time at={at} text={fromNow(at, now.value)} />;
}

/** The same with its date below, for tables. */
export function UntilWithDate({ at }: { at: number }) {
  return (
    <span class="two-lines">
      <Until at={at} />
      <span class="note">{dateTime(at)}</span>
    </span>
  );
}
