// Every account: the status of its contract, and a link to its page.
import { Link, useLocation } from 'wouter-preact';
import { bytes, date, percent } from '../format.ts';
import { ExportButtons, timeText } from '../forms/export.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { useList } from '../forms/list.ts';
import { ListHead } from '../forms/list_head.tsx';
import { useListFilters, useSorting } from '../forms/list_state.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  Loaded,
  Meter,
  Page,
  PagedTable,
} from '../ui/ui.ts';
import { ManyAccountsBar } from './accounts_many.tsx';
import { NewAccountDialog } from './forms/account_form.tsx';
import { type Account, accountFilters, accountStates } from './states.ts';

const sorts = ['name', 'plan', 'usage', 'expiry'] as const;

export function AccountsPage() {
  const [, navigate] = useLocation();
  const filters = useListFilters(accountFilters);
  const { sorting, query: order } = useSorting(sorts, 'name');
  const query = { ...order, ...filters.query };
  const { pages, rows, selection, chosen } = useList('admin_list_accounts', 'name', query);
  const { dialog, open, openLinked } = useDialog({
    create: (close) => (
      <NewAccountDialog
        onClose={close}
        onDone={(name) => {
          close();
          navigate(paths.operator.account(name));
        }}
      />
    ),
  });
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openLinked('create')}>
      Create an account
    </Button>
  );
  return (
    <Page wide title="Accounts" note="Who uses the network, and on what contract." actions={create}>
      <Card>
        <Loaded of={pages.rows} what="the accounts">
          {() =>
            pages.total === 0 && !filters.isFiltered ? (
              <Empty title="There is no account yet.">
                An account is a customer: a contract, its users, and what they may reach.
              </Empty>
            ) : (
              <>
                <ListHead
                  filters={filters}
                  placeholder="Name or plan"
                  states={accountFilters}
                  bar={<ManyAccountsBar {...{ chosen, selection, open }} />}
                />
                <PagedTable
                  caption="Accounts"
                  pages={pages}
                  one="account"
                  many="accounts"
                  columns={columns}
                  rows={rows}
                  keyOf={({ name }) => name}
                  sorting={sorting}
                  selection={selection}
                  buttons={<ExportButtons name="accounts" of={pages} {...{ header, cells }} />}
                />
              </>
            )
          }
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

const header = ['account', 'plan', 'usage_bytes', 'limit_bytes', 'contract_ends', 'suspended'];
const cells = ({ name, plan, period, limit_bytes, expiry, suspended }: Account) => [
  ...[name, plan, period.usage, limit_bytes, timeText(expiry), suspended ? 'yes' : 'no'],
];

const columns: Column<Account>[] = [
  {
    heading: 'Account',
    names: true,
    sort: 'name',
    cell: ({ name }) => (
      <Link class="account-name" title={name} href={paths.operator.account(name)}>
        {name}
      </Link>
    ),
  },
  {
    heading: 'Plan',
    sort: 'plan',
    long: true,
    cell: ({ plan }) => <span title={plan}>{plan}</span>,
  },
  { heading: 'State', cell: (account) => <AccountState of={account} /> },
  {
    heading: 'This period',
    sort: 'usage',
    cell: ({ name, period, limit_bytes }) => (
      <UsageMeter name={name} usage={period.usage} limit={limit_bytes} />
    ),
  },
  {
    heading: 'Contract ends',
    sort: 'expiry',
    cell: ({ expiry }) => (
      <>
        <Until at={expiry} /> <span class="note">{date(expiry)}</span>
      </>
    ),
  },
];

export function AccountState({ of }: { of: Parameters<typeof accountStates>[0] }) {
  const states = accountStates(of, now.value);
  if (states.length === 0) return <Badge tone="good">active</Badge>;
  return (
    <span class="badges">
      {states.map(({ tone, text }) => (
        <Badge key={text} tone={tone}>
          {text}
        </Badge>
      ))}
    </span>
  );
}

/** Usage of a limit, as figures and a bar. */
export function UsageMeter({ name, usage, limit }: { name: string; usage: number; limit: number }) {
  const text = `${bytes(usage)} of ${bytes(limit)}`;
  const share = limit > 0 ? ` (${percent(usage / limit)})` : '';
  return (
    <span class="with-meter">
      <span>{`${text}${share}`}</span>
      <Meter label={`Usage of ${name}`} value={usage} max={limit} text={text} />
    </span>
  );
}
