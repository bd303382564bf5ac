// exitward user …: the users of an account.
import { type Choice, type Noun, UsageFault } from './command.ts';
import type { Given } from './given.ts';
import { type Column, done, record, table } from './output.ts';
import { lifetime, yesNo } from './values.ts';

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
    throw new UsageFault('expected proxy, billing, admin, or no- and one of them');
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

const code: Column[] = [
  ['url', 'url'],
  ['code', 'code'],
  ['expiry', 'expiry', 'time'],
];

/** The path of the user that a command names. */
const pathOf = (given: Given) => `/accounts/${given.part('account')}/users/${given.part('user')}`;

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
        const user = await api.patch<Row>(pathOf(given), given.fields);
        return record(user, columns, 'The user was changed.');
      },
    },
    {
      usage: 'raise-token-version <account> <user>',
      summary: 'end all proxy access tokens of a user',
      question: (given) => `This ends all proxy access tokens of ${given.word('user')} at once.`,
      run: async (given, api) => {
        const user = await api.post<Row>(`${pathOf(given)}/token_version`);
        return record(user, columns, 'The tokens made so far are ended.');
      },
    },
    {
      usage: 'invite <account> <user>',
      summary: 'invite a user to the console, to set a password',
      run: async (given, api) => {
        const invite = await api.post<Row>(`${pathOf(given)}/invite`);
        return record(invite, code, 'Hand this address to the user; it works once.');
      },
    },
    {
      usage: 'sign-in-link <account> <user>',
      summary: 'make an address that signs in to the console as a user, once',
      options: [
        {
          flags: '--lifetime <lifetime>',
          description: 'how long it can be used, a day at most; 15min when omitted',
          parse: lifetime,
          field: 'lifetime_seconds',
        },
      ],
      run: async (given, api) => {
        const link = await api.post<Row>(`${pathOf(given)}/sign-in-link`, given.fields);
        return record(
          link,
          code,
          'Who opens this address is signed in as the user; it works once.',
        );
      },
    },
    {
      usage: 'reset-sign-in <account> <user>',
      summary: 'take password, second factor and open invitations of a user, and end the sessions',
      question: (given) =>
        `This signs ${given.word('user')} out everywhere and takes password and second factor; then only an invitation lets the user in.`,
      run: async (given, api) => {
        await api.delete(`${pathOf(given)}/sign-in`);
        return done(`${given.word('user')} can sign in by a new invitation only.`, {
          reset: given.word('user'),
        });
      },
    },
  ],
};
