// exitward user …: the users of an account.
import { InvalidArgumentError } from 'commander';
import type { Choice, Noun } from './command.ts';
import { type Column, record, table } from './output.ts';
import { yesNo } from './values.ts';

type Row = Record<string, unknown>;

const columns: Column[] = [
  ['id', 'id'],
  ['name', 'name'],
  ['display name', 'display_name'],
  ['active', 'active'],
  ['proxy', 'flags.proxy'],
  ['billing', 'flags.billing'],
  ['admin', 'flags.admin'],
  ['token version', 'token_version'],
];

/** `proxy,billing` turns these on; `no-admin` turns one off. */
function flags(text: string): Record<string, boolean> {
  const words = text.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !/^(no-)?(proxy|billing|admin)$/.test(word));
  if (wrong !== undefined)
    throw new InvalidArgumentError('Expected proxy, billing, admin, or no- and one of them.');
  return Object.fromEntries(
    words.map((word) => [word.replace('no-', ''), !word.startsWith('no-')]),
  );
}

const displayName: Choice = {
  flags: '--display-name <text>',
  description: 'descriptive name',
  field: 'display_name',
};
const flagWords: Choice = {
  flags: '--flags <words>',
  description: 'proxy,billing,admin; no-proxy takes one away',
  parse: flags,
  field: 'flags',
};

export const userNoun: Noun = {
  name: 'user',
  summary: 'users of an account',
  verbs: [
    {
      usage: 'list <account>',
      summary: 'list the users of an account',
      run: async (given, api) =>
        table(await api.get<Row[]>(`/accounts/${given.part('account')}/users`), columns),
    },
    {
      usage: 'add <account> <name>',
      summary: 'add an active user',
      options: [displayName, flagWords],
      run: async (given, api) => {
        const body = { name: given.word('name'), ...given.fields };
        const user = await api.post<Row>(`/accounts/${given.part('account')}/users`, body);
        return record(user, columns, 'The user was added.');
      },
    },
    {
      usage: 'change <account> <user>',
      summary: 'change a user; users are never deleted, only made inactive',
      options: [
        displayName,
        flagWords,
        {
          flags: '--active <yes|no>',
          description: 'whether the user is enabled',
          parse: yesNo,
          field: 'active',
        },
      ],
      run: async (given, api) => {
        const path = `/accounts/${given.part('account')}/users/${given.part('user')}`;
        return record(await api.patch<Row>(path, given.fields), columns, 'The user was changed.');
      },
    },
    {
      usage: 'raise-token-version <account> <user>',
      summary: 'end all proxy access tokens of a user',
      question: (given) => `This ends all proxy access tokens of ${given.word('user')} at once.`,
      run: async (given, api) => {
        const path = `/accounts/${given.part('account')}/users/${given.part('user')}/token_version`;
        return record(await api.post<Row>(path), columns, 'The tokens made so far are ended.');
      },
    },
  ],
};
