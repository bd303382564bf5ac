// Every account: how it stands with its contract, and a way to its page.
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { bytes, date, percent } from '../format.ts';
import { useDialog } from '../forms/form_dialog.tsx';
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
  SearchField,
  Table,
} from '../ui/ui.ts';
import { NewAccountDialog } from './forms/account_form.tsx';
import { type Account, accountStates } from './states.ts';

export function AccountsPage() {
  const [, navigate] = useLocation();
  const [prefix, setPrefix] = useState('');
  const { dialog, open } = useDialog();
  const pages = usePages('admin_list_accounts', {
    query: {},
  });
  const create = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() =>
        open((close) => (
          <NewAccountDialog
            onClose={close}
            onDone={(name) => navigate(paths.operator.account(name))}
          />
        ))
      }
    >
      Create an account
    </Button>
  );
  const wanted = prefix.trim().toLowerCase();
  return (
    <Page title="Accounts" note="Who uses the network, and on what contract." actions={create}>
      <Card>
        <Loaded of={pages.rows} what="the accounts">
          {(accounts) =>
            accounts.length === 0 ? (
              <Empty title="There is no account yet.">
                An account is a customer: a contract, its users, and what they may reach.
              </Empty>
            ) : (
              <>
                <div class="filters">
                  <SearchField
                    label="Name begins with"
                    name="prefix"
                    value={prefix}
                    onInput={setPrefix}
                  />
                </div>
                <Accounts
                  of={accounts.filter(({ name }) => name.toLowerCase().startsWith(wanted))}
                />
                {pages.hasMore && (
                  <div class="row">
                    <p class="note" role="status">
                      {`${accounts.length.toLocaleString('en')} accounts are read, and there are more.`}
                    </p>
                    <Button busy={pages.isReading} onClick={pages.readMore}>
                      Read more
                    </Button>
                  </div>
                )}
              </>
            )
          }
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

function Accounts({ of }: { of: readonly Account[] }) {
  if (of.length === 0) return <Empty title="No account that was read begins like that." />;
  return (
    <Table caption="Accounts by name" columns={columns} rows={of} keyOf={({ name }) => name} />
  );
}

const columns: Column<Account>[] = [
  {
    heading: 'Account',
    names: true,
    cell: ({ name }) => <Link href={paths.operator.account(name)}>{name}</Link>,
  },
  { heading: 'Plan', cell: ({ plan }) => plan },
  { heading: 'State', cell: (account) => <AccountState of={account} /> },
  {
    heading: 'This period',
    cell: ({ name, period, limit_bytes }) => (
      <UsageMeter name={name} usage={period.usage} limit={limit_bytes} />
    ),
  },
  {
    heading: 'Contract ends',
    cell: ({ expiry }) => (
      <span class="two-lines">
        <Until at={expiry} />
        <span class="note">{date(expiry)}</span>
      </span>
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

/** Bytes of a limit, as figures and a bar. */
export function UsageMeter({ name, usage, limit }: { name: string; usage: number; limit: number }) {
  const text = `${bytes(usage)} of ${bytes(limit)}`;
  const share = limit > 0 ? ` (${percent(usage / limit)})` : '';
  return (
    <span class="with-meter">
      <span>{`${text}${share}`}</span>
      <Meter label={`Usage of ${name}`} value={usage} most={limit} text={text} />
    </span>
  );
}
