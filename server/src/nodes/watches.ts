// Watches: while people look at the open connections, the nodes are asked for them, and repeat
// their answers every few seconds. They are merged here, and forgotten within a minute.
import { setImmediate as turn } from 'node:timers/promises';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalAddress } from '../../../kit/src/address.ts';
import type {
  GroupSums,
  LargestGroups,
  ConnectionGroup as NodeGroup,
} from '../../../kit/src/node_interface.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';
import { notFound, tooManyRequests } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { usersByKey } from '../users/users.ts';
import { compareVersions, version } from '../values/version.ts';
import { served } from './log_store.ts';
import type { NodeRow } from './store.ts';
import { waitFor } from './waiting.ts';
import * as store from './watch_store.ts';

/** The connections that are of interest; without any of these, all of the network. Ids. */
export interface WatchFilter {
  account_id?: number | undefined;
  user_id?: number | undefined;
  /** The canonical address of the client. */
  address?: string | undefined;
  exit_ip?: string | undefined;
  server_id?: number | undefined;
  node_id?: number | undefined;
}

/** The same of all nodes of a server. */
export type ConnectionGroup = NodeGroup & { server: string; nodes: string[] };

/** The ways in which groups are summed: each is a fact that some of them share. */
export type SummedBy = 'account' | 'user' | 'server' | 'address';

/** The groups of one account, user, server or address; it has the fields that name this. */
export type ConnectionSum = Partial<
  Pick<ConnectionGroup, 'account' | 'user' | 'server' | 'address'>
> &
  Pick<ConnectionGroup, 'since' | 'last_byte_at'> &
  GroupSums;

/**
 * Why a node is missing: it is offline, its agent is older and may not know of watches, or it did
 * not answer lately.
 */
export type Silence = 'offline' | 'outdated' | 'no_answer';

export interface OpenConnections {
  /** The largest first, as many as were asked for; none when they are summed. */
  groups: ConnectionGroup[];
  /** The same of the sums, when they were asked for. */
  sums?: ConnectionSum[];
  /** The sums of the others, and of all. */
  rest: GroupSums;
  total: GroupSums;
  /** The nodes that are not in these, with the reason. */
  missing: Array<{ node: string; server: string; reason: Silence }>;
}

/** How many groups a node names. */
export const maxGroupsOfNode = 1000;
/** Nodes answer in a fraction of a second; those that do not are named. */
export const answerWaitSeconds = 2;
/** Nodes repeat their answer every three seconds. An older one is no longer shown. */
const freshSeconds = 10;
const leaseSeconds = 30;
/** With less than this left, a look renews the lease. */
const renewSeconds = 15;
/** How many different filters may be watched at once. */
const maxWatches = { person: 8, operators: 64, all: 500 };

const system: Actor = { kind: 'system', name: 'connections', address: '', request_id: '' };
const contextOf = (watch_id: number, node_id: number) => `connections ${watch_id} ${node_id}`;
/** Answers live for seconds. The largest takes half a millisecond, less than a thread would. */
const fast = { level: 1 };

// ---- Looking ------------------------------------------------------------------------------

/**
 * The open connections now, by the last answers of the nodes; the first look waits for them up to
 * two seconds. `watcher`: a person, or undefined for operators. Errors: 429 when too many filters
 * are watched.
 */
export async function openConnections(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  filter: WatchFilter,
  watcher: { account_id: number; user_id: number } | undefined,
  list: { maxRows: number; by?: SummedBy | undefined },
): Promise<OpenConnections> {
  const watch = await watchOf(db, filter, watcher, clock.now());
  const nodes = await store.nodesToAsk(db, filter);
  await waitFor(
    db,
    async () => {
      const answered = await store.answeredBy(db, watch.id, 0);
      return nodes.every(({ id, live }) => live === 0 || answered.has(id)) || undefined;
    },
    {
      steady: () => clock.steady(),
      wait_seconds: Math.max(0, watch.asked_at + answerWaitSeconds - clock.now()),
    },
  );
  const answered = await store.answeredBy(db, watch.id, clock.now() - freshSeconds);
  const answerOf = async (node_id: number) =>
    answered.has(node_id) ? readAnswer(db, secrets, watch.id, node_id) : undefined;
  return merge(answerOf, nodes, list);
}

/** The watch with this filter, which has some time left. Errors: 429. */
async function watchOf(
  db: Database,
  filter: WatchFilter,
  watcher: { account_id: number; user_id: number } | undefined,
  now: number,
): Promise<store.WatchRow> {
  const key = keyOf(filter);
  const current = await store.findWatch(db, key);
  if (current && current.lease_until - now > renewSeconds) return current;
  return db.write(system, (tx) => beginOrRenew(tx, key, filter, watcher));
}

