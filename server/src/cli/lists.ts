// exitward authlist …, exitward override …: the two lists of an account, seen and ended by the operator.
import type { Noun, Verb } from './command.ts';
import { type Column, done, table } from './output.ts';

type Row = Record<string, unknown>;

/** What both lists have: show all, remove one, remove all. */
function verbs(list: 'authlist' | 'overrides', columns: Column[]): Verb[] {
  return [
    {
      usage: 'list <account>',
      summary: 'list the entries of an account',
      run: async (given, api) =>
        table(await api.get<Row[]>(`/accounts/${given.part('account')}/${list}`), columns),
    },
    {
      usage: 'remove <account> <id>',
      summary: 'remove one entry; on a suspended or expired contract too',
      question: (given) => `This removes entry ${given.word('id')} of ${given.word('account')}.`,
      run: async (given, api) => {
        await api.delete(`/accounts/${given.part('account')}/${list}/${given.part('id')}`);
        return done(`Entry ${given.word('id')} is removed.`, { removed: given.word('id') });
      },
    },
    {
      usage: 'clear <account>',
      summary: 'remove all entries of an account; exitward undo puts them back for seven days',
      question: (given) => `This removes all ${list} entries of ${given.word('account')}.`,
      run: async (given, api) => {
        await api.delete(`/accounts/${given.part('account')}/${list}`);
        const account = given.word('account');
        return done(`All ${list} entries of ${account} are removed.`, { cleared: account });
      },
    },
  ];
}

const find: Verb = {
  usage: 'find <ip>',
  summary: 'show who holds an address, on each port scheme',
  run: async (given, api) =>
    table(await api.get<Row[]>(`/authlist?ip=${given.part('ip')}`), [
      ['port scheme', 'port_scheme'],
      ['account', 'account'],
      ['id', 'id'],
      ['ip', 'ip'],
      ['user', 'user'],
      ['expiry', 'expiry', 'time'],
    ]),
};

export const authlistNoun: Noun = {
  name: 'authlist',
  summary: 'addresses that accounts have listed',
  verbs: [
    ...verbs('authlist', [
      ['id', 'id'],
      ['ip', 'ip'],
      ['user', 'user'],
      ['user active', 'user_active'],
      ['expiry', 'expiry', 'time'],
    ]),
    find,
  ],
};

export const overrideNoun: Noun = {
  name: 'override',
  summary: 'custom DNS entries of accounts',
  verbs: verbs('overrides', [
    ['id', 'id'],
    ['server', 'server'],
    ['hostname', 'hostname'],
    ['ip', 'ip'],
    ['status', 'status'],
    ['expiry', 'expiry', 'time'],
  ]),
};
