// The traffic by day, server and user, for the requested days.
import '../style/overview.css';
import '../style/usage.css';
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { daySeconds, everyPart, isoDay, writtenDay } from '../charts/days.ts';
import { bytes, count } from '../format.ts';
import { now } from '../now.ts';
import { Card, isOneOf, Loaded, Page, Stat, together, Unread } from '../ui/ui.ts';
import { AgainstLimit } from './against_limit.tsx';
import { FilterFields, type Filters } from './filters.tsx';
import { OverTimeCard } from './over_time.tsx';
import type { Report } from './report.ts';
import { SharesCard } from './shares_card.tsx';
import { type Span, spanNames, spanOf } from './span.ts';

export function UsagePage() {
  const scope = useScope();
  const [filters, change] = useFilters();
  const contract = useReadIn(scope, 'get_contract', {});
  const { start, earlier_periods: earlier = [] } = contract.data ?? {};
  const requestedSpan = spanOf(filters.choice, now.value, start, earlier);
  const isWrong = 'wrong' in requestedSpan;
  const span: Span = isWrong ? {} : requestedSpan;
  const { server, user } = filters;
  const isWholePeriod = filters.choice.name === 'period' && !server && !user;
  const enabled = { enabled: !isWrong };
  const query = {
    ...span,
    ...(server !== '' && { server }),
    ...(user !== '' && { user }),
  };
  const days = useReadIn(scope, 'get_usage', { query: { ...query, by: 'day' } }, enabled);
  const byServer = useReadIn(scope, 'get_usage', { query: { ...query, by: 'server' } }, enabled);
  const byUser = useReadIn(scope, 'get_usage', { query: { ...query, by: 'user' } }, enabled);
  // Not filtered, so that the options do not shrink to the selected ones.
  const allServers = useReadIn(scope, 'get_usage', { query: { ...span, by: 'server' } }, enabled);
  const allUsers = useReadIn(scope, 'get_usage', { query: { ...span, by: 'user' } }, enabled);
  return (
    <Page note="Traffic of the account, counted hourly. Days are UTC.">
      <FilterFields
        filters={filters}
        onChange={change}
        servers={namesIn(allServers.data, 'server')}
        users={namesIn(allUsers.data, 'user')}
        now={now.value}
        earlier={earlier}
        start={start}
      />
      <Unread of={together<unknown>([contract, allServers, allUsers])} what="all filters" />
      <p class="fault" role="alert">
        {isWrong && requestedSpan.wrong}
      </p>
      <Loaded of={days} what="usage">
        {(report) => (
          <div class={`stack usage${days.isPlaceholderData || isWrong ? ' stale' : ''}`}>
            <Totals report={report} />
            {isWholePeriod && contract.data && (
              <AgainstLimit contract={contract.data} report={report} />
            )}
            <OverTimeCard report={report} query={query} servers={bySize(byServer.data)} />
          </div>
        )}
      </Loaded>
      <div class="stack">
        <Unread of={together([byServer, byUser])} what="usage by server and user" />
        {byServer.data && (
          <SharesCard
            by="server"
            report={byServer.data}
            onChoose={(name) => change({ server: name })}
          />
        )}
        {byUser.data && (
          <SharesCard by="user" report={byUser.data} onChoose={(name) => change({ user: name })} />
        )}
      </div>
    </Page>
  );
}

/** The filters in the address; custom dates are spelled out, so that a link keeps its days. */
function useFilters(): [Filters, (changes: Partial<Filters>) => void] {
  const [{ days, first, last, server, user }, change] = useAddressStates({
    days: 'period',
    first: '',
    last: '',
    server: '',
    user: '',
  });
  const isKnown = isOneOf(spanNames, days) || days.startsWith('period:');
  const choice = { name: isKnown ? days : 'period', first, last };
  const set = ({ choice, ...changes }: Partial<Filters>) => {
    const { name, ...ownDates } = choice ?? {};
    const week = { first: isoDay(now.value - 6 * daySeconds), last: isoDay(now.value) };
    const dates = name === 'own' && !first && !last ? week : ownDates;
    change({
      ...changes,
      ...(name && { days: name }),
      ...(name === 'own' ? dates : name && { first: '', last: '' }),
    });
  };
  return [{ choice, server, user }, set];
}

function namesIn(report: Report | undefined, by: 'server' | 'user'): string[] {
  return (report?.rows ?? []).flatMap((row) => row[by] ?? []);
}

function bySize(report: Report | undefined): string[] {
  return (report?.rows ?? [])
    .toSorted((a, b) => b.total - a.total)
    .flatMap(({ server }) => server ?? []);
}

function Totals({ report }: { report: Report }) {
  const days = everyPart(report, report.rows, 'day');
  const busiest = days.reduce((max, day) => (day.total > max.total ? day : max));
  return (
    <Card>
      <dl class="stats">
        <Stat name="Total" note={`${writtenDay(report.from)} to ${writtenDay(report.to - 1)}`}>
          {bytes(report.total)}
        </Stat>
        <Stat name="Down">{bytes(report.down)}</Stat>
        <Stat name="Up">{bytes(report.up)}</Stat>
        <Stat name="Daily average" note={count(days.length, 'day')}>
          {bytes(report.total / days.length)}
        </Stat>
        <Stat name="Busiest day" note={busiest.total > 0 ? writtenDay(busiest.start) : undefined}>
          {bytes(busiest.total)}
        </Stat>
      </dl>
    </Card>
  );
}
