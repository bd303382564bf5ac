// Refused connections as a table: each row says why in words, with the remedy as a button.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { usePath } from '../address.ts';
import type { Scope } from '../api/scope.ts';
import { AuthlistForm } from '../authlist/form.tsx';
import { addressOf, paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { serviceName } from '../services.ts';
import { type Column, type ListProps, type RowAction, Table } from '../ui/ui.ts';
import { type Refusal, testStateOf } from './to_test.ts';
import { reasonWords, remedyOf } from './words.ts';

interface RefusalTableProps extends Pick<ListProps<Refusal>, 'rows' | 'pages' | 'buttons'> {
  /** Of the account; undefined: of the network. */
  scope?: Scope | undefined;
}

export function RefusalTable({ scope, ...list }: RefusalTableProps) {
  const [adding, setAdding] = useState<string>();
  const [, navigate] = usePath();
  const actions = (row: Refusal): RowAction[] => {
    const go = (to: string) => () => navigate(to);
    const pages = pagesFor(row, scope);
    const remedy = remedyOf(row.reason);
    const adds = scope && remedy === 'address';
    return [
      ...(adds
        ? [
            {
              ...({ text: `Add ${row.address}`, icon: 'plus', isWritten: true } as const),
              label: `Add ${row.address}`,
              disabledReason: scope.readOnlyReason,
              onSelect: () => setAdding(row.address),
            },
          ]
        : []),
      ...(pages.remedy
        ? [{ text: pages.remedy.text, isWritten: true, onSelect: go(pages.remedy.path) }]
        : []),
      ...(pages.test ? [{ text: 'Test it', isWritten: true, onSelect: go(pages.test) }] : []),
    ];
  };
  return (
    <>
      <Table
        {...list}
        compact
        caption="Refused connections"
        one="row"
        keyOf={({ id }) => id}
        nameOf={({ address }) => address}
        columns={columnsFor(scope)}
        actions={actions}
      />
      {adding !== undefined && <AuthlistForm ip={adding} onClose={() => setAdding(undefined)} />}
    </>
  );
}

/** The pages where a refusal can be fixed, and tried again. */
function pagesFor(row: Refusal, scope: Scope | undefined) {
  const { reason, address, server, account, user } = row;
  const account_paths = scope?.paths;
  const ofUser =
    user === null
      ? undefined
      : (account_paths?.user(user) ??
        (account === null
          ? undefined
          : paths.operator.account(account, `users/${encodeURIComponent(user)}`)));
  const whoLists = {
    path: addressOf(paths.operator.addresses, { ip: address }),
    text: 'Who lists it',
  };
  const remedies = {
    address: scope ? undefined : whoLists,
    user: ofUser ? { path: ofUser, text: 'Open the user' } : undefined,
    servers: {
      path: account_paths?.server(server) ?? paths.operator.server(server),
      text: 'Open the server',
    },
    usage: account_paths && { path: account_paths.usage, text: 'Usage' },
  };
  const remedy = remedyOf(reason);
  const test = scope?.isOperator === false ? paths.test : paths.operator.test;
  const state = testStateOf(row, scope?.isOperator !== false);
  return {
    remedy: remedy && remedies[remedy],
    test: state && addressOf(test, state),
  };
}

const minute: Column<Refusal> = { heading: 'When', cell: ({ at }) => <Since at={at} /> };
const about: Column<Refusal>[] = [
  { heading: 'Address', names: true, cell: ({ address }) => <code>{address}</code> },
  { heading: 'Reason', grows: true, needs: 17, cell: ({ reason }) => reasonWords(reason) },
  {
    heading: 'Times',
    numeric: true,
    rank: 2,
    needs: 4,
    cell: ({ count }) => count.toLocaleString('en'),
  },
];
const place: Column<Refusal>[] = [
  { heading: 'Server', rank: 1, needs: 5, cell: ({ server }) => server },
  {
    heading: 'Port',
    rank: 3,
    cell: ({ port, service }) =>
      port === null ? serviceName(service) : `${port} (${serviceName(service)})`,
  },
];

const columnsFor = (scope: Scope | undefined): Column<Refusal>[] => [
  minute,
  ...about,
  ...(scope
    ? []
    : [
        {
          heading: 'Account',
          fills: ({ account }: Refusal) => account !== null,
          cell: ({ account }: Refusal) =>
            account === null ? '' : <Link href={paths.operator.account(account)}>{account}</Link>,
        },
      ]),
  { heading: 'User', fills: ({ user }) => user !== null, cell: ({ user }) => user ?? '' },
  ...place,
];
