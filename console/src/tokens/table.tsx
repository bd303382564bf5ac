// The API tokens of an account as a table.
import { CutText, createdColumn, lastUsedColumn } from '../forms/columns.tsx';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Until } from '../relative_time.tsx';
import { Badge, type Column, PagedTable, type PagedTableProps, RowButton } from '../ui/ui.ts';
import { type ApiToken, RevokeApiTokenDialog, ViewApiTokenDialog } from './form.tsx';

interface TokenTableProps
  extends Pick<PagedTableProps<ApiToken>, 'pages' | 'rows' | 'sorting' | 'selection' | 'buttons'> {
  open: OpenDialog;
}

export function TokenTable({ open, ...list }: TokenTableProps) {
  return (
    <PagedTable
      {...list}
      caption="API tokens of the account"
      one="token"
      many="tokens"
      columns={columns}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      isFaint={hasExpired}
      actions={(token) => (
        <span class="actions">
          {token.viewable && (
            <RowButton
              verb="View"
              of={token.name}
              onClick={() => open((close) => <ViewApiTokenDialog token={token} onClose={close} />)}
            />
          )}
          <RowButton
            verb="Revoke"
            of={token.name}
            onClick={() => open((close) => <RevokeApiTokenDialog token={token} onClose={close} />)}
          />
        </span>
      )}
    />
  );
}

const hasExpired = ({ expiry }: ApiToken) => expiry !== null && expiry <= now.value;

const columns: Array<Column<ApiToken>> = [
  {
    heading: 'Name',
    names: true,
    sort: 'name',
    cell: ({ name }) => <CutText of={name} />,
  },
  {
    heading: 'Access',
    cell: ({ read_only }) =>
      read_only ? <Badge tone="neutral">read-only</Badge> : <Badge tone="good">full</Badge>,
  },
  {
    heading: 'Expires',
    sort: 'expiry',
    cell: (token) =>
      hasExpired(token) ? <Badge tone="bad">expired</Badge> : <Until at={token.expiry} />,
  },
  createdColumn,
  lastUsedColumn,
];