async function beginOrRenew(
  tx: Transaction,
  key: string,
  filter: WatchFilter,
  watcher: { account_id: number; user_id: number } | undefined,
): Promise<store.WatchRow> {
  const before = await store.findWatch(tx, key);
  const lease_until = tx.now + leaseSeconds;
  if (before && before.lease_until > tx.now) {
    await store.renewWatch(tx, before.id, lease_until);
    await askNodes(tx, before.id, filter);
    return { ...before, lease_until };
  }
  if (before) await store.removeWatch(tx, before.id);
  const name = watcher ? `user ${watcher.account_id} ${watcher.user_id}` : 'operators';
  const { own, all } = await store.countWatches(tx, name, tx.now);
  const maxOwn = watcher ? maxWatches.person : maxWatches.operators;
  if (own >= maxOwn || all >= maxWatches.all) {
    throw tooManyRequests(
      'Too many different views of the open connections are watched at once; close one, or try again in a moment.',
      { 'retry-after': String(leaseSeconds) },
      { code: 'rate_limited' },
    );
  }
  const id = await nextId(tx, 0, 'watches');
  const watch = { id, filter: key, watcher: name, asked_at: tx.now, lease_until };
  await store.insertWatch(tx, watch);
  await askNodes(tx, id, filter);
  return watch;
}

/** By the change stream, as for questions: each process reaches the nodes whose streams it has. */
async function askNodes(tx: Transaction, id: number, filter: WatchFilter): Promise<void> {
  const { server_id = null, account_id = null } = filter;
  // Those of one server, else of the account's, else all.
  const whose = server_id === null ? { account_id } : { account_id: null, server_id };
  await recordChange(tx, { kind: 'connections', ...whose, record_id: id });
}

/** One text for the same filter, however it was given. */
function keyOf({ account_id, user_id, address, exit_ip, server_id, node_id }: WatchFilter): string {
  return JSON.stringify({ account_id, user_id, address, exit_ip, server_id, node_id });
}

/** The record that asks nodes for a watch; undefined: it is over. */
export async function findWatchRecord(db: Reader, id: number) {
  const row = await store.findWatchById(db, id);
  if (!row) return undefined;
  const { account_id: account, user_id: user, address, exit_ip } = filterOf(row);
  return { lease_seconds: leaseSeconds, account, user, address, exit_ip };
}

const filterOf = ({ filter }: store.WatchRow) => JSON.parse(filter) as WatchFilter;

/** Deletes watches that are over, with their answers; a batch at a time. */
export function purgeWatches(tx: Transaction, maxRows: number): Promise<number> {
  return store.purgeWatches(tx, tx.now, maxRows);
}

// ---- Answers of nodes ---------------------------------------------------------------------

/**
 * Stores a node's answer in place of its last one. Groups that the watch does not ask for, or of
 * accounts and users that the server does not have, are left out. Errors: 404 when the watch is
 * over, or not for this node.
 */
export async function reportConnections(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  actor: Actor,
  node: NodeRow,
  watch_id: number,
  { groups, rest }: LargestGroups,
): Promise<void> {
  const over = notFound(`There is no watch ${watch_id} for this node: it is over.`, {
    code: 'question_over',
  });
  const watch = await store.findWatchById(db, watch_id);
  if (!watch) throw over;
  const filter = filterOf(watch);
  const nodes = await store.nodesToAsk(db, { ...filter, node_id: filter.node_id ?? node.id });
  if (!nodes.some(({ id }) => id === node.id)) throw over;
  const genuine = await genuineGroups(db, node, filter, groups, clock.now());
  const text = deflateRawSync(JSON.stringify({ groups: genuine, rest }), fast);
  const sealed = secrets.seal(text.toString('base64'), contextOf(watch_id, node.id));
  const isStored = await db.write(actor, (tx) =>
    store.putAnswer(tx, { watch_id, node_id: node.id, sealed }),
  );
  if (!isStored) throw over;
}

async function genuineGroups(
  db: Reader,
  node: NodeRow,
  filter: WatchFilter,
  groups: readonly NodeGroup[],
  now: number,
): Promise<NodeGroup[]> {
  const spelled = groups.flatMap((group) => {
    const address = canonicalAddress(group.address);
    const exit_ip = canonicalAddress(group.exit_ip);
    if (address === undefined || exit_ip === undefined) return [];
    const [since, last_byte_at] = [group.since, group.last_byte_at].map((at) => Math.min(at, now));
    return [{ ...group, address, exit_ip, since, last_byte_at } as NodeGroup];
  });
  const wanted = spelled.filter((group) => isAskedFor(group, filter));
  const accounts = [...new Set(wanted.map(({ account }) => account))];
  const [servedAccounts, userOf] = await Promise.all([
    served(db, node.server_id, accounts),
    usersByKey(
      db,
      wanted.map(({ account, user }) => [account, user]),
    ),
  ]);
  return wanted.filter(
    ({ account, user }) => servedAccounts.has(account) && userOf(account, user) !== undefined,
  );
}

function isAskedFor(group: NodeGroup, filter: WatchFilter): boolean {
  const { account_id, user_id, address, exit_ip } = filter;
  return (
    (account_id ?? group.account) === group.account &&
    (user_id ?? group.user) === group.user &&
    (address ?? group.address) === group.address &&
    (exit_ip ?? group.exit_ip) === group.exit_ip
  );
}

