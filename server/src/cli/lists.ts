// exitward authlist …, exitward override …: shows and ends entries of an account's two lists, as
// the operator.
import { readInput } from '../../../kit/src/cli/input.ts';
import { type Column, record, table } from '../../../kit/src/cli/output.ts';
import { removeAt } from './actions.ts';
import { expiry, lastUsed, type Row } from './columns.ts';
import { nounOf, type Verb } from './command.ts';
import type { Choice } from './given.ts';
import { time, whole } from './values.ts';

/** Counting for a question stops here. */
const maxCounted = 1000;

/** The verbs of both lists: show, extend, set a note, remove one or all. */
function verbs(list: 'authlist' | 'overrides', columns: Column[], filters: Choice[]): Verb[] {
  const path = `/accounts/<account>/${list}`;
  const listEntries = list === 'authlist' ? 'authlist entries' : 'custom DNS entries';
  return [
    {
      usage: 'list <account>',
      list: true,
      summary: 'list the entries of an account',
      filters: [
        ['--search <text>', 'only entries that contain this text, also in the note', 'search'],
        ...filters,
        ['--ends-before <time>', 'only entries that expire before this time', 'ends_before', time],
      ],
      options: [['--sort <column>', 'column to sort by: id, ip, expiry, …', 'sort']],
      run: async (given, api) => {
        const page = given.query() === '' ? '' : `${given.query()}&limit=1000`;
        return table(await api.list(`${given.path(path)}${page}`), columns, {
          noun: listEntries,
          next: list === 'authlist' ? 'exitward authlist add <account> <ip> <user>' : undefined,
        });
      },
    },
    {
      usage: 'extend <account> <ids...>',
      sets: { ids: 'id' },
      summary: 'change the expiry of entries, all or none',
      required: [['--expiry <time>', 'when the entries expire', 'expiry', time]],
      run: async (given, api) => {
        const entries = given.parsedAll('ids', whole).map((id) => ({ id, ...given.fields }));
        const value = await api.patch(given.path(path), { entries });
        return record(value, ['changed']);
      },
    },
    {
      usage: 'note <account> <id> <text>',
      sets: { text: 'note' },
      summary: "set the note of an entry; nodes and /v0 don't see it",
      run: async (given, api) => {
        const body = { note: given.word('text') };
        return record(await api.patch(given.path(`${path}/<id>`), body), columns);
      },
    },
    {
      usage: 'remove <account> <id>',
      summary: 'remove one entry, even on a suspended or expired contract',
      question: 'This removes entry <id> of <account>.',
      run: removeAt(`${path}/<id>`, 'Entry <id> is removed.', { removed: '<id>' }),
    },
    {
      usage: 'clear <account>',
      summary: 'remove all entries of an account; "exitward undo" can restore them for seven days',
      question: `This removes all ${listEntries} of <account>.`,
      extent: async (given, api) => {
        const entries = await api.list(given.path(path), maxCounted);
        const count = `${entries.length}${entries.length < maxCounted ? '' : ' or more'}`;
        return `There are ${count}; "exitward undo" can restore them for seven days.`;
      },
      run: removeAt(path, `All ${listEntries} of <account> are removed.`, {
        cleared: '<account>',
      }),
    },
  ];
}

const find: Verb = {
  usage: 'find <address>',
  sets: { address: 'ip' },
  list: true,
  summary: 'find an address or network (CIDR) on authlists, in custom DNS and among exit IPs',
  run: async (given, api) => {
    const value = await api.get<Uses>(given.path('/addresses?limit=1000&ip=<address>'));
    const { more, network } = value;
    const rows = (['authlist', 'overrides', 'exits'] as const).flatMap((list) =>
      value[list].map((row): Row => ({ list, ...row })),
    );
    const sentence = `Not all of ${more.join(' and ')} in ${network} are listed; search a smaller network.`;
    return {
      ...table(rows, usesColumns, { noun: `uses of ${network}` }),
      value,
      ...(more.length > 0 ? { sentence } : {}),
    };
  },
};
const usesColumns: Column[] = [
  ...['list', 'ip', 'account', 'id', 'user', 'hostname', 'port_scheme', 'server'],
  expiry,
  'proof',
];
interface Uses {
  network: string;
  authlist: Row[];
  overrides: Row[];
  exits: Row[];
  more: string[];
}
const authlistColumns: Column[] = [
  ...['id', 'ip', 'user', 'user_active'],
  expiry,
  'proof',
  lastUsed,
  'note',
];

/** The operator marks the address as verified or not. */
function judgeProof(proven: boolean, verb: string, summary: string): Verb {
  return {
    usage: `${verb} <account> <id>`,
    summary,
    run: async (given, api) => {
      const changed = await api.patch(given.path('/accounts/<account>/authlist/<id>'), { proven });
      return record(changed, authlistColumns);
    },
  };
}

