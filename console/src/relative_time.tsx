// Moments as pages tell them: as seen from now, moving along, with the date a glance away.
import { dateTime, fromNow } from './format.ts';
import { now } from './now.ts';
import { Time } from './ui/time.tsx';

/** What has happened: "3 minutes ago". The page's clock may be seconds behind the server's. */
export function Since({ at }: { at: number }) {
  return (
    <Time at={at} relative={fromNow(Math.min(at, now.value), now.value)} full={dateTime(at)} />
  );
}

/** What is to come: "in 8 hours". */
export function Until({ at }: { at: number }) {
  return <Time at={at} relative={fromNow(at, now.value)} full={dateTime(at)} />;
}
