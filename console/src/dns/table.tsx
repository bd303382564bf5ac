// The custom DNS entries as a table, with the actions on each, and the dialog that removes one.
import { useLocation } from 'wouter-preact';
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { CutText } from '../forms/columns.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import { FormDialog, type OpenDialog, type OpenLinked } from '../forms/form_dialog.tsx';
import { adderOf, noteColumns } from '../forms/note.tsx';
import { undoBy } from '../forms/undo.ts';
import { addressOf, paths } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import { type Column, type ListProps, notify, type RowAction, Status, Table } from '../ui/ui.ts';
import { type DnsEntry, isOver, whyPending } from './entries.ts';
import { keysOf } from './form.tsx';

interface DnsTableProps extends ListProps<DnsEntry> {
  open: OpenDialog;
  openLinked: OpenLinked;
}

/** The test of a connection to the hostname, at a port with custom DNS. */
const testOf = ({ server, hostname }: DnsEntry) =>
  addressOf(paths.test, { server, dns: 'own', page: `https://${hostname}/` });

const nameOf = ({ hostname, server }: DnsEntry) => `${hostname} on ${server}`;

export function DnsTable({ open, openLinked, ...list }: DnsTableProps) {
  const { isOperator, readOnlyReason: disabledReason } = useScope();
  const [, navigate] = useLocation();
  const actionsOf = (entry: DnsEntry): RowAction[] => {
    const openFor = (dialog: string) => () => openLinked(dialog, String(entry.id));
    return [
      ...(isOperator
        ? [
            {
              text: 'Nodes',
              label: `Nodes of ${nameOf(entry)}`,
              icon: 'nodes' as const,
              onSelect: openFor('nodes'),
            },
          ]
        : []),
      ...(isOver(entry)
        ? [{ text: 'Revive', isWritten: true, disabledReason, onSelect: openFor('change') }]
        : [
            ...(isOperator
              ? []
              : [
                  {
                    ...{ text: 'Test', icon: 'test' as const },
                    onSelect: () => navigate(testOf(entry)),
                  },
                ]),
            { text: 'Change', icon: 'edit' as const, disabledReason, onSelect: openFor('change') },
          ]),
      {
        ...{ text: 'Remove', icon: 'remove', disabledReason },
        onSelect: () => open((close) => <RemoveEntry entry={entry} onClose={close} />),
      },
    ];
  };
  return (
    <Table
      {...list}
      caption="Custom DNS entries"
      columns={columns}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      isFaint={({ status }) => status === 'expired'}
      actions={actionsOf}
    />
  );
}

const columns: Column<DnsEntry>[] = [
  {
    heading: 'Hostname',
    names: true,
    sort: 'hostname',
    cut: true,
    needs: 12,
    cell: ({ hostname }) => <CutText text={hostname} />,
  },
  {
    heading: 'Resolves to',
    sort: 'ip',
    cut: true,
    needs: 8,
    cell: ({ ip }) => <CutText text={ip} look="mono" />,
  },
  {
    heading: 'On server',
    sort: 'server',
    cut: true,
    needs: 5,
    rank: 1,
    word: 'on',
    cell: ({ server }) => <CutText text={server} />,
  },
  {
    heading: 'Expires',
    sort: 'expiry',
    word: 'expires',
    rank: 1,
    cell: ({ expiry }) => <Until at={expiry} />,
  },
  {
    heading: 'State',
    cut: true,
    needs: 7,
    cell: (entry) => (
      <span title={whyPending(entry)}>
        <Status status={entry.status} /> <span class="note">{whyPending(entry)}</span>
      </span>
    ),
  },
  ...noteColumns.map((column) => ({ ...column, rank: (column.rank ?? 0) + 1 })),
];

function RemoveEntry({ entry, onClose }: { entry: DnsEntry; onClose: () => void }) {
  const scope = useScope();
  const { id, server, hostname, ip, expiry, note } = entry;
  const remove = async () => {
    await changeIn(scope, 'remove_override', { path: { id } });
    const back = async () => {
      await changeIn(scope, 'create_override', { body: { server, hostname, ip, expiry, note } });
      return `${hostname} on ${server} is restored.`;
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

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<DnsEntry> = {
  header: [
    ...['hostname', 'resolves_to', 'server', 'state', 'expires', 'note', 'added_by', 'added_at'],
  ],
  cells: (entry) => [
    ...[entry.hostname, entry.ip, entry.server, entry.status, timeText(entry.expiry), entry.note],
    ...[adderOf(entry), timeText(entry.added_at)],
  ],
};