const add: Verb = {
  usage: 'add <account> <ip> <user>',
  summary: "add a verified address for a user; it replaces another account's unverified one",
  required: [['--expiry <time>', 'when the entry expires', 'expiry', time]],
  options: [['--note <text>', 'note of the entry', 'note']],
  run: async (given, api) => {
    const body = { ip: given.word('ip'), user: given.word('user'), ...given.fields };
    return record(
      await api.post(given.path('/accounts/<account>/authlist'), body),
      authlistColumns,
    );
  },
};

interface Imported {
  added: number;
  lines: Row[];
}

const importLines: Verb = {
  usage: 'import <account> <file> <user>',
  summary: 'add addresses from a file or stdin (-), one per line, all or none',
  required: [['--expiry <time>', 'when the entries expire', 'expiry', time]],
  options: [
    ['--note <text>', 'note of the entries, except those with their own after #', 'note'],
    ['--dry-run', 'only show the outcome of each line'],
  ],
  run: async (given, api) => {
    const addresses = readInput(given.word('file'));
    const dry_run = given.has('dry-run');
    const body = { addresses, user: given.word('user'), ...given.fields, dry_run };
    const value = await api.post<Imported>(given.path('/accounts/<account>/authlist/add'), body);
    const sentence = `${dry_run ? 'Would add' : 'Added'} ${value.added} of ${value.lines.length}.`;
    return {
      ...table(value.lines, ['line', 'ip', 'outcome', 'message'], undefined),
      value,
      sentence,
    };
  },
};

export const authlistNoun = nounOf('authlist', 'addresses that need no password', [
  ...verbs('authlist', authlistColumns, [
    ['--user <user>', 'only entries of this user', 'user'],
    [
      '--state <state>',
      'only entries in this state: proven, unproven, waits, idle or acting',
      'state',
    ],
  ]),
  find,
  add,
  importLines,
  judgeProof(true, 'prove', 'mark an entry as verified'),
  judgeProof(
    false,
    'unprove',
    "mark an entry as not verified; another account's verified one can replace it",
  ),
]);

const overrideColumns: Column[] = [
  'id',
  'server',
  'hostname',
  'ip',
  ['status', 'status', 'state'],
  expiry,
  'note',
];

interface EntryOnNodes {
  server: string;
  status: 'pending' | 'active' | 'expiring' | 'expired';
  on_contract: boolean;
  nodes: Array<{ name: string; live: boolean; applied: boolean }>;
}

/**
 * The progress of the entry: which nodes count (the live ones; all if none is live), and which it
 * still waits for.
 */
export function progressOf({ server, status, on_contract, nodes }: EntryOnNodes): string {
  if (nodes.length === 0) return `no node has joined for ${server}`;
  if (!on_contract) return `on no node: ${server} is not on the contract`;
  const live = nodes.filter((node) => node.live);
  const countedNodes = live.length > 0 ? live : nodes;
  const names = (listedNodes: typeof nodes) => listedNodes.map(({ name }) => name).join(', ');
  const waiting = names(countedNodes.filter((node) => !node.applied));
  const offline = live.length > 0 ? names(nodes.filter((node) => !node.live)) : '';
  const [done, all] = [countedNodes.filter((node) => node.applied).length, countedNodes.length];
  return [
    `${status === 'pending' || status === 'active' ? 'active' : 'ended'} on ${done} of ${all}`,
    ...(waiting ? [`, waiting for ${waiting}`] : []),
    ...(live.length === 0 ? [`; no node of ${server} is live`] : []),
    ...(offline ? [`; not live, and not waited for: ${offline}`] : []),
  ].join('');
}

const show: Verb = {
  usage: 'show <account> <id>',
  summary: "show an entry, the nodes that have applied it and those that haven't",
  run: async (given, api) => {
    const value = await api.get<EntryOnNodes>(given.path('/accounts/<account>/overrides/<id>'));
    const shown = { ...value, progress: progressOf(value) };
    const nodes: Column[] = [['node', 'name'], 'live', 'applied'];
    return {
      value,
      parts: [
        { record: shown, columns: [...overrideColumns, ['nodes', 'progress']] },
        { rows: value.nodes, columns: nodes, empty: undefined },
      ],
    };
  },
};

export const overrideNoun = nounOf('override', 'custom DNS entries of accounts', [
  ...verbs('overrides', overrideColumns, [
    ['--server <server>', 'only entries on this server', 'server'],
    [
      '--state <state>',
      'only entries in this state: pending, active, expiring, expired, or current (not expired)',
      'state',
    ],
  ]),
  show,
]);
