// exw authlist …: the addresses that need no password (the whitelist of the earlier variant).

import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import {
  type Column,
  counted,
  done,
  notify,
  print,
  record,
  type Shown,
  table,
} from '../../../kit/src/cli/output.ts';
import { standardInput } from '../../../kit/src/cli/question.ts';
import { list, span, timeInWords } from '../../../kit/src/cli/values.ts';
import { jsonText } from '../../../kit/src/visible.ts';
import type { Exitward } from '../client.ts';
import type { AuthlistEntry } from '../openapi.ts';
import { type AddressLine, readAddresses } from './address_list.ts';
import { type Command, command } from './command.ts';
import { OwnAddress, requireEntry, requireOwnEntry } from './own_address.ts';
import type { Account } from './session.ts';
import { stopSignal } from './signals.ts';
import {
  address,
  canonicalAddress,
  defaultLifetimeSeconds,
  expiryHint,
  given,
  idOrAddress,
  now,
  time,
} from './values.ts';

const namesShown = 10;
/** The API adds one address per request, so several requests are sent in parallel. */
const parallelRequests = 8;

const columns: Column[] = [
  'id',
  'ip',
  'user',
  ['user active', 'user_active', 'state'],
  ['expiry', 'expiry', 'time'],
];

/** The user that connections from an address count as. */
export const userOption = {
  completes: 'users',
  summary: 'user that connections from the address count as (default: the only proxy user)',
  value: '<name>',
  read: String,
} as const;

/** The names of the users who may use the proxies. */
export async function proxyUsers(client: Exitward): Promise<string[]> {
  const users = await client.users.list();
  return users.filter(({ active, flags }) => active && flags.proxy).map(({ name }) => name);
}

/**
 * The given user, or the account's only one. Errors: a usage fault when there are several, or in
 * the earlier variant, which lists none.
 */
export async function requireUser(
  { client, variant }: Account,
  given: string | undefined,
): Promise<string> {
  if (given !== undefined) return given;
  if (variant === 'earlier') throw new UsageFault('--user: expected the name of a proxy user');
  const names = await proxyUsers(client);
  const [first, second] = names;
  if (first === undefined) throw new Failure('The account has no active proxy user.');
  if (second === undefined) return first;
  const more = names.length > namesShown ? ', …' : '';
  throw new UsageFault(`--user: expected one of ${names.slice(0, namesShown).join(', ')}${more}`);
}

/** The id of the entry with this id or address, or of this machine. */
async function idOfEntry({ client }: Account, entry: number | string | undefined): Promise<number> {
  if (typeof entry === 'number') return entry;
  const { id } =
    entry === undefined ? await requireOwnEntry(client) : await requireEntry(client, entry);
  return id;
}

const entryArgument = { completes: 'addresses', read: idOrAddress, optional: true } as const;

const add = command({
  name: 'authlist add',
  examples: [
    'exw authlist add --user alice',
    'exw authlist add 203.0.113.7 --user alice --expiry +30d',
    'exw authlist add - --user alice --expiry +30d',
  ],
  summary: 'let an address connect without a password (default: your own)',
  arguments: {
    ip: {
      summary: 'IPv4 or IPv6 address; - to read a list from standard input',
      read: (text: string) => (text === '-' ? text : address(text)),
      optional: true,
    },
  },
  options: {
    user: userOption,
    expiry: { summary: 'when the entry expires (default: +8h)', value: '<time>', read: time },
    'dry-run': { summary: 'with -: only check the list and show what would be added' },
  },
  notes: `Each line of a list has an address, optionally followed by a user and an expiry; "#" starts a comment.
All lines are checked first. If the service then refuses one, the addresses already added are removed again.
The API adds one address per request; ${parallelRequests} requests are sent in parallel.`,
  run: async ({ arguments: { ip }, options }, session) => {
    if (options['dry-run'] && ip !== '-')
      throw new UsageFault('--dry-run: expected with a list (-)');
    const account = await session.account();
    if (ip === '-') return addList(account, options);
    const user = await requireUser(account, options.user);
    const expiry = options.expiry ?? now() + defaultLifetimeSeconds;
    const entry = await account.client.authlist.add({ ...given({ ip }), user, expiry });
    const hint = options.expiry === undefined ? expiryHint : '';
    return record(entry, columns, `${listedInWords(entry)}.${hint}`);
  },
});

