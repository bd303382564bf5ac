// The usage of every account in its running billing period.
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { usePages } from '../api/paging.ts';
import { useRead } from '../api/reading.ts';
import { UsageChart } from '../charts/usage_chart.tsx';
import { csv, download } from '../csv.ts';
import { bytes, date } from '../format.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  Loaded,
  LongTable,
  Page,
  Stat,
} from '../ui/ui.ts';
import { day_seconds, everyPart, isoDay, startOfDay } from '../usage/days.ts';
import { byDirection } from '../usage/over_time.tsx';
import '../style/usage.css';
import { UsageMeter } from './accounts.tsx';

type AccountUsage = ResponseOf<'admin_list_usage'>[number];

export function UsagePage() {
  const [most, setMost] = useAddressState('rows');
  const pages = usePages('admin_list_usage', {
    query: {},
    limit: 1000,
    all: true,
  });
  const save = () => {
    const rows = (pages.rows.data ?? []).map(({ account, period, usage, limit, over_limit }) => [
      account,
      isoDay(period.start),
      isoDay(period.end),
      usage,
      limit,
      over_limit ? 'yes' : 'no',
    ]);
    download(
      `usage-all-${isoDay(now.value)}.csv`,
      csv(
        ['account', 'period_start', 'period_end', 'usage_bytes', 'limit_bytes', 'over_limit'],
        rows,
      ),
    );
  };
  return (
    <Page
      title="Usage"
      note="Each account in its running billing period."
      actions={
        <Button icon="download" disabled={!pages.rows.data || pages.hasMore} onClick={save}>
          Download CSV
        </Button>
      }
    >
      <Loaded of={pages.rows} what="usage">
        {(all) => (
          <>
            <Totals of={all} />
            <NetworkByDay />
            <Card>
              {all.length === 0 ? (
                <Empty title="There is no account yet." />
              ) : (
                <LongTable
                  caption="Usage of accounts in the running period, the largest share of a limit first"
                  columns={columns}
                  rows={bySize(all)}
                  keyOf={({ account }) => account}
                  all={all.length}
                  most={Number(most)}
                  onMore={(most) => setMost(String(most))}
                  one="account"
                  many="accounts"
                />
              )}
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const days_shown = 90;

/** The traffic of the whole network, whoever it was of; also what no account is billed for any more. */
function NetworkByDay() {
  const to = startOfDay(now.value) + day_seconds;
  const from = to - days_shown * day_seconds;
  const history = useRead('admin_get_history', { query: { from, to } });
  const { starts, series } = useMemo(() => {
    const rows = (history.data?.points ?? []).map(({ at, up, down }) => ({
      ...{ day: at, up, down },
      total: up + down,
    }));
    const parts = everyPart({ from: rows[0]?.day ?? from, to }, rows, 'day');
    return { starts: parts.map(({ start }) => start), series: byDirection(parts) };
  }, [history.data, from, to]);
  return (
    <Card title="By day" note={`The whole network, in up to ${days_shown} days (UTC).`}>
      <Loaded of={history} what="usage by day">
        {() => <UsageChart label="Usage by day" by="day" starts={starts} series={series} />}
      </Loaded>
    </Card>
  );
}

const shareOf = ({ usage, limit }: AccountUsage) => (limit > 0 ? usage / limit : 1);
const bySize = (all: readonly AccountUsage[]) =>
  all.toSorted((one, other) => shareOf(other) - shareOf(one));

function Totals({ of }: { of: readonly AccountUsage[] }) {
  const over = of.filter(({ over_limit }) => over_limit).length;
  const near = of.filter((one) => !one.over_limit && shareOf(one) >= 0.8).length;
  return (
    <Card>
      <dl class="stats">
        <Stat name="All accounts">{bytes(of.reduce((sum, { usage }) => sum + usage, 0))}</Stat>
        <Stat name="Over the limit">{over.toLocaleString('en')}</Stat>
        <Stat name="At 80 % or more">{near.toLocaleString('en')}</Stat>
      </dl>
    </Card>
  );
}

const columns: Column<AccountUsage>[] = [
  {
    heading: 'Account',
    names: true,
    cell: ({ account }) => <Link href={paths.operator.account(account, 'usage')}>{account}</Link>,
  },
  {
    heading: 'Usage',
    cell: ({ account, usage, limit }) => <UsageMeter name={account} usage={usage} limit={limit} />,
  },
  {
    heading: 'State',
    cell: ({ over_limit }) =>
      over_limit ? <Badge tone="bad">over the limit</Badge> : <Badge tone="good">within</Badge>,
  },
  {
    heading: 'Period',
    cell: ({ period }) => `${date(period.start)} to ${date(period.end)}`,
  },
];
