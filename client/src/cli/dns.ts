// exw dns …: custom DNS entries (hostname overrides), which apply on the override port.

import { Failure, UsageFault } from '../../../kit/src/cli/failures.ts';
import {
  type Column,
  counted,
  done,
  notify,
  record,
  type Shown,
  table,
} from '../../../kit/src/cli/output.ts';
import { list, span, timeInWords } from '../../../kit/src/cli/values.ts';
import type { Override } from '../openapi.ts';
import { pause } from '../retries.ts';
import { type Command, command } from './command.ts';
import { address, defaultLifetimeSeconds, expiryHint, given, id, now, time } from './values.ts';

const defaultWaitSeconds = 60;
const lookSeconds = 1;

const columns: Column[] = [
  'id',
  'server',
  'hostname',
  'ip',
  ['status', 'status', 'state'],
  ['expiry', 'expiry', 'time'],
];

const waitOption = {
  summary: 'wait up to this long for the proxies to apply the entry',
  value: '<span>',
  read: span,
} as const;

const waiting = (waitSeconds: number | undefined) => given({ waitSeconds });

const add = command({
  name: 'dns add',
  examples: ['exw dns add fra1 www.example.com 203.0.113.7 --expiry +30d --wait 10s'],
  summary: 'point a hostname at an IP address of your choice, on the override port',
  arguments: {
    server: {
      completes: 'servers',
      summary: 'short name of a server on the contract',
      read: String,
    },
    hostname: { summary: 'hostname to resolve', read: String },
    ip: { summary: 'IP address that it resolves to', read: address },
  },
  options: {
    expiry: { summary: 'when the entry expires (default: +8h)', value: '<time>', read: time },
    wait: waitOption,
  },
  run: async ({ arguments: given, options: { expiry, wait } }, session) => {
    const { client } = await session.account();
    const entry = { ...given, expiry: expiry ?? now() + defaultLifetimeSeconds };
    return shownEntry(await client.overrides.add(entry, waiting(wait)), expiry === undefined);
  },
});

function shownEntry(entry: Override, isUsual = false): Shown {
  const { hostname, ip, server, status, expiry } = entry;
  const sentence = `${hostname} points at ${ip} on ${server} until ${timeInWords(expiry)}: ${status}.`;
  return record(entry, columns, `${sentence}${isUsual ? expiryHint : ''}`);
}

const listAll = command({
  name: 'dns list',
  list: true,
  summary: 'list entries, including those that expired in the last 30 days',
  options: {
    server: {
      filter: true,
      completes: 'servers',
      summary: 'only entries on these servers',
      value: '<names>',
      read: list,
    },
    ip: {
      filter: true,
      summary: 'only entries that resolve to this address',
      value: '<ip>',
      read: address,
    },
  },
  run: async ({ options: { server, ip } }, session) => {
    const { client } = await session.account();
    return table(await client.overrides.list(given({ server, ip })), columns, {
      noun: 'custom DNS entries',
      next: 'exw dns add',
    });
  },
});

const idArgument = {
  completes: 'entries',
  summary: 'id of the entry, as shown by dns list',
  read: id,
} as const;

const change = command({
  name: 'dns change',
  summary: 'change an entry; it is pending until the proxies have applied the change',
  arguments: { id: idArgument },
  options: {
    server: { completes: 'servers', summary: 'new server', value: '<name>', read: String },
    hostname: { summary: 'new hostname', value: '<name>', read: String },
    ip: { summary: 'new address', value: '<ip>', read: address },
    expiry: { summary: 'new expiry', value: '<time>', read: time },
    wait: waitOption,
  },
  run: async ({ arguments: { id: entryId }, options: { wait, ...options } }, session) => {
    const { server, hostname, ip, expiry } = options;
    const changes = given({ server, hostname, ip, expiry });
    if (Object.keys(changes).length === 0) {
      throw new UsageFault('--server, --hostname, --ip, --expiry: expected at least one of them');
    }
    const { client } = await session.account();
    return shownEntry(await client.overrides.change(entryId, changes, waiting(wait)));
  },
});

const remove = command({
  name: 'dns remove',
  summary: 'remove entries',
  arguments: { id: { ...idArgument, many: true } },
  question: ({ arguments: { id: ids } }) =>
    `This removes ${counted(ids.length, 'DNS entry', 'DNS entries')}: ${ids.join(', ')}.`,
  extent: async () => '"exw dns add" adds them again.',
  run: async ({ arguments: { id: ids } }, session) => {
    const { client } = await session.account();
    for (const entryId of ids) await client.overrides.remove(entryId);
    return done(`Removed: ${ids.join(', ')}.`, { removed: ids });
  },
});

const clear = command({
  name: 'dns clear',
  summary: 'remove all entries',
  question: () => 'This removes all DNS entries of the account.',
  extent: async (_given, session) => {
    const { client } = await session.account();
    const { length } = await client.overrides.list();
    return `There are ${length}; Exitward's console can restore them for seven days.`;
  },
  run: async (_given, session) => {
    const { client } = await session.account();
    await client.overrides.clear();
    return done('All DNS entries are removed.', { removed: 'all' });
  },
});

const wait = command({
  name: 'dns wait',
  summary: 'wait until an entry is active',
  arguments: { id: idArgument },
  options: {
    timeout: { summary: 'maximum time to wait (default: 1min)', value: '<span>', read: span },
  },
  run: async ({ arguments: given, options: { timeout = defaultWaitSeconds } }, session) => {
    const { client } = await session.account();
    const end = performance.now() + timeout * 1000;
    let entry = await client.overrides.get(given.id);
    const { id: number, server, hostname, ip } = entry;
    if (entry.status === 'pending') {
      notify(
        `Waiting for the proxies of ${server} to point ${hostname} at ${ip} (entry ${number}).`,
      );
    }
    while (entry.status === 'pending') {
      if (performance.now() >= end) {
        throw new Failure(
          `Entry ${number} is still pending: not every proxy of ${server} has applied it within ${timeout} seconds.`,
        );
      }
      await pause(lookSeconds, undefined);
      entry = await client.overrides.get(given.id);
    }
    if (entry.status === 'active') return shownEntry(entry);
    throw new Failure(`Entry ${number} is ${entry.status}, since ${timeInWords(entry.expiry)}.`);
  },
});

export const dnsCommands: readonly Command[] = [add, listAll, change, remove, clear, wait];
