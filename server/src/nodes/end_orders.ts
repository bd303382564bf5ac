// Orders to end open connections. A node gets an order by the change stream, takes it once while it
// is valid, ends the connections that are open then, and reports how many those were.
import { audit } from '../changes/audit.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';
import { notFound, tooManyRequests } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import * as store from './end_order_store.ts';
import type { NodeRow } from './store.ts';
import { waitFor } from './waiting.ts';
import { nodesToAsk } from './watch_store.ts';
import { reasonOf, type Silence, type WatchFilter } from './watches.ts';

/** The connections to end: all that have each of these in common. Ids. */
export interface EndFilter extends WatchFilter {
  service?: string | undefined;
}

/** A person of an account, or its admins together; undefined: an operator. */
type EndOrderer = { account_id: number; user_id?: number | undefined } | undefined;

/** The order as the audit log shows it: names in place of ids. */
export type EndNames = Readonly<Record<string, string | undefined>>;

export interface EndedConnections {
  /** How many connections these nodes ended. */
  ended: number;
  acknowledged: Array<{ node: string; server: string; ended: number }>;
  /** `unfinished`: it took the order, and has not reported how many it ended. */
  missing: Array<{ node: string; server: string; reason: Silence | 'unfinished' }>;
  /** Epoch seconds. Nodes that have not taken the order by then never do. */
  until: number;
}

/** Nodes answer in a fraction of a second; those that do not are named. */
export const endWaitSeconds = 5;
/** A node that comes back later does not get the order. */
export const orderSeconds = 60;
/**
 * The maximum number of orders within a minute: of a person without the admin flag, of all of these
 * of an account, of its admins, and of an operator. Once the people of all accounts have given
 * `shared`, each account has its share of them, and at least one: nodes carry out some 600.
 */
const maxOrders = { user: 5, users: 20, admins: 20, operator: 60, shared: 300 };
const paceSeconds = 60;
/** How long orders are kept, to limit their number and for late answers. */
const keptSeconds = 120;

/** An order, by whom it is given, and its names. */
export interface EndOrder {
  filter: EndFilter;
  /** The orderer, whose number of orders is limited. */
  by: EndOrderer;
  names: EndNames;
}

/**
 * Runs one transaction, on behalf of the client, with the order that the client may give at that
 * time: rights may have ended while the body was on its way.
 */
type WriteOrder = <T>(give: (tx: Transaction, order: EndOrder) => Promise<T>) => Promise<T>;

/**
 * Has the nodes end connections, and waits up to five seconds for their reports. Errors: those of
 * `write`; 429 when there were too many orders lately.
 */
export async function endConnections(
  { db, secrets, clock }: Pick<Context, 'db' | 'secrets' | 'clock'>,
  write: WriteOrder,
): Promise<EndedConnections> {
  const { id, until, filter } = await write((tx, order) => giveOrder(tx, secrets, order));
  const nodes = await nodesToAsk(db, filter);
  await waitFor(
    db,
    async () => {
      const endedBy = await store.takenBy(db, id);
      return nodes.every((node) => node.live === 0 || typeof endedBy.get(node.id) === 'number')
        ? true
        : undefined;
    },
    { steady: () => clock.steady(), wait_seconds: endWaitSeconds },
  );
  const endedBy = await store.takenBy(db, id);
  const outcome: EndedConnections = { ended: 0, acknowledged: [], missing: [], until };
  for (const node of nodes) {
    const { name, server } = node;
    const ended = endedBy.get(node.id);
    if (typeof ended === 'number') {
      outcome.acknowledged.push({ node: name, server, ended });
      outcome.ended = Math.min(outcome.ended + ended, Number.MAX_SAFE_INTEGER);
    } else {
      const reason = ended === null ? 'unfinished' : reasonOf(node);
      outcome.missing.push({ node: name, server, reason });
    }
  }
  return outcome;
}

async function giveOrder(tx: Transaction, secrets: Secrets, { filter, by, names }: EndOrder) {
  const orderer = ordererOf(tx.actor, by);
  if (await isTooOften(tx, orderer)) {
    throw tooManyRequests(
      'Connections were ended too often within a minute; try again in a moment.',
      { 'retry-after': String(paceSeconds) },
      { code: 'rate_limited' },
    );
  }
  const id = await nextId(tx, 0, 'end_orders');
  const sealed = secrets.seal(JSON.stringify(filter), contextOf(id));
  await store.insertOrder(tx, { id, sealed, ordered_by: orderer.ordered_by, ordered_at: tx.now });
  const { server_id = null, account_id: of = null } = filter;
  const whose = server_id === null ? { account_id: of } : { account_id: null, server_id };
  await recordChange(tx, { kind: 'end_connections', ...whose, record_id: id });
  const nodes = await nodesToAsk(tx, filter);
  await audit(tx, {
    account_id: of,
    action: 'connection.end',
    target: 'connections',
    after: { ...names, nodes: nodes.length },
  });
  return { id, until: tx.now + orderSeconds, filter };
}

