// The custom DNS entries as a table, with the actions on each, and the dialog that removes one.
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { CutText } from '../forms/columns.tsx';
import { FormDialog, type OpenDialog, type OpenLinked } from '../forms/form_dialog.tsx';
import { addedColumn, noteColumn } from '../forms/note.tsx';
import { undoBy } from '../forms/undo.ts';
import { Until } from '../relative_time.tsx';
import {
  Button,
  type Column,
  IconButton,
  notify,
  PagedTable,
  type PagedTableProps,
  RowButton,
  Status,
} from '../ui/ui.ts';
import { type DnsEntry, isOver, whyPending } from './entries.ts';
import { keysOf } from './form.tsx';

interface DnsTableProps
  extends Pick<PagedTableProps<DnsEntry>, 'pages' | 'rows' | 'sorting' | 'selection' | 'buttons'> {
  open: OpenDialog;
  openLinked: OpenLinked;
}

const nameOf = ({ hostname, server }: DnsEntry) => `${hostname} on ${server}`;

export function DnsTable({ open, openLinked, ...list }: DnsTableProps) {
  return (
    <PagedTable
      {...list}
      caption="Custom DNS entries"
      columns={columns}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      isFaint={({ status }) => status === 'expired'}
      actions={(entry) => <Actions {...{ entry, open, openLinked }} />}
    />
  );
}

const columns: Column<DnsEntry>[] = [
  {
    heading: 'Hostname',
    names: true,
    sort: 'hostname',
    cell: ({ hostname }) => <CutText of={hostname} />,
  },
  {
    heading: 'Resolves to',
    sort: 'ip',
    cell: ({ ip }) => <CutText of={ip} look="mono address" />,
  },
  { heading: 'On server', sort: 'server', cell: ({ server }) => server },
  { heading: 'Expires', sort: 'expiry', cell: ({ expiry }) => <Until at={expiry} /> },
  {
    heading: 'State',
    long: true,
    cell: (entry) => (
      <span class="dns-state" title={whyPending(entry)}>
        <Status status={entry.status} /> <span class="note">{whyPending(entry)}</span>
      </span>
    ),
  },
  noteColumn,
  { ...addedColumn, minor: true },
];

interface ActionsProps extends Pick<DnsTableProps, 'open' | 'openLinked'> {
  entry: DnsEntry;
}

function Actions({ entry, open, openLinked }: ActionsProps) {
  const { isOperator, readOnlyReason } = useScope();
  const name = nameOf(entry);
  const openFor = (dialog: string) => openLinked(dialog, String(entry.id));
  const change = () => openFor('change');
  return (
    <>
      {isOperator && (
        <Button
          kind="quiet"
          icon="nodes"
          title={`Nodes of ${name}`}
          aria-label={`Nodes of ${name}`}
          onClick={() => openFor('nodes')}
        >
          Nodes
        </Button>
      )}
      {isOver(entry) ? (
        <RowButton verb="Revive" of={name} disabledReason={readOnlyReason} onClick={change} />
      ) : (
        <>
          {!isOperator && (
            <Button
              kind="quiet"
              icon="resume"
              title={`Try it: ${name}`}
              aria-label={`Try it: ${name}`}
              onClick={() => openFor('try')}
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
  const { id, server, hostname, ip, expiry, note } = entry;
  const remove = async () => {
    await changeIn(scope, 'remove_override', { path: { id } });
    const back = async () => {
      await changeIn(scope, 'create_override', { body: { server, hostname, ip, expiry, note } });
      return `${hostname} on ${server} is back.`;
    };
    // An expired entry can be revived while it exists, but not created again.
    const about = keysOf(entry);
    const undo = isOver(entry) ? { about } : undoBy(back, { about, until: expiry });
    notify(`${hostname} on ${server} is removed.`, undo);
  };
  return (
    <FormDialog
      title={`Remove ${hostname} on ${server}?`}
      verb="Remove entry"
      onSubmit={remove}
      onClose={onClose}
    >
      <p>
        {isOver(entry)
          ? 'It has expired. Once removed, it can’t be revived.'
          : `On the override ports of ${server}, ${hostname} no longer resolves to ${ip}, but as it does for everyone else.`}
      </p>
    </FormDialog>
  );
}
