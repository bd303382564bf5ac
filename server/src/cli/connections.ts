// exitward connection …: lists and ends open connections, and finds out who used an exit.
import { type Column, counted, type Shown } from '../../../kit/src/cli/output.ts';
import { bytesInWords, clockInWords, countUpTo, span } from '../../../kit/src/cli/values.ts';
import { terminalWidth, wrapped } from '../../../kit/src/cli/wrapped.ts';
import type { Row } from './columns.ts';
import { nounOf } from './command.ts';
import type { Choice } from './given.ts';
import { nodeId, past, whole } from './values.ts';

interface Sums {
  groups: number;
  connections: number;
  up: number;
  down: number;
}

interface OpenConnections {
  connections: Row[];
  sums?: Row[];
  rest: Sums;
  total: Sums;
  missing: Array<{ server: string; node?: string; reason: keyof typeof reasons }>;
}

const figures: Column[] = [
  ['open', 'connections'],
  ['from clients', 'up', 'bytes'],
  ['to clients', 'down', 'bytes'],
  ['since', 'since', 'past'],
  ['last byte', 'last_byte_at', 'past'],
];
const columns: Column[] = [
  ...['account', 'user', 'address', 'server'],
  ['exit IP', 'exit_ip'],
  ...figures,
  ['service', 'service', 'detail'],
  ['credentials', 'credentials', 'list'],
  ['nodes', 'nodes', 'list'],
];

/** The columns of sums: what names them, and the figures. */
const sumColumns = (sums: readonly Row[]): Column[] => [
  ...['account', 'user', 'server', 'address'].filter((name) => sums[0] && name in sums[0]),
  'groups',
  ...figures,
];

const reasons = {
  offline: 'offline',
  outdated: 'its agent is older than the server',
  no_answer: 'no answer',
  unfinished: 'it has not reported how many it ended',
};

/** Next to the table: the sums, and the nodes that are missing. */
export function notesOn({ rest, total, missing }: OpenConnections): string[] {
  const { connections, groups, up, down } = total;
  const sums = `${counted(connections, 'connection')} in ${counted(groups, 'group')}, ${bytesInWords(up)} from clients, ${bytesInWords(down)} to clients.`;
  const others = `${counted(rest.groups, 'smaller group')} with ${counted(rest.connections, 'connection')} not listed.`;
  return [
    ...(connections > 0 ? [sums] : []),
    ...(rest.groups > 0 ? [others] : []),
    ...missingNotes(missing, 'Not included'),
  ];
}

function missingNotes(missing: OpenConnections['missing'], lack: string): string[] {
  const silent = Array.from(
    Map.groupBy(missing, ({ reason }) => reason),
    ([reason, nodes]) => `${namesOf(nodes)} (${reasons[reason]})`,
  );
  return silent.length > 0 ? [`${lack}: ${silent.join('; ')}.`] : [];
}

const namesShown = 8;

function namesOf(nodes: ReadonlyArray<{ server: string; node?: string }>): string {
  const names = nodes.map(({ server, node }) => node ?? server);
  const rest = names.length - namesShown;
  return rest > 1
    ? `${names.slice(0, namesShown).join(', ')} and ${rest} others`
    : names.join(', ');
}

interface Ended {
  ended: number;
  acknowledged: Array<{ ended: number }>;
  missing: OpenConnections['missing'];
  until: number;
}

/**
 * For example "12 connections were ended on 2 nodes. Not reached: fra1-b (offline)." And until when
 * missing nodes may still end theirs.
 */
export function endedShown(value: Ended): Shown {
  const { ended, acknowledged, missing, until } = value;
  const nodes = acknowledged.filter((node) => node.ended > 0);
  const were = ended === 1 ? 'was' : 'were';
  const done =
    ended > 0
      ? `${counted(ended, 'connection')} ${were} ended on ${counted(nodes.length, 'node')}.`
      : `No open connection matches on the ${counted(acknowledged.length, 'node')} that answered.`;
  const late = missing.some(({ reason }) => reason !== 'unfinished')
    ? [`They may still be ended there until ${clockInWords(until)}.`]
    : [];
  const sentences = [done, ...missingNotes(missing, 'Not reached'), ...late];
  return { value, parts: [], sentence: sentences.join(' ') };
}

/** "the connections of alice (acme) from 203.0.113.7": the options as a person says them. */
function namedBy({ account, user, address, exit_ip, server, node, service }: Row): string {
  const places = [
    ['from', address],
    ['to the exit IP', exit_ip],
    ['on', server],
    ['on the node', node],
    ['by', service],
  ].flatMap(([word, value]) => (value === undefined ? [] : [` ${word} ${value}`]));
  const owner = user === undefined ? account : `${user} (${account})`;
  return `the open connections${owner === undefined ? '' : ` of ${owner}`}${places.join('')}`;
}

/** Any of these says which connections; a user or a service narrows it. */
const naming = ['account', 'address', 'exit_ip', 'server', 'node'];

export function connectionsShown(value: OpenConnections): Shown {
  const { connections, sums } = value;
  const list = {
    rows: sums ?? connections,
    columns: sums ? sumColumns(sums) : columns,
    empty: { noun: 'open connections' },
  };
  const notes = notesOn(value);
  // A pipe gets only the rows.
  if (!process.stdout.isTTY) return { value, parts: [list], sentence: notes.join(' ') };
  const text = notes.map((note) => `${note}\n`).join('');
  return { value, parts: [list, { text: wrapped(text, terminalWidth()) }] };
}

