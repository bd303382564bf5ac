// One node: its status, its lag, its traffic now, and the problems that it reports.
import { Link } from 'wouter-preact';
import { useRead } from '../api/reading.ts';
import { ConnectedCard } from '../connections/card.tsx';
import { bytes, dateTime } from '../format.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { Since, Until } from '../relative_time.tsx';
import {
  Badge,
  Button,
  Card,
  type Column,
  DescriptionList,
  Empty,
  type Fact,
  Loaded,
  Page,
  Stat,
  Table,
} from '../ui/ui.ts';
import { HistoryCard } from './history.tsx';
import { nodeActions } from './nodes_table.tsx';
import { lagText, type Node, nodeState } from './states.ts';

export function NodePage({ id }: { id: number }) {
  const nodes = useRead('admin_list_nodes', {});
  const node = nodes.data?.find((candidate) => candidate.id === id);
  const { dialog, open } = useDialog();
  return (
    <Page
      title={node ? `${node.name} of ${node.server}` : 'Node'}
      note={<Link href={paths.operator.nodes}>All nodes</Link>}
      actions={
        node &&
        nodeActions(node, open).map(({ text, icon, onSelect }) => (
          <Button key={text} onClick={onSelect} {...(icon && { icon })}>
            {text}
          </Button>
        ))
      }
    >
      <Loaded reading={nodes} name="the node">
        {() => (node ? <Known node={node} /> : <Unknown />)}
      </Loaded>
      {dialog}
    </Page>
  );
}

const certificateFact = (expiry: number): Fact => ['VPN certificate ends', <Until at={expiry} />];

function Unknown() {
  return (
    <Card>
      <Empty title="Node not found">It may have been revoked.</Empty>
    </Card>
  );
}

/** How a node logs who used which exit. */
const logTexts = {
  off: 'off',
  sources: 'sources, without destinations',
  destinations: 'sources and destinations',
  none: 'not reported',
};

function Known({ node }: { node: Node }) {
  const { tone, text } = nodeState(node);
  const { lag, faults, connections, server } = node;
  return (
    <>
      <Card title="Status">
        <dl class="stats">
          <Stat
            name="State"
            note={
              <>
                seen <Since at={node.seen_at} />
              </>
            }
          >
            <Badge tone={tone}>{text}</Badge>
          </Stat>
          <Stat
            name="Lag"
            note={`applied up to revision ${node.applied_revision.toLocaleString('en')}`}
          >
            {lag === 0 ? 'none' : lagText(lag)}
          </Stat>
          <Stat name="Open connections" note="requests and tunnels, last reported">
            {connections === null ? 'not reported' : connections.toLocaleString('en')}
          </Stat>
          <Stat name="Problems">{faults.length}</Stat>
        </dl>
        <DescriptionList
          facts={[
            ['Serves', <Link href={paths.operator.server(server)}>{server}</Link>],
            [
              'Version',
              <>
                {node.version} {node.is_behind && <Badge tone="warn">behind</Badge>}
              </>,
            ],
            ['Joined', dateTime(node.joined_at)],
            [
              'New connections',
              node.drained_at === null ? 'accepted' : `refused since ${dateTime(node.drained_at)}`,
            ],
            ['Connection log', logTexts[node.connection_log ?? 'none']],
            ...(node.certificate_expiry === null ? [] : [certificateFact(node.certificate_expiry)]),
            [
              'Report limit',
              node.max_bytes_per_second === null
                ? 'default'
                : `${bytes(node.max_bytes_per_second)} a second`,
            ],
          ]}
        />
      </Card>
      <Card title="Problems" note="From its last report.">
        {faults.length === 0 ? (
          <p class="note">None.</p>
        ) : (
          <Table
            caption="Problems of the node"
            columns={columns}
            rows={faults}
            keyOf={({ kind, subject }) => `${kind} ${subject}`}
          />
        )}
      </Card>
      <ConnectedCard target={{ node: node.id }} />
      <HistoryCard node={node.id} isOnline={node.live} />
    </>
  );
}

const columns: Array<Column<Node['faults'][number]>> = [
  { heading: 'Problem', names: true, cell: ({ message }) => message },
  { heading: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { heading: 'Of', cell: ({ subject }) => subject ?? <span class="note">the node</span> },
  { heading: 'Since', cell: ({ since }) => <Since at={since} /> },
];
