// Holdings: the connections and source addresses of users with limits on them, as each node has
// them. A node hears what its users hold on other nodes, so that a limit holds across the network.
// Verbs: report, forget, purge.
import { clientNetworks } from '../../../kit/src/client_networks.ts';
import type { HeldElsewhere, Holding, HoldingsReport } from '../../../kit/src/node_interface.ts';
import type { Context } from '../context.ts';
import type { Actor, Reader, Transaction } from '../db/database.ts';
import type { Secrets } from '../keys/secrets.ts';
import { usersByKey } from '../users/users.ts';
import * as store from './holding_store.ts';
import { served } from './log_store.ts';
import type { NodeRow } from './store.ts';

/** How many users a report names, and how many addresses of each. */
export const maxHoldingsOfReport = 2000;
export const maxNetworksOfUser = 256;

/** A holding with the times since which it has connections and addresses, in epoch seconds. */
interface Dated {
  node_id: number;
  since: number;
  connections: number;
  networks: Array<[network: string, since: number]>;
}

/**
 * Stores what users hold on a node. Returns what the named users hold elsewhere: on live nodes,
 * whose lease is their acknowledgement.
 * Users whom the server does not serve are left out.
 */
export async function reportHoldings(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  actor: Actor,
  node: NodeRow,
  { whole, users, ...range }: HoldingsReport,
): Promise<HeldElsewhere[]> {
  const genuine = await genuineHoldings(db, node, users);
  const keys = genuine.map(({ account, user }) => [account, user] as const);
  const before = datedBy(secrets, await store.holdingsOf(db, keys));
  const earlierOf = (holding: Holding) =>
    before.get(keyOf(holding))?.find(({ node_id }) => node_id === node.id);
  const changed = genuine.filter((holding) => !isSame(holding, earlierOf(holding)));
  const isStale =
    whole && (await store.countOfNode(db, node.id, range)) > genuine.length - changed.length;
  if (changed.length === 0 && !isStale) return genuine.map((holding) => sum(before, node, holding));
  await db.write(actor, async (tx) => {
    if (whole) await store.removeOfNode(tx, node.id, range);
    const rows = genuine.flatMap((holding) => {
      const isHeld = holding.connections > 0 || holding.networks.length > 0;
      if (!isHeld || (!whole && !changed.includes(holding))) return [];
      const { account: account_id, user: user_id, connections } = holding;
      const { since: earlier, connections: open = 0 } = earlierOf(holding) ?? {};
      // Without open connections here, the user came to other nodes first.
      const since = open > 0 && earlier !== undefined ? earlier : tx.now;
      const dates = firstUses(before.get(keyOf(holding)) ?? []);
      const dated = holding.networks.map((network) => [network, dates.get(network) ?? tx.now]);
      const sealed = secrets.seal(JSON.stringify(dated), contextOf(account_id, user_id, node.id));
      return [{ account_id, user_id, node_id: node.id, since, connections, sealed }];
    });
    const changedKeys = changed.map(({ account, user }) => [account, user] as const);
    await store.removeHoldings(tx, node.id, changedKeys);
    await store.addHoldings(tx, rows);
  });
  const after = datedBy(secrets, await store.holdingsOf(db, keys));
  return genuine.map((holding) => sum(after, node, holding));
}

/** Forgets the holdings of a user, as part of an erasure. */
export function forgetHoldingsOf(
  tx: Transaction,
  user: { account_id: number; id: number },
): Promise<number> {
  return store.removeOfUser(tx, user.account_id, user.id);
}

/** Forgets what a node held before it went offline; it reports that again, as new. */
export function forgetHoldingsOfNode(tx: Transaction, node_id: number): Promise<number> {
  return store.removeOfNode(tx, node_id);
}

/** Forgets what offline nodes hold; a batch at a time. */
export function purgeHoldings(tx: Transaction, maxRows: number): Promise<number> {
  return store.removeOfOffline(tx, maxRows);
}

const keyOf = ({ account, user }: { account: number; user: number }) => `${account} ${user}`;
const contextOf = (account_id: number, user_id: number, node_id: number) =>
  `holding ${account_id} ${user_id} ${node_id}`;

async function genuineHoldings(
  db: Reader,
  node: NodeRow,
  users: readonly Holding[],
): Promise<Holding[]> {
  const accounts = [...new Set(users.map(({ account }) => account))];
  const [servedAccounts, userOf] = await Promise.all([
    served(db, node.server_id, accounts),
    usersByKey(
      db,
      users.map(({ account, user }) => [account, user]),
    ),
  ]);
  const named = new Map<string, Holding>();
  for (const holding of users) {
    const { account, user } = holding;
    if (!servedAccounts.has(account) || userOf(account, user) === undefined) continue;
    const spelled = holding.networks.flatMap((network) => {
      const [address = ''] = network.split('/');
      return clientNetworks(address)[0]?.name ?? [];
    });
    named.set(keyOf(holding), { ...holding, networks: [...new Set(spelled)] });
  }
  return [...named.values()];
}

/** By user: what each live node has. A row that was sealed with a key that is gone is left out. */
function datedBy(secrets: Secrets, rows: readonly store.HoldingRow[]): Map<string, Dated[]> {
  const dated = new Map<string, Dated[]>();
  for (const { account_id: account, user_id: user, sealed, ...row } of rows) {
    let text: string;
    try {
      text = secrets.unseal(sealed, contextOf(account, user, row.node_id));
    } catch {
      continue;
    }
    const key = keyOf({ account, user });
    const ofUser = dated.get(key) ?? [];
    dated.set(key, [...ofUser, { ...row, networks: JSON.parse(text) as Dated['networks'] }]);
  }
  return dated;
}

function isSame(holding: Holding, stored: Dated | undefined): boolean {
  const { connections = 0, networks = [] } = stored ?? {};
  return (
    holding.connections === connections &&
    holding.networks.length === networks.length &&
    holding.networks.every((network, at) => network === networks[at]?.[0])
  );
}

/**
 * The time since which each address is in use on any node. So an address keeps its place in the
 * order when the node on which it was used first no longer has it.
 */
function firstUses(all: readonly Dated[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const [network, since] of all.flatMap(({ networks }) => networks)) {
    first.set(network, Math.min(since, first.get(network) ?? since));
  }
  return first;
}

/** Of nodes that came in the same second, the one with the lower id came first. */
const isBefore = (a: Pick<Dated, 'since' | 'node_id'>, b: Pick<Dated, 'since' | 'node_id'>) =>
  a.since < b.since || (a.since === b.since && a.node_id < b.node_id);

function sum(
  dated: ReadonlyMap<string, Dated[]>,
  node: NodeRow,
  { account, user }: Holding,
): HeldElsewhere {
  const holdings = dated.get(keyOf({ account, user })) ?? [];
  const onThisNode = holdings.find(({ node_id }) => node_id === node.id);
  const others = holdings.filter((other) => other !== onThisNode);
  const earlier = others.filter((other) => !onThisNode || isBefore(other, onThisNode));
  const count = (of: readonly Dated[]) =>
    of.reduce((total, { connections }) => total + connections, 0);
  const networks = holdings
    .flatMap(({ node_id, networks }) => networks.map(([name, since]) => ({ name, since, node_id })))
    .toSorted((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0));
  return {
    account,
    user,
    connections: count(others),
    ahead: count(earlier),
    networks: [...new Set(networks.map(({ name }) => name))].slice(0, maxNetworksOfUser),
  };
}
