// exitward authlist …, exitward override …: the two lists of an account, seen and ended by the operator.
import { listAt, removeAt } from './actions.ts';
import type { Noun, Verb } from './command.ts';
import { type Column, expiry, lastUsed, record } from './output.ts';
import { time } from './values.ts';

/** Where counting ends, ahead of a question. */
const most_counted = 1000;

/** The verbs of both lists: show all, remove one, remove all. */
function verbs(list: 'authlist' | 'overrides', columns: Column[]): Verb[] {
  const path = `/accounts/<account>/${list}`;
  return [
    {
      usage: 'list <account>',
      list: true,
      summary: 'list the entries of an account',
      run: listAt(path, columns),
    },
    {
      usage: 'remove <account> <id>',
      summary: 'remove one entry; on a suspended or expired contract too',
      question: 'This removes entry <id> of <account>.',
      run: removeAt(`${path}/<id>`, 'Entry <id> is removed.', { removed: '<id>' }),
    },
    {
      usage: 'clear <account>',
      summary: 'remove all entries of an account; exitward undo puts them back for seven days',
      question: `This removes all ${list} entries of <account>.`,
      extent: async (given, api) => {
        const entries = await api.list(given.path(path), most_counted);
        const count = `${entries.length}${entries.length < most_counted ? '' : ' or more'}`;
        return `There are ${count}; "exitward undo" puts them back for seven days.`;
      },
      run: removeAt(path, `All ${list} entries of <account> are removed.`, {
        cleared: '<account>',
      }),
    },
  ];
}

const find: Verb = {
  usage: 'find <ip>',
  list: true,
  summary: 'show who holds an address, on each port scheme',
  run: listAt('/authlist?ip=<ip>', ['port_scheme', 'account', 'id', 'ip', 'user', expiry, 'proof']),
};
const authlistColumns: Column[] = ['id', 'ip', 'user', 'user_active', expiry, 'proof', lastUsed];

/** The operator's word on whose an address is. */
function sayWhether(proven: boolean, verb: string, summary: string): Verb {
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
  summary:
    'list an address for a user by your word: the entry is proven, and takes an unproven one',
  required: [['--expiry <time>', 'when the entry ends', 'expiry', time]],
  run: async (given, api) => {
    const body = { ip: given.word('ip'), user: given.word('user'), ...given.fields };
    return record(
      await api.post(given.path('/accounts/<account>/authlist'), body),
      authlistColumns,
    );
  },
};

export const authlistNoun: Noun = {
  name: 'authlist',
  summary: 'addresses that accounts have listed',
  verbs: [
    ...verbs('authlist', authlistColumns),
    find,
    add,
    sayWhether(true, 'prove', 'say that the address belongs to the account of this entry'),
    sayWhether(false, 'unprove', 'say that the entry is unproven: it gives way to a proven one'),
  ],
};

const overrideColumns: Column[] = [
  'id',
  'server',
  'hostname',
  'ip',
  ['status', 'status', 'state'],
  expiry,
];

interface EntryOnNodes {
  server: string;
  status: 'pending' | 'active' | 'expiring' | 'expired';
  on_contract: boolean;
  nodes: Array<{ name: string; live: boolean; applied: boolean }>;
}

/** How far the entry is: which nodes count (the live ones; all where none is), and which it waits for. */
export function progressOf({ server, status, on_contract, nodes }: EntryOnNodes): string {
  if (nodes.length === 0) return `no node has joined for ${server}`;
  if (!on_contract) return `on no node: ${server} is not on the contract`;
  const live = nodes.filter((node) => node.live);
  const counted = live.length > 0 ? live : nodes;
  const names = (some: typeof nodes) => some.map(({ name }) => name).join(', ');
  const waiting = names(counted.filter((node) => !node.applied));
  const lost = live.length > 0 ? names(nodes.filter((node) => !node.live)) : '';
  const [done, all] = [counted.filter((node) => node.applied).length, counted.length];
  return [
    `${status === 'pending' || status === 'active' ? 'active' : 'ended'} on ${done} of ${all}`,
    ...(waiting ? [`, waiting for ${waiting}`] : []),
    ...(live.length === 0 ? [`; no node of ${server} is live`] : []),
    ...(lost ? [`; not live, and not waited for: ${lost}`] : []),
  ].join('');
}

const show: Verb = {
  usage: 'show <account> <id>',
  summary: 'show an entry with the nodes that have applied it, and those that it waits for',
  run: async (given, api) => {
    const value = await api.get<EntryOnNodes>(given.path('/accounts/<account>/overrides/<id>'));
    const shown = { ...value, progress: progressOf(value) };
    const nodes: Column[] = [['node', 'name'], 'live', 'applied', ['revision', 'applied_revision']];
    return {
      value,
      parts: [
        { record: shown, columns: [...overrideColumns, ['nodes', 'progress']] },
        { rows: value.nodes, columns: nodes },
      ],
    };
  },
};

export const overrideNoun: Noun = {
  name: 'override',
  summary: 'custom DNS entries of accounts',
  verbs: [...verbs('overrides', overrideColumns), show],
};
