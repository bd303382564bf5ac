// The entries of the IP authlist as a table, and the dialog that removes one.
import { change, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { FormDialog, type OpenDialog } from '../forms/form_dialog.tsx';
import { undoBy } from '../forms/undo.ts';
import { Since, UntilWithDate } from '../relative_time.tsx';
import '../style/lists.css';
import {
  Badge,
  type Column,
  IconButton,
  type Listed,
  LongTable,
  notify,
  notifyError,
} from '../ui/ui.ts';
import { type AuthlistEntry, AuthlistForm, keysOf } from './form.tsx';

type AuthlistTableProps = Listed<AuthlistEntry> & { open: OpenDialog };

export function AuthlistTable({ open, ...list }: AuthlistTableProps) {
  const { isOperator, account, readOnlyReason } = useScope();
  return (
    <LongTable
      {...list}
      caption="Listed addresses, the newest entry first"
      columns={[
        ...columns,
        // Where no proof is asked for, nothing is to be said of it.
        ...(list.rows.some(({ proof }) => proof !== null) ? [proofColumn] : []),
        ...(isOperator ? [idColumn] : []),
      ]}
      keyOf={({ id }) => id}
      isFaint={({ user_active, proof }) => !user_active || proof === 'waits'}
      actions={(entry) => (
        <>
          {isOperator && entry.proof !== null && entry.proof !== 'proven' && (
            <IconButton
              icon="check"
              label={`Say that ${entry.ip} is proven`}
              onClick={() => void prove(account, entry)}
            />
          )}
          <IconButton
            icon="edit"
            label={`Change ${entry.ip}`}
            disabledReason={readOnlyReason}
            onClick={() => open((close) => <AuthlistForm entry={entry} onClose={close} />)}
          />
          <IconButton
            icon="remove"
            label={`Remove ${entry.ip}`}
            disabledReason={readOnlyReason}
            onClick={() => open((close) => <RemoveEntry entry={entry} onClose={close} />)}
          />
        </>
      )}
    />
  );
}

const columns: Column<AuthlistEntry>[] = [
  { heading: 'Address', names: true, cell: ({ ip }) => <span class="mono address">{ip}</span> },
  {
    heading: 'User',
    cell: ({ user, user_active }) => (
      <span class="row authlist-user">
        {user}
        {!user_active && <Badge tone="warn">not an active proxy user</Badge>}
      </span>
    ),
  },
  { heading: 'Expires', cell: ({ expiry }) => <UntilWithDate at={expiry} /> },
  { heading: 'Last used', cell: ({ last_used_at }) => <Since at={last_used_at} /> },
];
const proofColumn: Column<AuthlistEntry> = {
  heading: 'Address is',
  cell: ({ proof }) =>
    proof === 'proven' ? proof : proof !== null && <Badge tone="warn">{proofWords[proof]}</Badge>,
};
const proofWords = { unproven: 'unproven', waits: 'unproven: lets nobody in yet' };

/** Operators find entries of the server's log by it. */
const idColumn: Column<AuthlistEntry> = { heading: 'Id', numeric: true, cell: ({ id }) => id };

/** The operator's word on whose an address is. */
async function prove(account: string, entry: AuthlistEntry): Promise<void> {
  const { id, ip } = entry;
  const say = (proven: boolean) =>
    change('admin_change_account_authlist_entry', { path: { account, id }, body: { proven } });
  const back = async () => {
    await say(false);
    return `${ip} is unproven again.`;
  };
  try {
    await say(true);
    notify(`${ip} is proven.`, undoBy(back, { about: keysOf(entry), until: entry.expiry }));
  } catch (error) {
    notifyError(explain(error).sentence);
  }
}

function RemoveEntry({ entry, onClose }: { entry: AuthlistEntry; onClose: () => void }) {
  const scope = useScope();
  const { id, ip, user, expiry } = entry;
  const remove = async () => {
    await changeIn(scope, 'remove_authlist_entry', { path: { id } });
    const back = async () => {
      await changeIn(scope, 'create_authlist_entry', { body: { ip, user, expiry } });
      return `${ip} is listed again.`;
    };
    notify(`${ip} is off the list.`, undoBy(back, { about: keysOf(entry), until: expiry }));
  };
  return (
    <FormDialog title={`Remove ${ip}?`} verb="Remove the entry" onSubmit={remove} onClose={onClose}>
      <p>
        Connections from {ip} no longer count as {user}: they need a username and a proxy access
        token, and those that are open end.
      </p>
    </FormDialog>
  );
}