interface ExitUses {
  /** The one that has the exit now. */
  server: string | null;
  uses: Row[];
  more: number;
  missing: Array<{
    server: string;
    node: string;
    reason: keyof typeof useReasons;
    has_exit: boolean;
  }>;
}

const useReasons = { ...reasons, not_logged: 'no log of that time' };
const useColumns: Column[] = [
  ...['account', 'user', 'address'],
  ['its port', 'source_port'],
  ['from', 'since', 'time'],
  ['until', 'until', 'time'],
  ['exit port', 'ports'],
  'destination',
  ['not known', 'unknown', 'list'],
  ['dialled', 'dialled', 'detail'],
  ['service', 'service', 'detail'],
  ['node', 'node', 'detail'],
];

/** Without a row, the nodes without data come first, so that it is not read as a no. */
export function usesShown(value: ExitUses, exit_ip: string): Shown {
  const rows = value.uses.map((use) => {
    const { first, last } = (use.exit_ports ?? {}) as { first?: number; last?: number };
    return { ...use, ports: first === last ? first : `${first}-${last}` };
  });
  const { server, more, missing } = value;
  const isKnown = rows.length > 0 || missing.length === 0;
  const empty = isKnown ? { noun: 'uses of this exit at that time' } : undefined;
  const list = { rows, columns: useColumns, empty };
  const silent = Array.from(
    Map.groupBy(missing, ({ reason }) => reason),
    ([reason, nodes]) => `${namesOf(nodes)} (${useReasons[reason]})`,
  );
  const notes = [
    ...(server === null ? [`No server of this network has the exit IP ${exit_ip} now.`] : []),
    ...(more > 0
      ? [
          `${counted(more, 'other use')} not listed: specify the port, the destination or a smaller margin.`,
        ]
      : []),
    ...(silent.length > 0
      ? [`${isKnown ? '' : 'Not known. '}No data from: ${silent.join('; ')}.`]
      : []),
    'The search is recorded in the audit log.',
  ];
  if (!process.stdout.isTTY) return { value, parts: [list], sentence: notes.join(' ') };
  const text = notes.map((note) => `${note}\n`).join('');
  return { value, parts: [list, { text: wrapped(text, terminalWidth()) }] };
}

/** The options that select connections. */
const selectors: Choice[] = [
  ['--account <account>', 'only connections of this account', 'account'],
  ['--user <user>', 'only connections of this user of the account', 'user'],
  ['--address <ip>', 'only connections from this address', 'address'],
  ['--exit <ip>', 'only connections to this exit IP', 'exit_ip'],
  ['--server <server>', 'only connections on this server', 'server'],
  ['--node <id>', 'only connections on this node', 'node', nodeId],
];

export const connectionNoun = nounOf(
  'connection',
  'list or end open connections; find out who used an exit IP',
  [
    {
      usage: 'list',
      list: true,
      summary: 'list open connections by user, address and exit IP, largest groups first',
      filters: selectors,
      options: [
        ['--by <account|user|server|address>', 'show totals for each of these', 'by'],
        [
          '--limit <number>',
          'maximum number of rows, up to 1000 (default: 100)',
          'limit',
          countUpTo(1000),
        ],
      ],
      examples: [
        'exitward connection list --watch',
        'exitward connection list --account acme --by address',
      ],
      run: async (given, api) => connectionsShown(await api.get(`/connections${given.query()}`)),
    },
    {
      usage: 'end',
      summary: 'end all open connections that match the options',
      options: [
        ...selectors,
        [
          '--service <service>',
          'only connections through this service: proxy, proxy-https, vpn-ikev2, …',
          'service',
        ],
      ],
      // Without a filter there is nothing to confirm: the server responds with an error.
      question: async ({ fields }) =>
        naming.some((name) => fields[name] !== undefined)
          ? `This ends ${namedBy(fields)}. Users who still have access can connect again at once.`
          : undefined,
      examples: [
        'exitward connection end --account acme --user alice',
        'exitward connection end --address 203.0.113.7 --yes',
      ],
      run: async (given, api) => endedShown(await api.post('/connections/end', given.fields)),
    },
    {
      usage: 'find',
      list: 'once',
      summary: 'find out who used an exit IP around a time, from nodes with a connection log',
      required: [
        ['--exit <ip>', 'exit IP named in the report', 'exit_ip'],
        ['--at <time>', 'time named in the report, such as 2026-11-26T14:02Z', 'at', past],
        ['--reason <text>', 'reason for the search; it is recorded in the audit log', 'reason'],
      ],
      options: [
        ['--port <number>', 'source port at the exit', 'port', whole],
        ['--destination <host:port>', 'destination of the connection', 'destination'],
        [
          '--margin <span>',
          'maximum difference from that time (default: 60s)',
          'margin_seconds',
          span,
        ],
      ],
      examples: [
        'exitward connection find --exit 198.51.100.7 --at 2026-11-26T14:02Z --port 40211 --reason report-4711',
      ],
      run: async (given, api) =>
        usesShown(await api.post('/connections/find', given.fields), given.word('exit')),
    },
  ],
);
