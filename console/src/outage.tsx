// The banner while the server is offline: since when, and that the page shows its last data.
import { offlineSince } from './api/outage.ts';
import { dateTime } from './format.ts';
import { Since, Time } from './relative_time.tsx';

/** Always present, so that screen readers announce its text. */
export function Outage() {
  const since = offlineSince.value;
  return (
    <div class="outage" role="status">
      {since !== undefined && (
        <p>
          <strong>
            Connection lost on <Time at={since} text={dateTime(since)} />
          </strong>{' '}
          (<Since at={since} />
          ). Reconnecting … The page shows data from that time. Your input is kept.
        </p>
      )}
    </div>
  );
}
