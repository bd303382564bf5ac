// The traffic by day, server and user, for the requested days.
import '../style/overview.css';
import '../style/usage.css';
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { daySeconds, everyPart, isoDay, writtenDay } from '../charts/days.ts';
import { changeInWords } from '../charts/span.ts';
import { useSpan } from '../charts/span_fields.tsx';
import { bytes, count } from '../format.ts';
import { Card, Loaded, Page, Stat, together, Unread } from '../ui/ui.ts';
import { AgainstLimit } from './against_limit.tsx';
import { FilterFields } from './filters.tsx';
import { OverTimeCard } from './over_time.tsx';
import type { Report } from './report.ts';
import { SharesCard } from './shares_card.tsx';

export function UsagePage() {
  const scope = useScope();
  const [filters, change] = useAddressStates({ server: '', user: '' });
  const contract = useReadIn(scope, 'get_contract', {});
  const { start, period, earlier_periods: earlier } = contract.data ?? {};
  const selected = useSpan({
    names: ['day', 'week', 'month', 'quarter', 'year', 'own'],
    standard: 'period',
    grain: daySeconds,
    periods: { ...(start !== undefined && { start, period, earlier }) },
  });
  const isPeriod = selected.choice.name === 'period';
  const { server, user } = filters;
  const isWholePeriod = isPeriod && !server && !user;
  const enabled = { enabled: isPeriod || selected.span !== undefined };
  // The server knows best which hours count for the current period.
  const span = isPeriod ? {} : selected.span;
  const query = {
    ...span,
    ...(server !== '' && { server }),
    ...(user !== '' && { user }),
  };
  const days = useReadIn(scope, 'get_usage', { query: { ...query, by: 'day' } }, enabled);
  const before = useReadIn(
    scope,
    'get_usage',
    { query: { ...query, ...selected.before, by: 'day' } },
    { enabled: selected.before !== undefined },
  );
  const byServer = useReadIn(scope, 'get_usage', { query: { ...query, by: 'server' } }, enabled);
  const byUser = useReadIn(scope, 'get_usage', { query: { ...query, by: 'user' } }, enabled);
  // Not filtered, so that the options do not shrink to the selected ones.
  const allServers = useReadIn(scope, 'get_usage', { query: { ...span, by: 'server' } }, enabled);
  const allUsers = useReadIn(scope, 'get_usage', { query: { ...span, by: 'user' } }, enabled);
  return (
    <Page note="Traffic of the account, counted hourly. Days are UTC.">
      <FilterFields
        span={selected}
        filters={filters}
        onChange={change}
        servers={namesIn(allServers.data, 'server')}
        users={namesIn(allUsers.data, 'user')}
      />
      <Unread
        reading={together<unknown>([
          contract,
          allServers,
          allUsers,
          ...(selected.before ? [before] : []),
        ])}
        name="all filters"
      />
      <p class="fault" role="alert">
        {selected.wrong}
      </p>
      <Loaded reading={days} name="usage">
        {(report) => (
          <div class={`stack usage${days.isPlaceholderData || selected.wrong ? ' stale' : ''}`}>
            <Totals
              report={report}
              before={selected.before && before.data}
              onDay={(day) => selected.change({ span: 'own', first: day, last: day })}
            />
            {isWholePeriod && contract.data && (
              <AgainstLimit contract={contract.data} report={report} />
            )}
            <OverTimeCard
              report={report}
              query={query}
              span={selected.span ?? report}
              before={selected.before}
              servers={bySize(byServer.data)}
            />
          </div>
        )}
      </Loaded>
      <div class="stack">
        <Unread reading={together([byServer, byUser])} name="usage by server and user" />
        {byServer.data && (
          <SharesCard
            by="server"
            report={byServer.data}
            onSelect={(name) => change({ server: name })}
          />
        )}
        {byUser.data && (
          <SharesCard by="user" report={byUser.data} onSelect={(name) => change({ user: name })} />
        )}
      </div>
    </Page>
  );
}

function namesIn(report: Report | undefined, by: 'server' | 'user'): string[] {
  return (report?.rows ?? []).flatMap((row) => row[by] ?? []);
}

function bySize(report: Report | undefined): string[] {
  return (report?.rows ?? [])
    .toSorted((a, b) => b.total - a.total)
    .flatMap(({ server }) => server ?? []);
}

interface TotalsProps {
  report: Report;
  before: Report | undefined;
  /** Shows this day alone, as `2026-11-21`. */
  onDay: (day: string) => void;
}

function Totals({ report, before, onDay }: TotalsProps) {
  const days = everyPart(report, report.rows, 'day');
  const busiest = days.reduce((max, day) => (day.total > max.total ? day : max));
  const dates = `${writtenDay(report.from)} to ${writtenDay(report.to - 1)}`;
  return (
    <Card>
      <dl class="stats">
        <Stat name="Total" note={before ? changeInWords(report.total, before.total) : dates}>
          {bytes(report.total)}
        </Stat>
        <Stat name="Down" note={before && changeInWords(report.down, before.down)}>
          {bytes(report.down)}
        </Stat>
        <Stat name="Up" note={before && changeInWords(report.up, before.up)}>
          {bytes(report.up)}
        </Stat>
        {days.length > 2 && (
          <>
            <Stat name="Daily average" note={count(days.length, 'day')}>
              {bytes(report.total / days.length)}
            </Stat>
            <Stat
              name="Busiest day"
              note={
                busiest.total > 0 && (
                  <button
                    type="button"
                    class="text-button"
                    onClick={() => onDay(isoDay(busiest.start))}
                  >
                    <span class="visually-hidden">Show only </span>
                    {writtenDay(busiest.start)}
                  </button>
                )
              }
            >
              {bytes(busiest.total)}
            </Stat>
          </>
        )}
      </dl>
    </Card>
  );
}
