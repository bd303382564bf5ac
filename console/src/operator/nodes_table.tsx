// The nodes of the whole network or of one server, as a table.
import { Link } from 'wouter-preact';
import { change } from '../api/reading.ts';
import { FormDialog, type OpenDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { Since, Until } from '../relative_time.tsx';
import { Badge, type Column, type RowAction, Table } from '../ui/ui.ts';
import { lagText, type Node, nodeState, othersOfServer } from './states.ts';

interface NodesTableProps {
  of: readonly Node[];
  /** All nodes, including those that are not shown. */
  all?: readonly Node[];
  open: OpenDialog;
  /** Whether all are of one server, which is then not named. */
  ofServer?: boolean;
}

export function NodesTable({ of, all = of, open, ofServer = false }: NodesTableProps) {
  const omittedColumns = new Set([
    ...(ofServer ? ['Server'] : []),
    ...(of.some(({ certificate_expiry }) => certificate_expiry !== null) ? [] : [certificate]),
  ]);
  return (
    <Table
      compact
      caption="Nodes"
      columns={columns.filter(({ heading }) => !omittedColumns.has(heading))}
      rows={of}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      actions={(node) => nodeActions(node, all, open)}
    />
  );
}

/** The actions on a node, of its row or of its page. */
export function nodeActions(node: Node, all: readonly Node[], open: OpenDialog): RowAction[] {
  const others = othersOfServer(node, all);
  const isDrained = node.drained_at !== null;
  const Drain = isDrained ? UndrainNode : DrainNode;
  return [
    {
      text: isDrained ? 'Undrain' : 'Drain',
      icon: isDrained ? 'resume' : 'pause',
      isWritten: true,
      onSelect: () => open((close) => <Drain {...{ node, others }} onClose={close} />),
    },
    {
      ...{ text: 'Revoke', icon: 'remove', isWritten: true },
      onSelect: () => open((close) => <RevokeNode {...{ node, others }} onClose={close} />),
    },
  ];
}

const certificate = 'Certificate ends';
const columns: Column<Node>[] = [
  {
    heading: 'Node',
    names: true,
    cell: ({ id, name }) => <Link href={paths.operator.node(id)}>{name}</Link>,
  },
  {
    heading: 'Server',
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  {
    heading: 'State',
    cell: (node) => {
      const { tone, text } = nodeState(node);
      return <Badge tone={tone}>{text}</Badge>;
    },
  },
  {
    heading: 'Lag',
    cell: ({ lag }) => (lag === 0 ? <span class="note nothing">none</span> : lagText(lag)),
  },
  {
    heading: 'Problems',
    cell: ({ faults }) =>
      faults.length === 0 ? (
        <span class="note nothing">none</span>
      ) : (
        <ul class="bare-list">
          {faults.map(({ message, since }) => (
            <li key={message} class="two-lines">
              {message}
              <span class="note">
                <Since at={since} />
              </span>
            </li>
          ))}
        </ul>
      ),
  },
  {
    heading: certificate,
    cell: ({ certificate_expiry }) => <Until at={certificate_expiry} never="none" />,
  },
  {
    heading: 'Applied up to',
    numeric: true,
    rank: 3,
    word: 'up to',
    cell: ({ applied_revision }) => applied_revision,
  },
  { heading: 'Seen', cell: ({ seen_at }) => <Since at={seen_at} /> },
  {
    heading: 'Version',
    cell: ({ version, is_behind }) => (
      <>
        {version} {is_behind && <Badge tone="warn">behind</Badge>}
      </>
    ),
  },
];

interface NodeDialogProps {
  node: Node;
  /** The other nodes of its server. */
  others: readonly Node[];
  onClose: () => void;
}

const further = (nodes: number) => `${nodes} other ${nodes === 1 ? 'node' : 'nodes'}`;

function DrainNode({ node: { id, name, server }, others, onClose }: NodeDialogProps) {
  const open = others.filter((other) => other.live && other.drained_at === null).length;
  return (
    <FormDialog
      title={`Drain ${name} of ${server}?`}
      verb={`Drain ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_change_node', { path: { id }, body: { drained: true } });
        return `${name} takes no new connections.`;
      }}
    >
      <p>
        <strong>
          Use this before work on its machine. New connections are refused. Open ones continue, and
          the table shows how many.
        </strong>{' '}
        {open === 0
          ? `${server} has no other node that takes connections: clients are asked to use another server, and the status of its exit IPs is crit.`
          : `${server} has ${further(open)} that ${open === 1 ? 'takes' : 'take'} connections.`}
      </p>
    </FormDialog>
  );
}

function UndrainNode({ node: { id, name, server }, onClose }: NodeDialogProps) {
  return (
    <FormDialog
      title={`Undrain ${name} of ${server}?`}
      verb={`Undrain ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_change_node', { path: { id }, body: { drained: false } });
        return `${name} takes connections.`;
      }}
    >
      <p>It takes new connections again.</p>
    </FormDialog>
  );
}

function RevokeNode({ node: { id, name, server }, others, onClose }: NodeDialogProps) {
  const live = others.filter((other) => other.live).length;
  return (
    <FormDialog
      title={`Revoke ${name} of ${server}?`}
      verb={`Revoke ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_node', { path: { id } });
        return `${name} is no longer a node of ${server}.`;
      }}
    >
      <p>
        <strong>
          Its token stops working and its stream closes at once. Within a minute its agent refuses
          all connections and ends open ones.
        </strong>{' '}
        {live === 0
          ? `${server} then has no node online, and stops working until another one joins.`
          : `${server} has ${further(live)} that ${live === 1 ? 'is' : 'are'} online.`}
      </p>
      <p class="note">
        It cannot be brought back; the machine can join again with a new code. If {server} has a
        VPN, all its VPN passwords and shared keys end, and users need new profiles: the machine has
        the key that they are made from. The certificate and addresses on the machine are beyond
        reach; replace them, too.
      </p>
    </FormDialog>
  );
}
