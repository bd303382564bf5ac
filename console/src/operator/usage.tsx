// The usage of every account in its current billing period.
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { usePages } from '../api/paging.ts';
import { isoDay } from '../charts/days.ts';
import { csv, download } from '../csv.ts';
import { bytes, periodText } from '../format.ts';
import { useSorting, useTypedState } from '../forms/list_state.ts';
import { now } from '../now.ts';
import { addressOf, paths } from '../paths.ts';
import {
  Badge,
  Card,
  type Column,
  Empty,
  ExportCsvButton,
  Loaded,
  Page,
  SearchField,
  Stat,
  Table,
} from '../ui/ui.ts';
import '../style/usage.css';
import { UsageMeter } from './accounts.tsx';
import { Figure } from './figure.tsx';
import { NetworkOverTime } from './network_usage.tsx';

type AccountUsage = ResponseOf<'admin_list_usage'>[number];

const sorts = ['account', 'usage', 'share', 'period'] as const;
const orders: Record<(typeof sorts)[number], (a: AccountUsage, b: AccountUsage) => number> = {
  account: (a, b) => (a.account < b.account ? -1 : 1),
  usage: (a, b) => a.usage - b.usage,
  share: (a, b) => shareOf(a) - shareOf(b),
  period: (a, b) => a.period.end - b.period.end,
};

export function UsagePage() {
  const [maxRows, setMaxRows] = useAddressState('rows');
  const [text, setText, settled] = useTypedState('search');
  const { sorting, query } = useSorting(sorts, '-share');
  const pages = usePages('admin_list_usage', {
    query: {},
    limit: 1000,
    upTo: Number.POSITIVE_INFINITY,
  });
  /** The accounts that are shown: the first of those that match. */
  const partOf = (matches: readonly AccountUsage[], total: number) => {
    const shown = Math.max(Number(maxRows) || 0, rowsAtOnce);
    return {
      rows: matches.slice(0, shown),
      pages: {
        ...{ total, found: matches.length, hasMore: shown < matches.length },
        ...{ isReading: false, isOld: false },
        readMore: () => setMaxRows(String(shown + rowsAtOnce)),
      },
    };
  };
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
    <Page note="Every account in its current billing period.">
      <Loaded reading={pages.rows} name="usage">
        {(all) => (
          <>
            <Totals accounts={all} />
            <NetworkOverTime />
            <Card>
              <div class="list-head">
                <div class="filters">
                  <SearchField
                    label="Search"
                    name="search"
                    placeholder="Account"
                    value={text}
                    onInput={setText}
                  />
                </div>
              </div>
              {all.length === 0 ? (
                <Empty
                  title="No accounts yet"
                  action={
                    <Link class="button" href={paths.operator.accounts}>
                      Accounts
                    </Link>
                  }
                >
                  Usage is listed by account. Create an account first.
                </Empty>
              ) : (
                <Table
                  caption="Usage of accounts in the current period"
                  {...{ columns, sorting }}
                  {...partOf(ordered(all, settled, query), all.length)}
                  keyOf={({ account }) => account}
                  one="account"
                  many="accounts"
                  buttons={
                    <ExportCsvButton records="accounts" disabled={pages.hasMore} onClick={save} />
                  }
                />
              )}
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const rowsAtOnce = 200;

const shareOf = ({ usage, limit }: AccountUsage) => (limit > 0 ? usage / limit : 1);

/**
 * The accounts whose name contains the text. All accounts are read here, for their sum and the
 * counts above a limit.
 */
function ordered(
  all: readonly AccountUsage[],
  search: string,
  { sort, order }: ReturnType<typeof useSorting<(typeof sorts)[number]>>['query'],
): AccountUsage[] {
  const wanted = search.trim().toLowerCase();
  const direction = order === 'desc' ? -1 : 1;
  return all
    .filter(({ account }) => account.toLowerCase().includes(wanted))
    .sort((a, b) => direction * orders[sort](a, b) || orders.account(a, b));
}

function Totals({ accounts }: { accounts: readonly AccountUsage[] }) {
  const over = accounts.filter(({ over_limit }) => over_limit).length;
  const near = accounts.filter((account) => !account.over_limit && shareOf(account) >= 0.8).length;
  return (
    <Card>
      <dl class="stats">
        <Stat name="All accounts">
          {bytes(accounts.reduce((sum, { usage }) => sum + usage, 0))}
        </Stat>
        <Stat name="Over the limit">
          <Figure value={over} path={addressOf(paths.operator.accounts, { state: 'over' })} />
        </Stat>
        <Stat name="80% or more">{near.toLocaleString('en')}</Stat>
      </dl>
    </Card>
  );
}

const columns: Column<AccountUsage>[] = [
  {
    heading: 'Account',
    names: true,
    sort: 'account',
    cell: ({ account }) => <Link href={paths.operator.account(account, 'usage')}>{account}</Link>,
  },
  {
    heading: 'Usage',
    sort: 'usage',
    needs: 13,
    cell: ({ account, usage, limit }) => <UsageMeter name={account} usage={usage} limit={limit} />,
  },
  {
    // How close to the limit.
    heading: 'State',
    sort: 'share',
    cell: ({ over_limit }) =>
      over_limit ? (
        <Badge tone="bad">over the limit</Badge>
      ) : (
        <Badge tone="good">within the limit</Badge>
      ),
  },
  {
    heading: 'Period',
    sort: 'period',
    rank: 1,
    cell: ({ period }) => periodText(period),
  },
];