/** A node's last answer, unless it was sealed with a key that is gone. */
async function readAnswer(
  db: Reader,
  secrets: Secrets,
  watch_id: number,
  node_id: number,
): Promise<LargestGroups | undefined> {
  const sealed = await store.findAnswer(db, watch_id, node_id);
  if (sealed === undefined) return undefined;
  let text: string;
  try {
    text = secrets.unseal(sealed, contextOf(watch_id, node_id));
  } catch {
    return undefined;
  }
  const json = inflateRawSync(Buffer.from(text, 'base64'));
  // Each node may name a thousand groups.
  await turn();
  return JSON.parse(json.toString()) as LargestGroups;
}

// ---- Merging ------------------------------------------------------------------------------

/**
 * Groups of the nodes of one server become one. Reads one answer after the other and keeps what may
 * be listed: however many nodes there are, the groups of one server are in memory.
 */
async function merge(
  answerOf: (node_id: number) => Promise<LargestGroups | undefined>,
  nodes: readonly store.AskedNode[],
  { maxRows, by }: { maxRows: number; by?: SummedBy | undefined },
): Promise<OpenConnections> {
  const missing: OpenConnections['missing'] = [];
  const sums = new Map<string, ConnectionSum>();
  const [rest, total] = [noSums(), noSums()];
  let groups: ConnectionGroup[] = [];
  for (const ofServer of Map.groupBy(nodes, ({ server_id }) => server_id).values()) {
    const merged = new Map<string, ConnectionGroup>();
    for (const node of ofServer) {
      const answer = await answerOf(node.id);
      const { name, server } = node;
      if (!answer) {
        missing.push({ node: name, server, reason: reasonOf(node) });
        continue;
      }
      addSums(rest, answer.rest);
      addSums(total, answer.rest);
      for (const group of answer.groups) {
        const { service, account, user, address, exit_ip } = group;
        const key = `${service} ${account} ${user} ${address} ${exit_ip}`;
        const before = merged.get(key);
        if (before) addGroup(before, group, name);
        else merged.set(key, { ...group, server, nodes: [name] });
      }
    }
    const all = [...merged.values()];
    addSums(total, sumsOf(all));
    if (by !== undefined) addTo(sums, by, all);
    else {
      groups = largestFirst([...groups, ...all]);
      addSums(rest, sumsOf(groups.splice(maxRows)));
    }
  }
  if (by === undefined) return { groups, rest, total, missing };
  const largest = largestFirst([...sums.values()]);
  addSums(rest, sumsOf(largest.splice(maxRows)));
  return { groups, sums: largest, rest, total, missing };
}

const largestFirst = <T extends Omit<GroupSums, 'groups'>>(rows: T[]): T[] =>
  rows.sort((a, b) => b.connections - a.connections || b.up + b.down - a.up - a.down);

/** Adds groups to the sums by what names each. */
function addTo(
  sums: Map<string, ConnectionSum>,
  by: SummedBy,
  groups: readonly ConnectionGroup[],
): void {
  for (const group of groups) {
    const { account, user, since, last_byte_at } = group;
    const name = by === 'user' ? { account, user } : { [by]: group[by] };
    const key = Object.values(name).join(' ');
    const sum = sums.get(key) ?? { ...name, since, last_byte_at, ...noSums() };
    addSums(sum, { ...group, groups: 1 });
    sum.since = Math.min(sum.since, since);
    sum.last_byte_at = Math.max(sum.last_byte_at, last_byte_at);
    sums.set(key, sum);
  }
}

/** Why a node that was asked has not answered. */
export function reasonOf({ live, version: its }: store.AskedNode): Silence {
  if (live === 0) return 'offline';
  return compareVersions(its, version) < 0 ? 'outdated' : 'no_answer';
}

function addGroup(group: ConnectionGroup, other: NodeGroup, node: string): void {
  group.nodes.push(node);
  group.connections = sum(group.connections, other.connections);
  group.up = sum(group.up, other.up);
  group.down = sum(group.down, other.down);
  group.since = Math.min(group.since, other.since);
  group.last_byte_at = Math.max(group.last_byte_at, other.last_byte_at);
  group.by = [...new Set([...group.by, ...other.by])];
  if (other.entry !== undefined) group.entry = other.entry;
}

const noSums = (): GroupSums => ({ groups: 0, connections: 0, up: 0, down: 0 });

/** Of groups, and of sums of them. */
function sumsOf(rows: ReadonlyArray<Omit<GroupSums, 'groups'> & { groups?: number }>): GroupSums {
  const sums = noSums();
  for (const row of rows) addSums(sums, { ...row, groups: row.groups ?? 1 });
  return sums;
}

function addSums(sums: GroupSums, more: GroupSums): void {
  for (const name of ['groups', 'connections', 'up', 'down'] as const) {
    sums[name] = sum(sums[name], more[name]);
  }
}

/** A node may claim anything; what is sent stays a safe integer. */
const sum = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER);
