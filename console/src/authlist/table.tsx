// The entries of the IP authlist as a table, and the dialog that removes one.
import { change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { CutText, lastUsedColumn } from '../forms/columns.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import { FormDialog, type OpenDialog, type OpenLinked } from '../forms/form_dialog.tsx';
import { adderOf, noteColumns } from '../forms/note.tsx';
import { undoBy } from '../forms/undo.ts';
import { Until } from '../relative_time.tsx';
import { Badge, type Column, type ListProps, notify, notifyError, Table } from '../ui/ui.ts';
import { type AuthlistEntry, keysOf } from './form.tsx';

interface AuthlistTableProps extends ListProps<AuthlistEntry> {
  open: OpenDialog;
  openLinked: OpenLinked;
}

export function AuthlistTable({ open, openLinked, ...list }: AuthlistTableProps) {
  const { isOperator, account, readOnlyReason } = useScope();
  return (
    <Table
      {...list}
      caption="Listed addresses"
      columns={[
        ...columns,
        // The column is left out when no proof is required.
        ...(list.rows.some(({ proof }) => proof !== null) ? [proofColumn] : []),
        ...noteColumns,
        ...(isOperator ? [idColumn] : []),
      ]}
      keyOf={({ id }) => id}
      nameOf={({ ip }) => ip}
      isFaint={({ user_active, proof }) => !user_active || proof === 'waits'}
      actions={(entry) => [
        ...(isOperator && entry.proof !== null && entry.proof !== 'proven'
          ? [
              {
                text: 'Verify',
                icon: 'check' as const,
                isWritten: true,
                onSelect: () => void prove(account, entry),
              },
            ]
          : []),
        {
          text: 'Change',
          icon: 'edit',
          disabledReason: readOnlyReason,
          onSelect: () => openLinked('change', String(entry.id)),
        },
        {
          text: 'Remove',
          icon: 'remove',
          disabledReason: readOnlyReason,
          onSelect: () => open((close) => <RemoveEntry entry={entry} onClose={close} />),
        },
      ]}
    />
  );
}

const columns: Column<AuthlistEntry>[] = [
  {
    heading: 'Address',
    names: true,
    sort: 'ip',
    needs: 9,
    cell: ({ ip }) => <CutText text={ip} look="mono" />,
  },
  {
    heading: 'User',
    sort: 'user',
    cut: true,
    cell: ({ user, user_active }) => (
      <span title={user}>
        {user} {!user_active && <Badge tone="warn">not active</Badge>}
      </span>
    ),
  },
  {
    heading: 'Expires',
    sort: 'expiry',
    word: 'expires',
    cell: ({ expiry }) => <Until at={expiry} />,
  },
  lastUsedColumn,
];
/** At most one badge per row: an unverified entry works; an inactive user's has a badge already. */
const proofColumn: Column<AuthlistEntry> = {
  heading: 'Verified',
  rank: 2,
  cell: ({ proof, user_active }) =>
    proof === 'waits' && user_active ? (
      <Badge tone="warn">{proofWords.waits}</Badge>
    ) : (
      proof !== null && <span class="note">{proofWords[proof]}</span>
    ),
};
const proofWords = {
  proven: 'verified',
  unproven: 'not verified',
  waits: 'not verified, no effect yet',
};

/** Operators find entries in the server's log by it. */
const idColumn: Column<AuthlistEntry> = {
  heading: 'Id',
  numeric: true,
  isExtra: true,
  word: 'id',
  cell: ({ id }) => id,
};

/** The operator verifies the address for the account. */
async function prove(account: string, entry: AuthlistEntry): Promise<void> {
  const { id, ip } = entry;
  const say = (proven: boolean) =>
    change('admin_change_account_authlist_entry', { path: { account, id }, body: { proven } });
  const back = async () => {
    await say(false);
    return `${ip} is no longer verified.`;
  };
  try {
    await say(true);
    notify(`${ip} verified.`, undoBy(back, { about: keysOf(entry), until: entry.expiry }));
  } catch (error) {
    notifyError(explain(error).sentence);
  }
}

function RemoveEntry({ entry, onClose }: { entry: AuthlistEntry; onClose: () => void }) {
  const scope = useScope();
  const { id, ip, user, expiry, note } = entry;
  const remove = async () => {
    await changeIn(scope, 'remove_authlist_entry', { path: { id } });
    const back = async () => {
      await changeIn(scope, 'create_authlist_entry', { body: { ip, user, expiry, note } });
      return `${ip} restored.`;
    };
    notify(`${ip} removed.`, undoBy(back, { about: keysOf(entry), until: expiry }));
  };
  return (
    <FormDialog title={`Remove ${ip}?`} verb="Remove entry" onSubmit={remove} onClose={onClose}>
      <p>
        Connections from {ip} will need a username and a proxy access token. Open ones will end.
      </p>
    </FormDialog>
  );
}

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<AuthlistEntry> = {
  header: ['address', 'user', 'note', 'expires', 'last_used', 'added_by', 'added_at'],
  cells: (entry) => [
    ...[entry.ip, entry.user, entry.note, timeText(entry.expiry), timeText(entry.last_used_at)],
    ...[adderOf(entry), timeText(entry.added_at)],
  ],
};