/** Adds the addresses from standard input: all or, as far as the API allows, none. */
async function addList(
  account: Account,
  given: { user: string | undefined; expiry: number | undefined; 'dry-run': boolean },
): Promise<Shown> {
  const { lines, faults } = readAddresses(await standardInput());
  const { fresh, listed, unknown } = await compare(account, lines, given);
  const all = [...faults, ...unknown].sort((a, b) => a.line - b.line);
  if (all.length > 0) {
    const list = all.map(({ line, message }) => `\n- line ${line}, ${message}`);
    throw new Failure(
      `The list has ${counted(all.length, 'problem')}; nothing was changed.${list.join('')}`,
    );
  }
  const summary = `${counted(fresh.length, 'address', 'addresses')} to add for ${users(fresh)}; ${listed} ${listed === 1 ? 'is' : 'are'} already listed.`;
  if (given['dry-run'])
    return { ...table(fresh, columnsToAdd, undefined), sentence: `Dry run: ${summary}` };
  notify(summary);
  const added: AuthlistEntry[] = [];
  for (let at = 0; at < fresh.length; at += parallelRequests) {
    const batch = fresh.slice(at, at + parallelRequests);
    const outcomes = await Promise.allSettled(
      batch.map((entry) => account.client.authlist.add(entry)),
    );
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') added.push(outcome.value);
    const first = outcomes.findIndex(({ status }) => status === 'rejected');
    const refusal = outcomes[first];
    if (refusal?.status === 'rejected') {
      const stillListed = await takeBack(account, added);
      const outcome =
        stillListed > 0 ? `${stillListed} of the others stay listed` : 'Nothing was changed';
      throw new Failure(`${batch[first]?.ip}: ${(refusal.reason as Error).message} ${outcome}.`);
    }
  }
  return { ...table(added, columns, undefined), sentence: `Added: ${added.length}.` };
}

const columnsToAdd: Column[] = columns.filter((column) =>
  ['ip', 'user', 'expiry'].includes(column[0]),
);

const users = (entries: ReadonlyArray<{ user: string }>) =>
  [...new Set(entries.map(({ user }) => user))].join(', ') || 'no user';

/** The lines that are not listed yet, and those with unknown users. */
async function compare(
  account: Account,
  lines: readonly AddressLine[],
  given: { user: string | undefined; expiry: number | undefined },
) {
  const isListed = new Set(
    (await account.client.authlist.list()).map(({ ip }) => canonicalAddress(ip)),
  );
  const newLines = lines.filter(({ ip }) => !isListed.has(canonicalAddress(ip)));
  const defaultUser = newLines.some(({ user }) => user === undefined)
    ? await requireUser(account, given.user)
    : '';
  const expiry = given.expiry ?? now() + defaultLifetimeSeconds;
  const fresh = newLines.map((line) => ({
    ip: line.ip,
    user: line.user ?? defaultUser,
    expiry: line.expiry ?? expiry,
  }));
  const userNames =
    account.variant === 'earlier'
      ? undefined
      : new Set((await account.client.users.list()).map(({ name }) => name));
  const unknown = newLines
    .filter(({ user }) => user !== undefined && userNames?.has(user) === false)
    .map(({ line, user }) => ({ line, message: `user: there is no active user "${user}"` }));
  return { fresh, listed: lines.length - newLines.length, unknown };
}

/** Removes these from the list again; returns how many stay listed. */
async function takeBack({ client }: Account, entries: readonly AuthlistEntry[]): Promise<number> {
  let stillListed = 0;
  for (let at = 0; at < entries.length; at += parallelRequests) {
    const removals = entries
      .slice(at, at + parallelRequests)
      .map(({ id }) => client.authlist.remove(id));
    const outcomes = await Promise.allSettled(removals);
    stillListed += outcomes.filter(({ status }) => status === 'rejected').length;
  }
  return stillListed;
}

function listedInWords({ ip, user, user_active, expiry }: AuthlistEntry): string {
  const vain = user_active ? '' : `. It gives no access: ${user} is not an active proxy user`;
  return `${ip} is listed for ${user} until ${timeInWords(expiry)}${vain}`;
}

