// The custom DNS entries as a table, with the actions on each, and the dialog that removes one.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { FormDialog, type OpenDialog } from '../forms/form_dialog.tsx';
import { undoBy } from '../forms/undo.ts';
import { UntilWithDate } from '../relative_time.tsx';
import '../style/lists.css';
import {
  Button,
  type Column,
  IconButton,
  type Listed,
  LongTable,
  notify,
  Status,
} from '../ui/ui.ts';
import { awaited, type DnsEntry, isOver } from './entries.ts';
import { keysOf, openDnsForm } from './form.tsx';
import { EntryNodes } from './nodes.tsx';
import { TryDns } from './try.tsx';

export function DnsTable({ open, ...list }: Listed<DnsEntry> & { open: OpenDialog }) {
  return (
    <LongTable
      {...list}
      caption="Custom DNS entries, by hostname"
      columns={columns}
      keyOf={({ id }) => id}
      isFaint={({ status }) => status === 'expired'}
      actions={(entry) => <Actions entry={entry} open={open} />}
    />
  );
}

const columns: Column<DnsEntry>[] = [
  {
    heading: 'Hostname',
    names: true,
    cell: ({ hostname }) => <span class="hostname">{hostname}</span>,
  },
  { heading: 'Resolves to', cell: ({ ip }) => <span class="mono address">{ip}</span> },
  { heading: 'On server', cell: ({ server }) => server },
  { heading: 'Expires', cell: ({ expiry }) => <UntilWithDate at={expiry} /> },
  {
    heading: 'State',
    cell: (entry) => (
      <span class="two-lines">
        <Status status={entry.status} />
        <span class="note">{awaited(entry)}</span>
      </span>
    ),
  },
];

function Actions({ entry, open }: { entry: DnsEntry; open: OpenDialog }) {
  const { isOperator, readOnlyReason } = useScope();
  const name = `${entry.hostname} on ${entry.server}`;
  const change = () => openDnsForm(open, entry);
  return (
    <>
      {isOperator && (
        <Button
          kind="quiet"
          icon="nodes"
          aria-label={`Nodes of ${name}`}
          onClick={() => open((close) => <EntryNodes id={entry.id} onClose={close} />)}
        >
          Nodes
        </Button>
      )}
      {isOver(entry) ? (
        <Button
          kind="quiet"
          aria-label={`Revive ${name}`}
          disabledReason={readOnlyReason}
          onClick={change}
        >
          Revive
        </Button>
      ) : (
        <>
          {!isOperator && (
            <Button
              kind="quiet"
              aria-label={`Try it: ${name}`}
              onClick={() => open((close) => <TryDns entry={entry} onClose={close} />)}
            >
              Try it
            </Button>
          )}
          <IconButton
            icon="edit"
            label={`Change ${name}`}
            disabledReason={readOnlyReason}
            onClick={change}
          />
        </>
      )}
      <IconButton
        icon="remove"
        label={`Remove ${name}`}
        disabledReason={readOnlyReason}
        onClick={() => open((close) => <RemoveEntry entry={entry} onClose={close} />)}
      />
    </>
  );
}

function RemoveEntry({ entry, onClose }: { entry: DnsEntry; onClose: () => void }) {
  const scope = useScope();
  const { id, server, hostname, ip, expiry } = entry;
  const remove = async () => {
    await changeIn(scope, 'remove_override', { path: { id } });
    const back = async () => {
      await changeIn(scope, 'create_override', { body: { server, hostname, ip, expiry } });
      return `${hostname} on ${server} is back.`;
    };
    // An entry that has expired can be revived while it is there; it cannot be made again.
    const about = keysOf(entry);
    const undo = isOver(entry) ? { about } : undoBy(back, { about, until: expiry });
    notify(`${hostname} on ${server} is removed.`, undo);
  };
  return (
    <FormDialog
      title={`Remove ${hostname} on ${server}?`}
      verb="Remove the entry"
      onSubmit={remove}
      onClose={onClose}
    >
      <p>
        {isOver(entry)
          ? 'It has expired; once removed, it can no longer be revived.'
          : `On the override ports of ${server}, ${hostname} resolves as it does for everybody else, no longer to ${ip}.`}
      </p>
    </FormDialog>
  );
}
