// exitward node …: the machines that run the proxies and VPNs.

import { type Column, done, record, type Shown } from '../../../kit/src/cli/output.ts';
import { listAt, removeAt } from './actions.ts';
import { certificateEnds, expiry, kindsInWords, type Row } from './columns.ts';
import { nounOf } from './command.ts';
import { drain } from './drain.ts';
import type { Choice } from './given.ts';
import { lifetime, sizeOrNone } from './values.ts';

const codeLifetime: Choice = [
  '--lifetime <lifetime>',
  'how long the code is valid (default: a day)',
  'lifetime_seconds',
  lifetime,
];

const summaryColumns: Column[] = [
  'id',
  'server',
  'name',
  ['live', 'live', 'state'],
  'lag',
  ['revision', 'applied_revision'],
  ['seen', 'seen_at', 'past'],
  'version',
  ['behind', 'is_behind', 'alarm'],
];
const openNow: Column[] = [['drained', 'drained_at', 'past'], 'connections'];
const faultColumns: Column[] = ['kind', 'subject', ['since', 'since', 'past'], 'message'];

function showNode(value: Row): Shown {
  const shown = record(value, [
    ...summaryColumns,
    ['joined', 'joined_at', 'past'],
    ...openNow,
    ['connection log', 'connection_log'],
    certificateEnds,
    ['most a second', 'max_bytes_per_second', 'bytes'],
  ]);
  const faults = {
    rows: value.faults as Row[],
    columns: faultColumns,
    empty: { noun: 'problems' },
  };
  return { ...shown, parts: [...shown.parts, faults] };
}

interface Joining {
  /** Undefined: the server is of an older version. */
  joining?: { url: string; obstacles: Array<{ message: string; remedy: string }> };
}

function showInvite(value: Row, { joining }: Joining): Shown {
  const { code, line, architectures } = value as Record<'code' | 'line', string> & {
    architectures: string[];
  };
  const packages =
    architectures.length > 0 ? ` It installs the agent on ${architectures.join(' and ')}.` : '';
  const sentence = `On the new machine, paste the line that begins with curl, as root or as a user with sudo.${packages} It needs curl (apt-get install curl ca-certificates).`;
  const shown = record(value, ['code', expiry], sentence);
  const lines = [
    line,
    ...(joining
      ? [
          'Where exitward-agent is already installed:',
          `  echo ${code} | exitward-agent join ${joining.url} - && exitward-agent run`,
        ]
      : []),
    ...(joining?.obstacles ?? []).flatMap(({ message, remedy }) => [message, `  ${remedy}`]),
  ];
  return { ...shown, parts: [...shown.parts, { text: lines.map((text) => `${text}\n`).join('') }] };
}

export const nodeNoun = nounOf('node', 'machines that run the proxies and VPNs', [
  {
    usage: 'list',
    list: true,
    summary: 'list nodes and their lag',
    run: listAt('/nodes', [...summaryColumns, ...openNow, ['faults', 'faults', kindsInWords]], {
      noun: 'nodes',
      next: 'exitward node invite <server>',
    }),
  },
  {
    usage: 'show <id>',
    summary: 'show a node and its problems',
    run: async (given, api) => showNode(await api.get(given.path('/nodes/<id>'))),
  },
  {
    usage: 'limit <id> <size>',
    sets: { size: 'max_bytes_per_second' },
    summary:
      'set the most bytes per second, in and out, that a node may report; "none": the default',
    run: async (given, api) => {
      const body = { max_bytes_per_second: given.parsed('size', sizeOrNone) };
      return showNode(await api.patch(given.path('/nodes/<id>'), body));
    },
  },
  {
    usage: 'drain <id>',
    summary: 'stop new connections to a node, for example before maintenance; open ones continue',
    options: [
      ['--wait', 'wait until no connection is open; Ctrl-C only stops the wait'],
      ['--timeout <lifetime>', 'with --wait: maximum time (default: 1h)', undefined, lifetime],
    ],
    question: 'This drains node <id>: new connections to it are refused until "node undrain <id>".',
    run: async (given, api) => {
      const node = await drain(given, api);
      return done(`Node ${node.id} (${node.name}) accepts no new connections.`, node);
    },
  },
  {
    usage: 'undrain <id>',
    summary: 'let a drained node accept connections again',
    run: async (given, api) => {
      const node = await api.patch(given.path('/nodes/<id>'), { drained: false });
      return done(given.text('Node <id> accepts connections.'), node);
    },
  },
  {
    usage: 'invite <server>',
    summary: 'print a one-time command that makes a machine a node of the server',
    options: [codeLifetime],
    run: async (given, api) => {
      const body = { server: given.word('server'), ...given.fields };
      const status = await api.get<Joining>('/status');
      return showInvite(await api.post('/invites', body), status);
    },
  },
  {
    usage: 'invites',
    list: true,
    summary: 'list open invitations',
    run: listAt('/invites', ['id', 'server', expiry], {
      noun: 'open invitations',
      next: 'exitward node invite <server>',
    }),
  },
  {
    usage: 'uninvite <id>',
    summary: 'withdraw an invitation',
    question: 'This withdraws invitation <id>: its code stops working.',
    run: removeAt('/invites/<id>', 'Invitation <id> is withdrawn.', { removed: '<id>' }),
  },
  {
    usage: 'revoke <id>',
    summary: 'revoke a node',
    question:
      'This revokes node <id>: it gets no more changes and must join again. VPN passwords of its server end: users need new profiles.',
    run: removeAt('/nodes/<id>', 'Node <id> is revoked.', { revoked: '<id>' }),
  },
]);
