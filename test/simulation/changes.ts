// The actions of account holders and operators: random changes by the verbs of the modules.
import {
  type AccountChanges,
  changeAccount,
  requireAccountNamed,
} from '../../server/src/accounts/accounts.ts';
import {
  changeEntry,
  createEntry,
  listEntries,
  removeAllEntries,
  removeEntry,
  requireEntry,
  restoreEntries,
} from '../../server/src/authlist/authlist.ts';
import {
  removeContractServer,
  setContractServer,
} from '../../server/src/contract_servers/contract_servers.ts';
import type { Transaction } from '../../server/src/db/database.ts';
import { listRemovals } from '../../server/src/lists/removals.ts';
import {
  changeOverride,
  createOverride,
  listOverrides,
  removeAllOverrides,
  removeOverride,
  restoreOverrides,
} from '../../server/src/overrides/overrides.ts';
import {
  addExitIp,
  exitIpsOfServer,
  removeExitIp,
  requireServer,
} from '../../server/src/servers/servers.ts';
import {
  changeUser,
  type LimitChanges,
  raiseTokenVersion,
  requireUserNamed,
} from '../../server/src/users/users.ts';
import { Random } from '../../server/test/random.ts';
import { accounts, servers, users } from './center.ts';

/** So few that they collide. */
export const sources = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'];
export const hostnames = ['www.example.com', 'api.example.com'];
const lifetimesSeconds = [3, 10, 40, 1000, 1000];

const authlistRules = { addresses: 'any', max_authlist_entries: 100 } as const;
const overrideRules = { addresses: 'any', max_overrides: 100 } as const;
const anyVersion = () => {};

type Verb = (tx: Transaction, random: Random) => Promise<unknown>;

const account = (tx: Transaction, random: Random) => requireAccountNamed(tx, random.one(accounts));
const expiry = (tx: Transaction, random: Random) => tx.now + random.one(lifetimesSeconds);
const entries = async (tx: Transaction, account_id: number) =>
  (await listEntries(tx, account_id, {}, tx.now)).map(({ id }) => id);
const overrides = async (tx: Transaction, account_id: number) =>
  (await listOverrides(tx, account_id, {}, tx.now)).map(({ id }) => id);
/** It says where it came from, so that one in the wrong place is seen. */
const dialled = (account_id: number, random: Random) =>
  `8.8.${account_id}.${random.between(1, 250)}`;

const verbs: Array<[name: string, weight: number, verb: Verb]> = [
  [
    'authlist-create',
    6,
    async (tx, random) => {
      const { id } = await account(tx, random);
      const [ip, user] = [random.one(sources), random.one(users)];
      const entry = { ip, user, expiry: expiry(tx, random) };
      // One in two asks for itself, and takes the address of an account that did not.
      return createEntry(tx, id, entry, authlistRules, random.one([ip, undefined]));
    },
  ],
  [
    'authlist-change',
    10,
    async (tx, random) => {
      const { id } = await account(tx, random);
      const change = random.one([
        { ip: random.one(sources) },
        { ip: random.one(sources) },
        { user: random.one(users) },
        { expiry: expiry(tx, random) },
      ]);
      const entry = random.one(await entries(tx, id));
      return changeEntry(tx, id, entry, change, authlistRules, anyVersion);
    },
  ],
  [
    'authlist-remove',
    2,
    async (tx, random) => {
      const { id } = await account(tx, random);
      return removeEntry(tx, id, random.one(await entries(tx, id)), anyVersion);
    },
  ],
  [
    'authlist-clear',
    1,
    async (tx, random) => removeAllEntries(tx, (await account(tx, random)).id, anyVersion),
  ],
  [
    'override-create',
    6,
    async (tx, random) => {
      const { id } = await account(tx, random);
      const body = {
        server: random.one(servers),
        hostname: random.one(hostnames),
        ip: dialled(id, random),
        expiry: expiry(tx, random),
      };
      return createOverride(tx, id, body, overrideRules);
    },
  ],
  [
    'override-change',
    5,
    async (tx, random) => {
      const { id } = await account(tx, random);
      const change = random.one([
        { server: random.one(servers) },
        { hostname: random.one(hostnames) },
        { ip: dialled(id, random) },
        { expiry: expiry(tx, random) },
      ]);
      const override = random.one(await overrides(tx, id));
      return changeOverride(tx, id, override, change, overrideRules, anyVersion);
    },
  ],
  [
    'override-remove',
    2,
    async (tx, random) => {
      const { id } = await account(tx, random);
      return removeOverride(tx, id, random.one(await overrides(tx, id)), anyVersion);
    },
  ],
  [
    'overrides-clear',
    1,
    async (tx, random) => removeAllOverrides(tx, (await account(tx, random)).id, anyVersion),
  ],
  [
    // The operator puts back what an account cleared, wherever that account is by now.
    'undo',
    3,
    async (tx, random) => {
      const of = await account(tx, random);
      const [last] = await listRemovals(tx, of.id, tx.now);
      const restore = last?.list === 'authlist' ? restoreEntries : restoreOverrides;
      return restore(tx, of, last?.removal_id ?? 0, { ...authlistRules, ...overrideRules });
    },
  ],
  [
    'user-change',
    3,
    async (tx, random) => {
      const { id } = await account(tx, random);
      const user = await requireUserNamed(tx, id, random.one(users));
      const on = random.between(0, 2) > 0;
      return changeUser(tx, user, random.one([{ active: on }, { flags: { proxy: on } }]));
    },
  ],
  [
    'token-version',
    1,
    async (tx, random) => {
      const { id } = await account(tx, random);
      return raiseTokenVersion(tx, await requireUserNamed(tx, id, random.one(users)));
    },
  ],
  [
    'contract-change',
    4,
    async (tx, random) => {
      const of = await account(tx, random);
      const change = random.one<AccountChanges>([
        { suspended: true },
        { suspended: false },
        { suspended: false },
        { expiry: expiry(tx, random) },
        { expiry: tx.now + 10_000, suspended: false },
        { limit_bytes: random.one([1, 100_000, 10 ** 12]) },
        { limit_bytes: 10 ** 12 },
        { on_limit: random.one(['allow', 'refuse']) },
        { port_scheme: random.one(['default', 'high']) },
      ]);
      return changeAccount(tx, of, change);
    },
  ],
  [
    'contract-server-set',
    3,
    async (tx, random) => {
      const [of, server] = [await account(tx, random), random.one(servers)];
      return setContractServer(tx, of, await requireServer(tx, server), null);
    },
  ],
  [
    'contract-server-remove',
    2,
    async (tx, random) => {
      const [of, server] = [await account(tx, random), random.one(servers)];
      return removeContractServer(tx, of, await requireServer(tx, server));
    },
  ],
  [
    // An account leaves a server, and its address goes to another one: nodes may hear of that
    // first.
    'succession',
    3,
    async (tx, random) => {
      const names = random.one([
        ['acme', 'globex'],
        ['globex', 'acme'],
      ]);
      const [before, after] = await Promise.all(names.map((name) => requireAccountNamed(tx, name)));
      if (!before || !after) throw new Error('there are no such accounts');
      const entry = await requireEntry(
        tx,
        before.id,
        random.one(await entries(tx, before.id)),
        tx.now,
      );
      await removeEntry(tx, before.id, entry.id, anyVersion);
      const body = { ip: entry.ip, user: random.one(users), expiry: expiry(tx, random) };
      await createEntry(tx, after.id, body, authlistRules);
      return removeContractServer(tx, before, await requireServer(tx, random.one(servers)));
    },
  ],
  [
    'exit-ip',
    1,
    async (tx, random) => {
      const server = await requireServer(tx, random.one(servers));
      const second = (await exitIpsOfServer(tx, server.id)).find((exit) => exit.port_base === 9);
      if (second) return removeExitIp(tx, server, second.ip);
      return addExitIp(tx, server, { ip: `198.51.101.${server.id}`, port_base: 9 });
    },
  ],
];

