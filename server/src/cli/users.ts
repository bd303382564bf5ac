// exitward user …: the users of an account.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { type Column, record } from '../../../kit/src/cli/output.ts';
import { changeAt, createAt, listAt, removeAt } from './actions.ts';
import { expiry } from './columns.ts';
import { nounOf } from './command.ts';
import type { Choice } from './given.ts';
import { lifetime, yesNo } from './values.ts';
import { vpnProfile } from './vpn_profile.ts';

const users = '/accounts/<account>/users';
const user = `${users}/<user>`;

const columns: Column[] = [
  'id',
  'name',
  'display_name',
  ['active', 'active', 'state'],
  ['proxy', 'flags.proxy'],
  ['billing', 'flags.billing'],
  ['admin', 'flags.admin'],
  'token_version',
];
const code: Column[] = ['url', 'code', expiry];

/** `proxy,billing` turns these flags on; `no-admin` turns one off. */
function flags(text: string): Record<string, boolean> {
  const words = text.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !/^(no-)?(proxy|billing|admin)$/.test(word));
  if (wrong !== undefined)
    throw new UsageFault('expected proxy, billing, admin, or no- and one of them');
  return Object.fromEntries(
    words.map((word) => [word.replace('no-', ''), !word.startsWith('no-')]),
  );
}

const details: Choice[] = [
  ['--display-name <text>', 'descriptive name', 'display_name'],
  ['--flags <words>', 'proxy,billing,admin; no-proxy takes one away', 'flags', flags],
];
const linkLifetime: Choice = [
  '--lifetime <lifetime>',
  'how long it can be used, a day at most; 15min when omitted',
  'lifetime_seconds',
  lifetime,
];

export const userNoun = nounOf('user', 'users of an account', [
  {
    usage: 'list <account>',
    list: true,
    summary: 'list the users of an account',
    run: listAt(users, columns, {
      of: 'users',
      next: 'exitward user add <account> <name>',
    }),
  },
  {
    usage: 'add <account> <name>',
    summary: 'add an active user',
    options: details,
    run: createAt(users, columns, 'The user was added.'),
  },
  {
    usage: 'change <account> <user>',
    summary: 'change a user; users are never deleted, only made inactive',
    options: [...details, ['--active <yes|no>', 'whether the user is enabled', 'active', yesNo]],
    run: changeAt(user, columns, 'The user was changed.'),
  },
  {
    usage: 'raise-token-version <account> <user>',
    summary: 'end all proxy access tokens and VPN passwords of a user',
    question: 'This ends all proxy access tokens and VPN passwords of <user> at once.',
    run: async (given, api) => {
      const changed = await api.post(given.path(`${user}/token_version`));
      return record(changed, columns, 'The tokens made so far are ended.');
    },
  },
  vpnProfile,
  {
    usage: 'erase <account> <user>',
    summary: 'erase a person: a pseudonym takes the place of names and addresses; usage stays',
    question:
      'This ends the access of <user> and takes names and addresses out of records and the audit log for good.',
    run: async (given, api) => {
      const erased = await api.post(given.path(`${user}/erase`));
      return record(
        erased,
        ['pseudonym'],
        'The person is erased; the record goes on by this name.',
      );
    },
  },
  {
    usage: 'invite <account> <user>',
    summary: 'invite a user to the console, to set a password',
    run: async (given, api) => {
      const invite = await api.post(given.path(`${user}/invite`));
      return record(invite, code, 'Hand this address to the user; it works once.');
    },
  },
  {
    usage: 'sign-in-link <account> <user>',
    summary: 'make an address that signs in to the console as a user, once',
    options: [linkLifetime],
    run: async (given, api) => {
      const link = await api.post(given.path(`${user}/sign-in-link`), given.fields);
      const sentence = 'Who opens this address is signed in as the user; it works once.';
      return record(link, code, sentence);
    },
  },
  {
    usage: 'reset-sign-in <account> <user>',
    summary: 'take password, second factor and open invitations of a user, and end the sessions',
    question:
      'This signs <user> out everywhere and takes password and second factor; then only an invitation lets the user in.',
    run: removeAt(`${user}/sign-in`, '<user> can sign in by a new invitation only.', {
      reset: '<user>',
    }),
  },
]);
