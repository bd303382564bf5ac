// The nodes of the whole network or of one server, as a table.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { change, useRead } from '../api/reading.ts';
import { columnRate } from '../format.ts';
import { CutText, Nothing } from '../forms/columns.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import { FormDialog, type OpenDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { Since, Until } from '../relative_time.tsx';
import { Badge, type Column, type ListProps, Loaded, type RowAction, Table } from '../ui/ui.ts';
import { lagText, type Node, nodeState, othersOfServer } from './states.ts';

interface NodesTableProps extends ListProps<Node> {
  open: OpenDialog;
  /** Whether all are of one server, which is then not named. */
  ofServer?: boolean;
}

export function NodesTable({ open, ofServer = false, ...list }: NodesTableProps) {
  const hasCertificate = list.rows.some(({ certificate_expiry }) => certificate_expiry !== null);
  const omittedColumns = [
    ...(ofServer ? ['Server'] : []),
    ...(hasCertificate ? [] : [certificate]),
  ];
  return (
    <Table
      {...list}
      compact
      caption="Nodes"
      one="node"
      many="nodes"
      columns={columns.filter(({ heading }) => !omittedColumns.includes(heading))}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      actions={(node) => nodeActions(node, open)}
    />
  );
}

/** The actions on a node, of its row or of its page. */
export function nodeActions(node: Node, open: OpenDialog): RowAction[] {
  const isDrained = node.drained_at !== null;
  const Drain = isDrained ? UndrainNode : DrainNode;
  return [
    {
      text: isDrained ? 'Undrain' : 'Drain',
      icon: isDrained ? 'resume' : 'pause',
      isWritten: true,
      onSelect: () => open((close) => <Drain node={node} onClose={close} />),
    },
    {
      ...{ text: 'Revoke', icon: 'remove', isWritten: true },
      onSelect: () => open((close) => <RevokeNode node={node} onClose={close} />),
    },
  ];
}