const all = verbs.flatMap(([name, weight, verb]) => Array(weight).fill({ name, verb })) as Array<{
  name: string;
  verb: Verb;
}>;

/** A change of what the network holds of accounts and servers. */
export interface Change {
  name: string;
  run: (tx: Transaction) => Promise<unknown>;
}

/** Any of them, at random. The same one when it runs a second time. */
export function drawChange(random: Random): Change {
  const { name, verb } = random.one(all);
  const { seed } = random.fork();
  return { name, run: (tx) => verb(tx, new Random(seed)) };
}

const mostly = <T>(random: Random, usual: T, ...others: T[]): T =>
  random.between(0, 1) > 0 ? usual : random.one(others);

/** Limits on connections and addresses at once; besides them, all others or those of services. */
export type LimitKind = 'at once' | 'all' | 'of services';

/** The limits of one user. */
export function drawLimits(random: Random, kind: LimitKind): Change {
  const { seed } = random.fork();
  const verb: Verb = async (tx, random) => {
    const { id } = await account(tx, random);
    const user = await requireUserNamed(tx, id, random.one(users));
    const { now } = tx;
    const counted: LimitChanges[] = [
      { max_connections: random.between(1, 3) },
      { max_addresses: random.between(1, 2), address_seconds: 60 },
      { max_connections: random.between(2, 4), max_addresses: 2, address_seconds: 60 },
    ];
    const others: LimitChanges[] = [
      { active_until: mostly(random, null, now + 5, now + 20) },
      { servers: mostly(random, null, [random.one(servers)], servers.slice(1)) },
      { services: mostly(random, null, ['proxy'], ['vpn-ikev2']) },
      { limit_bytes: mostly(random, null, 1, 100_000), on_limit: random.one(['refuse', 'notify']) },
      { max_connections: null, max_addresses: null },
    ];
    const ofServices: LimitChanges[] = [
      { services: null },
      { services: ['vpn-ikev2'] },
      { services: ['vpn-ikev2'] },
    ];
    const rest = kind === 'of services' ? ofServices : others;
    const limits = random.one(kind === 'at once' || random.between(0, 1) > 0 ? counted : rest);
    return changeUser(tx, user, { limits });
  };
  return { name: 'user-limits', run: (tx) => verb(tx, new Random(seed)) };
}

/** Lets all users connect everywhere, except for the limits on what they may have at once. */
export async function allowAll(tx: Transaction): Promise<void> {
  for (const name of accounts) {
    const of = await requireAccountNamed(tx, name);
    const rights = { suspended: false, expiry: tx.now + 10_000, limit_bytes: 10 ** 12 };
    await changeAccount(tx, of, rights);
    for (const server of servers) {
      await setContractServer(tx, of, await requireServer(tx, server), null);
    }
    for (const user of users) {
      const limits = { active_until: null, servers: null, services: null, limit_bytes: null };
      const change = { active: true, flags: { proxy: true }, limits };
      await changeUser(tx, await requireUserNamed(tx, of.id, user), change);
    }
  }
}