const operators = 'operator';

/** The orderer, and the group whose orders are limited together. */
function ordererOf({ name }: Actor, by: EndOrderer): { group: string; ordered_by: string } {
  if (!by) return { group: operators, ordered_by: `${operators} ${name}` };
  const { account_id, user_id } = by;
  const group = user_id === undefined ? `account ${account_id}` : `user ${account_id}`;
  return { group, ordered_by: user_id === undefined ? group : `${group} ${user_id}` };
}

/** The group of an orderer. */
function groupOf(ordered_by: string): string {
  const [kind = '', account = ''] = ordered_by.split(' ');
  return kind === operators ? operators : `${kind} ${account}`;
}

/**
 * Each group has a limit of its own, so that no account uses up the orders of operators or of other
 * accounts, and users not those of their admins.
 */
async function isTooOften(db: Transaction, { group, ordered_by }: ReturnType<typeof ordererOf>) {
  const counts = await store.countOrders(db, db.now - paceSeconds);
  const ordersOfOne = counts.get(ordered_by) ?? 0;
  if (group === operators) return ordersOfOne >= maxOrders.operator;
  const ofGroups = new Map<string, number>([[group, 0]]);
  let ofPeople = 0;
  for (const [by, count] of counts) {
    const its = groupOf(by);
    if (its === operators) continue;
    ofGroups.set(its, (ofGroups.get(its) ?? 0) + count);
    ofPeople += count;
  }
  const ofGroup = ofGroups.get(group) ?? 0;
  const isAdmin = ordered_by === group;
  if (ofGroup >= (isAdmin ? maxOrders.admins : maxOrders.users)) return true;
  if (!isAdmin && ordersOfOne >= maxOrders.user) return true;
  return ofPeople >= maxOrders.shared && ofGroup >= Math.max(1, maxOrders.shared / ofGroups.size);
}

/** The record that gives nodes an order; undefined: it is long over. */
export async function findOrderRecord(db: Reader, secrets: Secrets, id: number) {
  const { filter } = (await findOrder(db, secrets, id)) ?? {};
  if (!filter) return undefined;
  const { account_id: account, user_id: user, address, exit_ip, service } = filter;
  return { account, user, address, exit_ip, service };
}

/** An order that was sealed with a key that is gone is over. */
async function findOrder(db: Reader, secrets: Secrets, id: number) {
  const row = await store.findOrder(db, id);
  if (!row) return undefined;
  try {
    const filter = JSON.parse(secrets.unseal(row.sealed, contextOf(id))) as EndFilter;
    return { filter, until: row.ordered_at + orderSeconds };
  } catch {
    return undefined;
  }
}

const contextOf = (id: number) => `end order ${id}`;

/**
 * Lets a node take an order, once. Only then may it end connections: one that died and gets the
 * order again, or late, does not. Errors: 404 when it is over, was taken, or is not for this node.
 */
export async function takeEndOrder(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  actor: Actor,
  node: NodeRow,
  id: number,
): Promise<void> {
  const order = await findOrder(db, secrets, id);
  if (!order || !(await isFor(db, node, order.filter))) throw orderOver(id);
  const isTaken = await db.write(
    actor,
    async (tx) => tx.now < order.until && (await store.takeOrder(tx, id, node.id)),
  );
  if (!isTaken) throw orderOver(id);
}

/** Stores how many connections a node ended. Errors: 404 when it did not take the order. */
export async function reportEnded(
  db: Database,
  actor: Actor,
  node: NodeRow,
  id: number,
  ended: number,
): Promise<void> {
  const isNoted = await db.write(actor, (tx) => store.noteEnded(tx, id, node.id, ended));
  if (!isNoted) throw orderOver(id);
}

async function isFor(db: Reader, node: NodeRow, filter: EndFilter): Promise<boolean> {
  if (filter.node_id !== undefined && filter.node_id !== node.id) return false;
  const nodes = await nodesToAsk(db, { ...filter, node_id: node.id });
  return nodes.length > 0;
}

const orderOver = (id: number) =>
  notFound(`There is no order ${id} for this node: it is over, or was taken before.`, {
    code: 'question_over',
  });

/** Deletes orders that are long over, with their answers; a batch at a time. */
export function purgeEndOrders(tx: Transaction, maxRows: number): Promise<number> {
  return store.purgeOrders(tx, tx.now - keptSeconds, maxRows);
}