const listAll = command({
  name: 'authlist list',
  list: true,
  summary: 'list the addresses that need no password',
  options: {
    ip: {
      filter: true,
      summary: 'only entries with this address or part of it',
      value: '<text>',
      read: String,
    },
    user: {
      filter: true,
      completes: 'users',
      summary: 'only entries of these users',
      value: '<names>',
      read: list,
    },
  },
  run: async ({ options: { ip, user } }, session) => {
    const { client } = await session.account();
    return table(await client.authlist.list(given({ ip, user })), columns, {
      noun: 'addresses',
      next: 'exw authlist add',
    });
  },
});

const change = command({
  name: 'authlist change',
  summary: 'change an entry (default: the entry of your own address)',
  arguments: { entry: { ...entryArgument, summary: 'id or address of the entry' } },
  options: {
    ip: { summary: 'new address', value: '<ip>', read: address },
    user: { completes: 'users', summary: 'new user', value: '<name>', read: String },
    expiry: { summary: 'new expiry', value: '<time>', read: time },
  },
  run: async ({ arguments: { entry }, options: { ip, user, expiry } }, session) => {
    const changes = given({ ip, user, expiry });
    if (Object.keys(changes).length === 0) {
      throw new UsageFault('--ip, --user, --expiry: expected at least one of them');
    }
    const account = await session.account();
    const id = await idOfEntry(account, entry);
    const changed = await account.client.authlist.change(id, changes);
    return record(changed, columns, `${listedInWords(changed)}.`);
  },
});

const remove = command({
  name: 'authlist remove',
  summary: 'remove addresses from the list (default: your own)',
  arguments: {
    entry: { ...entryArgument, many: true, summary: 'id or address of an entry' },
  },
  question: ({ arguments: { entry } }) =>
    entry.length === 0
      ? 'This removes your address from the authlist.'
      : `This removes ${counted(entry.length, 'address', 'addresses')} from the authlist: ${entry.join(', ')}.`,
  extent: async () => '"exw authlist add" undoes it.',
  run: async ({ arguments: { entry } }, session) => {
    const account = await session.account();
    const ids: number[] = [];
    for (const key of entry.length === 0 ? [undefined] : entry)
      ids.push(await idOfEntry(account, key));
    for (const id of ids) await account.client.authlist.remove(id);
    return done(`Removed: ${ids.join(', ')}.`, { removed: ids });
  },
});

const clear = command({
  name: 'authlist clear',
  summary: 'remove all addresses from the list',
  question: () => 'This removes all addresses from the authlist.',
  extent: async (_given, session) => {
    const { client } = await session.account();
    const { length } = await client.authlist.list();
    return `There are ${length}; Exitward's console can restore them for seven days.`;
  },
  run: async (_given, session) => {
    const { client } = await session.account();
    await client.authlist.clear();
    return done('The authlist is empty.', { removed: 'all' });
  },
});

const watch = command({
  name: 'authlist watch',
  summary: 'keep your address listed while this runs, even if it changes',
  options: {
    user: userOption,
    every: {
      summary: 'time between checks of the address (default: 1min)',
      value: '<span>',
      read: span,
    },
    expiry: { summary: 'when to stop (default: at Ctrl-C)', value: '<time>', read: time },
  },
  notes: `Prints each address that it adds, and removes the address at the end. If it is killed, the entry expires after five times --every. An address that is already listed is not changed.`,
  run: async ({ options: { user, every = 60, expiry: end } }, session) => {
    if (end !== undefined && end <= now())
      throw new UsageFault(`--expiry: ${timeInWords(end)} has passed`);
    const account = await session.account();
    const ownAddress = new OwnAddress(account.client, {
      user: await requireUser(account, user),
      everySeconds: every,
      end,
      onListed: (entry) => showListed(entry, session.isJson),
    });
    const stop = stopSignal();
    try {
      await ownAddress.look();
      await ownAddress.keep(stop);
    } finally {
      await ownAddress.remove();
    }
    return 0;
  },
});

/** As JSON one line per entry, since a list would never be closed. */
function showListed(entry: AuthlistEntry, isJson: boolean): void {
  if (isJson) process.stdout.write(`${jsonText(entry, 0)}\n`);
  else print(table([entry], columns, undefined), false);
}

export const authlistCommands: readonly Command[] = [add, listAll, change, remove, clear, watch];
