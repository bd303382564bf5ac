// exitward user …: the users of an account.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { type Column, record } from '../../../kit/src/cli/output.ts';
import { list, secondsInWords } from '../../../kit/src/cli/values.ts';
import { changeAt, createAt, listAt, removeAt, showAt } from './actions.ts';
import { expiry } from './columns.ts';
import { nounOf } from './command.ts';
import { questionOfUser, questionOfUsers, usersNamed } from './cut_off.ts';
import type { Choice } from './given.ts';
import { lifetime, orNone, sizeOrNone, time, whole, yesNo } from './values.ts';
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
const limit: Column = ['limit', 'limits.limit_bytes', 'bytes'];
const usage: Column[] = [
  ['usage', 'period.usage', 'bytes'],
  limit,
  ['over', 'over_limit', 'alarm'],
];
const activeUntil: Column = ['active until', 'limits.active_until', 'time'];
/** A user with limits, and the usage of the running billing period. */
const wholeRecord: Column[] = [
  ...columns,
  ['period to', 'period.end', 'day'],
  ...usage,
  ['on limit', 'limits.on_limit'],
  ['connections at most', 'limits.max_connections'],
  ['addresses at most', 'limits.max_addresses'],
  ['an address counts', 'limits.address_seconds', durationInWords],
  activeUntil,
  ['services', 'limits.services', namesInWords],
  ['servers', 'limits.servers', namesInWords],
];
/** No limit is a dash, as everywhere; an empty list lets the user use nothing. */
function namesInWords(names: readonly string[]): string {
  return names.join(',') || 'none';
}
/** `5 minutes`; for programs, the seconds. */
function durationInWords(seconds: number, forPeople: boolean): string {
  return forPeople ? secondsInWords(seconds) : String(seconds);
}

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
  ['--display-name <text>', 'display name', 'display_name'],
  [
    '--flags <words>',
    'flags to add (proxy, billing, admin) or remove (no-proxy, …)',
    'flags',
    flags,
  ],
];
/** Names, or the word that lifts the limit. */
function namesOrAll(text: string): string[] | null {
  if (text === 'none') throw new UsageFault('expected names, or all');
  return text === 'all' ? null : list(text);
}
/** Names, `all`, or `none` for an empty list. */
const namesAllOrNone = (text: string) => (text === 'none' ? [] : namesOrAll(text));

/** `none` lifts a limit; for a limit to names, `all` does. */
const limits: Choice[] = [
  [
    '--limit <size>',
    "traffic limit per billing period, in addition to the contract's; or none",
    'limits.limit_bytes',
    sizeOrNone,
  ],
  [
    '--on-limit <refuse|notify>',
    'at the traffic limit: refuse connections, or only show it',
    'limits.on_limit',
  ],
  [
    '--max-connections <number>',
    'maximum simultaneous connections in the network, or none',
    'limits.max_connections',
    orNone(whole),
  ],
  [
    '--max-addresses <number>',
    'maximum simultaneous source addresses (an IPv6 /64 counts as one), or none',
    'limits.max_addresses',
    orNone(whole),
  ],
  [
    '--address-window <lifetime>',
    'how long a source address counts, 60s to 10min (default: 5min)',
    'limits.address_seconds',
    lifetime,
  ],
  [
    '--active-until <time>',
    'when access to proxies and VPN ends, or none',
    'limits.active_until',
    orNone(time),
  ],
  [
    '--services <names>',
    'services that the user may use, such as proxy,vpn-ikev2; or all',
    'limits.services',
    namesOrAll,
  ],
  [
    '--servers <names>',
    'servers that the user may use, such as fra1,ams1; or all, or none',
    'limits.servers',
    namesAllOrNone,
  ],
];
const linkLifetime: Choice = [
  '--lifetime <lifetime>',
  'how long the link is valid, at most a day (default: 15min)',
  'lifetime_seconds',
  lifetime,
];

export const userNoun = nounOf('user', 'users of an account', [
  {
    usage: 'list <account>',
    list: true,
    summary: 'list the users of an account',
    run: listAt(users, [...columns, ...usage, activeUntil], {
      noun: 'users',
      next: 'exitward user add <account> <name>',
    }),
  },
  {
    usage: 'show <account> <user>',
    summary: 'show one user, with limits and the usage of this billing period',
    run: showAt(user, wholeRecord),
  },
  {
    usage: 'add <account> <name>',
    summary: 'add an active user',
    options: [...details, ...limits],
    examples: [
      'exitward user add acme bob --flags proxy --limit 50GB --max-connections 100 --active-until +30d',
    ],
    run: createAt(users, wholeRecord, 'The user was added.'),
  },
  {
    usage: 'change <account> <user>',
    summary: "change a user; users can't be deleted, only made inactive",
    options: [
      ...details,
      ['--active <yes|no>', 'whether the user is active', 'active', yesNo],
      ...limits,
    ],
    question: questionOfUser,
    run: changeAt(user, wholeRecord, 'The user was changed.'),
  },
  {
    usage: 'limit <account> <users...>',
    summary: 'change the limits of several users, all or none; limits not given stay',
    options: limits,
    examples: ['exitward user limit acme alice bob --max-connections 100 --active-until +30d'],
    question: questionOfUsers,
    run: async (given, api) => {
      if (Object.keys(given.fields).length === 0) {
        throw new UsageFault(`${given.options.join(', ')}: expected at least one of them`);
      }
      const changed = (await usersNamed(given, api)).map(({ id }) => ({ id, ...given.fields }));
      return record(
        await api.patch(given.path(users), { users: changed }),
        ['changed'],
        'The limits were changed.',
      );
    },
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
    summary: 'erase a person: a pseudonym replaces names and addresses; usage stays',
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
    summary: 'create a one-time link that signs in to the console as a user',
    options: [linkLifetime],
    run: async (given, api) => {
      const link = await api.post(given.path(`${user}/sign-in-link`), given.fields);
      const sentence = 'Who opens this address is signed in as the user; it works once.';
      return record(link, code, sentence);
    },
  },
  {
    usage: 'reset-sign-in <account> <user>',
    summary: "remove a user's password, second factor and open invitations, and end all sessions",
    question:
      'This signs <user> out everywhere and takes password and second factor; then only an invitation lets the user in.',
    run: removeAt(`${user}/sign-in`, '<user> can sign in by a new invitation only.', {
      reset: '<user>',
    }),
  },
]);
