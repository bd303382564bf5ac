// Refused connections as a table: each row says why in words, with the remedy as a button.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { usePath } from '../address.ts';
import type { Scope } from '../api/scope.ts';
import { AuthlistForm } from '../authlist/form.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import { addressOf, paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { serviceName } from '../services.ts';
import { type Column, type ListProps, type RowAction, Table } from '../ui/ui.ts';
import { inAccount, type Remedy, remedyOf, standingOf } from './standing.ts';
import { type Refusal, testStateOf } from './to_test.ts';
import { reasonWords } from './words.ts';

interface RefusalTableProps extends Pick<ListProps<Refusal>, 'rows' | 'pages' | 'buttons'> {
  /** Of the account; undefined: of the network. */
  scope?: Scope | undefined;
  /** On the page of the user whom all of them name. */
  ofUser?: boolean;
}

export function RefusalTable({ scope, ofUser = false, ...list }: RefusalTableProps) {
  const [adding, setAdding] = useState<string>();
  const [, navigate] = usePath();
  const actions = (row: Refusal): RowAction[] => {
    const remedy = remedyOf(row, scope, ofUser);
    const test = testPathOf(row, scope);
    return [
      ...(remedy ? [remedyAction(remedy)] : []),
      ...(test ? [{ text: 'Test it', isWritten: true, onSelect: () => navigate(test) }] : []),
    ];
  };
  const remedyAction = ({ text, path, adds, isChange }: Remedy): RowAction => ({
    ...{ text, isWritten: true, disabledReason: isChange ? scope?.readOnlyReason : undefined },
    ...(adds !== undefined && { icon: 'plus', label: text }),
    onSelect: () => (adds === undefined ? navigate(path) : setAdding(adds)),
  });
  return (
    <>
      <Table
        {...list}
        compact
        caption="Refused connections"
        one="row"
        keyOf={({ id }) => id}
        nameOf={({ address }) => address}
        columns={columnsFor(scope, ofUser)}
        actions={actions}
      />
      {adding !== undefined && <AuthlistForm ip={adding} onClose={() => setAdding(undefined)} />}
    </>
  );
}

/** The page that tries the connection again. */
function testPathOf(row: Refusal, scope: Scope | undefined): string | undefined {
  const isOperator = scope?.isOperator !== false;
  const state = testStateOf(row, isOperator);
  return state && addressOf(isOperator ? paths.operator.test : paths.test, state);
}

/** The reason, and whether it still applies. */
function Why({ refusal, scope }: { refusal: Refusal; scope: Scope | undefined }) {
  const { text, link } = standingOf(refusal, scope) ?? {};
  return (
    <div class="whole">
      <span class="two-lines">
        <span>{reasonWords(refusal.reason)}</span>
        {text !== undefined && (
          <span class="note">
            {text} {link && <Link href={link.path}>{link.text}</Link>}
          </span>
        )}
      </span>
    </div>
  );
}

const minute: Column<Refusal> = { heading: 'When', cell: ({ at }) => <Since at={at} /> };
const about = (scope: Scope | undefined): Column<Refusal>[] => [
  { heading: 'Address', names: true, cell: ({ address }) => <code>{address}</code> },
  { heading: 'Reason', grows: true, needs: 17, cell: (row) => <Why refusal={row} scope={scope} /> },
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

const columnsFor = (scope: Scope | undefined, ofUser: boolean): Column<Refusal>[] => [
  minute,
  ...about(scope),
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
  ...(ofUser
    ? []
    : [
        {
          heading: 'User',
          fills: ({ user }: Refusal) => user !== null,
          cell: ({ user, ...refusal }: Refusal) =>
            user !== null && (
              <Link href={inAccount(refusal, scope)?.paths.user(user) ?? ''}>{user}</Link>
            ),
        },
      ]),
  ...place,
];

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<Refusal> = {
  header: [
    ...['time', 'address', 'reason', 'in_words', 'times', 'account', 'user', 'server', 'node'],
    ...['service', 'port'],
  ],
  cells: (row) => [
    ...[timeText(row.at), row.address, row.reason, reasonWords(row.reason), row.count],
    ...[row.account ?? '', row.user ?? '', row.server, row.node ?? '', row.service, row.port ?? ''],
  ],
};