const certificate = 'Certificate ends';
const columns: Column<Node>[] = [
  {
    heading: 'Node',
    names: true,
    sort: 'name',
    cut: true,
    cell: ({ id, name }) => (
      <Link title={name} href={paths.operator.node(id)}>
        {name}
      </Link>
    ),
  },
  {
    heading: 'Server',
    sort: 'server',
    cut: true,
    needs: 6,
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  {
    heading: 'State',
    sort: 'state',
    cell: (node) => {
      const { tone, text } = nodeState(node);
      return <Badge tone={tone}>{text}</Badge>;
    },
  },
  {
    heading: 'Problems',
    grows: true,
    cell: ({ faults }) => <Problems faults={faults} />,
  },
  {
    heading: 'Throughput',
    numeric: true,
    sort: 'bytes_per_second',
    rank: 1,
    cell: ({ live, bytes_per_second }) => (live ? columnRate(bytes_per_second * 8) : <Nothing />),
  },
  {
    heading: 'Connections',
    numeric: true,
    sort: 'connections',
    rank: 1,
    word: 'connections',
    cell: ({ live, connections }) =>
      live && connections !== null ? connections.toLocaleString('en') : <Nothing />,
  },
  {
    heading: 'Lag',
    rank: 3,
    cut: true,
    cell: ({ lag }) => (lag === 0 ? <Nothing text="none" /> : <CutText text={lagText(lag)} />),
  },
  {
    heading: 'Seen',
    sort: 'seen_at',
    rank: 2,
    word: 'seen',
    cell: ({ seen_at }) => <Since at={seen_at} />,
  },
  {
    heading: 'Version',
    sort: 'version',
    rank: 4,
    word: 'version',
    cell: ({ version, is_behind }) => (
      <>
        {version} {is_behind && <Badge tone="warn">behind</Badge>}
      </>
    ),
  },
  {
    heading: certificate,
    rank: 3,
    word: 'certificate ends',
    cell: ({ certificate_expiry }) => <Until at={certificate_expiry} never="none" />,
  },
  {
    heading: 'Applied up to',
    numeric: true,
    isExtra: true,
    word: 'up to',
    cell: ({ applied_revision }) => applied_revision,
  },
];

/** The first problem; the tooltip has them all. */
function Problems({ faults }: { faults: Node['faults'] }) {
  const [first] = faults;
  if (!first) return <Nothing text="none" />;
  const others = faults.length > 1 ? `${faults.length - 1} more: ` : '';
  return (
    <span class="whole" title={faults.map(({ message }) => message).join('\n')}>
      {others}
      {first.message}
    </span>
  );
}

interface NodeDialogProps {
  node: Node;
  onClose: () => void;
}

interface OthersProps {
  node: Node;
  children: (others: Node[]) => ComponentChildren;
}

/** A sentence on the other nodes of its server. */
function Others({ node, children }: OthersProps) {
  const nodes = useRead('admin_list_nodes', {});
  return (
    <Loaded reading={nodes} name="the other nodes of the server">
      {(all) => children(othersOfServer(node, all))}
    </Loaded>
  );
}

const further = (nodes: number) => `${nodes} other ${nodes === 1 ? 'node' : 'nodes'}`;

const isOpen = ({ live, drained_at }: Node) => live && drained_at === null;

function DrainNode({ node, onClose }: NodeDialogProps) {
  const { id, name, server } = node;
  return (
    <FormDialog
      title={`Drain ${name} of ${server}?`}
      verb={`Drain ${name}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_change_node', { path: { id }, body: { drained: true } });
        return `${name} accepts no new connections.`;
      }}
    >
      <p>
        <strong>
          Use this before maintenance on its machine. New connections are refused. Open ones
          continue, and the table shows how many.
        </strong>
      </p>
      <Others node={node}>
        {(others) => {
          const open = others.filter(isOpen).length;
          return (
            <p>
              {open === 0
                ? `${server} has no other node that accepts connections: clients are asked to use another server, and its exit IPs are shown as down.`
                : `${server} has ${further(open)} that ${open === 1 ? 'accepts' : 'accept'} connections.`}
            </p>
          );
        }}
      </Others>
    </FormDialog>
  );
}

function UndrainNode({ node: { id, name, server }, onClose }: NodeDialogProps) {
  return (
    <FormDialog
      title={`Undrain ${name} of ${server}?`}
      verb={`Undrain ${name}`}
      kind="primary"
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_change_node', { path: { id }, body: { drained: false } });
        return `${name} accepts connections.`;
      }}
    >
      <p>It accepts new connections again.</p>
    </FormDialog>
  );
}

function RevokeNode({ node, onClose }: NodeDialogProps) {
  const { id, name, server } = node;
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
        </strong>
      </p>
      <Others node={node}>
        {(others) => {
          const live = others.filter((other) => other.live).length;
          return (
            <p>
              {live === 0
                ? `${server} then has no node online, and stops working until another one joins.`
                : `${server} has ${further(live)} that ${live === 1 ? 'is' : 'are'} online.`}
            </p>
          );
        }}
      </Others>
      <p class="note">
        This can’t be undone; the machine can join again with a new code. If {server} has a VPN, all
        its VPN passwords and shared keys end, and users need new profiles: the machine has the key
        that they are made from. The certificate and addresses on the machine can’t be revoked from
        here; replace them, too.
      </p>
    </FormDialog>
  );
}

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<Node> = {
  header: [
    ...['id', 'node', 'server', 'online', 'drained_since', 'changes_behind', 'connections'],
    ...['bytes_per_second', 'problems', 'version', 'seen', 'joined', 'certificate_ends'],
  ],
  cells: (node) => [
    ...[node.id, node.name, node.server, node.live ? 'yes' : 'no', timeText(node.drained_at)],
    ...[node.lag, node.connections ?? '', node.bytes_per_second],
    ...[node.faults.map(({ message }) => message).join(' '), node.version],
    ...[node.seen_at, node.joined_at, node.certificate_expiry].map(timeText),
  ],
};
