// The API tokens of an account as a table.
import { CutText, createdColumn, lastUsedColumn } from '../forms/columns.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Until } from '../relative_time.tsx';
import { Badge, type Column, type ListProps, Table } from '../ui/ui.ts';
import { type ApiToken, RevokeApiTokenDialog, ViewApiTokenDialog } from './form.tsx';

interface TokenTableProps extends ListProps<ApiToken> {
  open: OpenDialog;
}

export function TokenTable({ open, ...list }: TokenTableProps) {
  return (
    <Table
      {...list}
      caption="API tokens of the account"
      one="token"
      many="tokens"
      columns={columns}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      isFaint={hasExpired}
      actions={(token) => [
        ...(token.viewable
          ? [
              {
                ...{ text: 'View', isWritten: true },
                onSelect: () =>
                  open((close) => <ViewApiTokenDialog token={token} onClose={close} />),
              },
            ]
          : []),
        {
          ...{ text: 'Revoke', isWritten: true },
          onSelect: () => open((close) => <RevokeApiTokenDialog token={token} onClose={close} />),
        },
      ]}
    />
  );
}

const hasExpired = ({ expiry }: ApiToken) => expiry !== null && expiry <= now.value;

const columns: Array<Column<ApiToken>> = [
  {
    heading: 'Name',
    names: true,
    sort: 'name',
    grows: true,
    cell: ({ name }) => <CutText text={name} />,
  },
  {
    heading: 'Access',
    cell: ({ read_only }) =>
      read_only ? <Badge tone="neutral">read-only</Badge> : <Badge tone="good">full</Badge>,
  },
  {
    heading: 'Expires',
    sort: 'expiry',
    word: 'expires',
    cell: (token) =>
      hasExpired(token) ? <Badge tone="bad">expired</Badge> : <Until at={token.expiry} />,
  },
  createdColumn,
  lastUsedColumn,
];

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<ApiToken> = {
  header: ['id', 'name', 'access', 'expires', 'created', 'last_used'],
  cells: ({ id, name, read_only, expiry, created_at, last_used_at }) => [
    ...[id, name, read_only ? 'read-only' : 'full'],
    ...[expiry, created_at, last_used_at].map(timeText),
  ],
};
