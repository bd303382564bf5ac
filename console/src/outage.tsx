// The banner while the server is away: since when, and that the page shows how things were then.
import { awaySince } from './api/outage.ts';
import { dateTime } from './format.ts';
import { Since, Time } from './relative_time.tsx';

/** Always there, so that its coming is told. */
export function Outage() {
  const since = awaySince.value;
  return (
    <div class="outage" role="status">
      {since !== undefined && (
        <p>
          <strong>
            The server is away since <Time at={since} text={dateTime(since)} />
          </strong>{' '}
          (<Since at={since} />
          ). What you see is as of then, and what you type stays. The page goes on by itself when it
          is back.
        </p>
      )}
    </div>
  );
}
