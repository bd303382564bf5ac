// Every account: the status of its contract, and a link to its page.
import { Link, useLocation } from 'wouter-preact';
import { bytes, date, percent } from '../format.ts';
import { CutText } from '../forms/columns.tsx';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import { AddButton, Badge, type Column, Empty, Meter, Page, Table } from '../ui/ui.ts';
import { ManyAccountsBar } from './accounts_many.tsx';
import { NewAccountDialog } from './forms/account_form.tsx';
import { type Account, accountFilters, accountStates } from './states.ts';

const sorts = ['name', 'plan', 'usage', 'expiry'] as const;

export function AccountsPage() {
  const [, navigate] = useLocation();
  const list = useFilteredList('admin_list_accounts', {
    ...{ key: 'name', sorts, sort: 'name', states: accountFilters },
  });
  const { pages, table, selection, selected } = list;
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
  const create = <AddButton onClick={() => openLinked('create')}>Create an account</AddButton>;
  return (
    <Page note="The customers of the network and their contracts." actions={create}>
      <FilteredList
        name="the accounts"
        empty={
          <Empty title="No accounts yet">
            An account is a customer: a contract, its users, and the servers they can use. Create
            the first one.
          </Empty>
        }
        placeholder="Name or plan"
        bar={<ManyAccountsBar {...{ selected, selection, open }} />}
        {...{ list }}
      >
        <Table
          {...table}
          columns={columns}
          caption="Accounts"
          one="account"
          many="accounts"
          keyOf={({ name }) => name}
          buttons={<ExportMenu name="accounts" pages={pages} {...{ header, cells }} />}
        />
      </FilteredList>
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
    cut: true,
    cell: ({ name }) => (
      <Link title={name} href={paths.operator.account(name)}>
        {name}
      </Link>
    ),
  },
  {
    heading: 'Plan',
    sort: 'plan',
    grows: true,
    rank: 2,
    cell: ({ plan }) => <CutText text={plan} />,
  },
  { heading: 'State', cell: (account) => <AccountState account={account} /> },
  {
    heading: 'This period',
    sort: 'usage',
    needs: 13,
    cell: ({ name, period, limit_bytes }) => (
      <UsageMeter name={name} usage={period.usage} limit={limit_bytes} />
    ),
  },
  {
    heading: 'Contract ends',
    sort: 'expiry',
    word: 'ends',
    rank: 1,
    cell: ({ expiry }) => <Until at={expiry} />,
  },
  {
    heading: 'End date',
    rank: 3,
    cell: ({ expiry }) => date(expiry),
  },
];

export function AccountState({ account }: { account: Parameters<typeof accountStates>[0] }) {
  const states = accountStates(account, now.value);
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
