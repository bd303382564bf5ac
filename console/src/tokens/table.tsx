// The API tokens of an account as a table.
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Since, Until } from '../relative_time.tsx';
import '../style/lists.css';
import { Badge, Button, type Column, PagedTable, type PagedTableProps } from '../ui/ui.ts';
import { type ApiToken, RevokeApiTokenDialog, ViewApiTokenDialog } from './form.tsx';

interface TokenTableProps
  extends Pick<PagedTableProps<ApiToken>, 'pages' | 'rows' | 'sorting' | 'selection' | 'beside'> {
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
            <Button
              kind="quiet"
              aria-label={`View ${token.name}`}
              onClick={() => open((close) => <ViewApiTokenDialog token={token} onClose={close} />)}
            >
              View
            </Button>
          )}
          <Button
            kind="quiet"
            aria-label={`Revoke ${token.name}`}
            onClick={() => open((close) => <RevokeApiTokenDialog token={token} onClose={close} />)}
          >
            Revoke
          </Button>
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
    cell: ({ name }) => (
      <span class="hostname" title={name}>
        {name}
      </span>
    ),
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
  { heading: 'Created', sort: 'created_at', cell: ({ created_at }) => <Since at={created_at} /> },
  {
    heading: 'Last used',
    sort: 'last_used_at',
    cell: ({ last_used_at }) => <Since at={last_used_at} />,
  },
];
