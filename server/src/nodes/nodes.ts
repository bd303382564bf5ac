// Nodes: the agents that serve a server; they join, follow the log of changes, acknowledge, and
// report.
import type { UsageBatch } from '../../../kit/src/node_interface.ts';
import { audit } from '../changes/audit.ts';
import { bumpVersion, lastId, networkPosition, nextId, recordChange } from '../changes/changes.ts';
import { accountsOfServer } from '../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, notFound, unauthorized } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { newTokenText, tokenTextIsPlausible } from '../keys/token_text.ts';
import {
  findServer,
  raiseVpnGeneration,
  type Server,
  setAppliedRevision,
} from '../servers/servers.ts';
import { setDrained } from './drain.ts';
import { type NodeFault, replaceFaults } from './faults.ts';
import { refreshHealth } from './health.ts';
import { acceptHeld, discardHeld } from './held_usage.ts';
import { addRejected, forgetRejections } from './history.ts';
import { forgetHoldingsOfNode } from './holdings.ts';
import * as log from './log_store.ts';
import { forgetRefusalsOfNode } from './refusals.ts';
import * as store from './store.ts';
import { countReport, type UsageOutcome } from './usage_reports.ts';
import { replaceVpnHealth } from './vpn_health_store.ts';

/**
 * A machine that serves one server with its agent. It is live while it acknowledges;
 * `applied_revision` is how far it has applied the log of changes. A revoked node stays as a
 * record.
 */
export type Node = store.NodeRow;
export { AppliedWatch } from './applied.ts';
export {
  type EndedConnections,
  type EndOrder,
  endConnections,
  endWaitSeconds,
  orderSeconds,
  purgeEndOrders,
  reportEnded,
  takeEndOrder,
} from './end_orders.ts';
export {
  answerUseQuestion,
  type ExitUses,
  erasedUsers,
  eraseUsesOf,
  findExitUses,
  maxUses,
  purgeErasedUsers,
  purgeUseQuestions,
  useAnswerSeconds,
} from './exit_uses.ts';
export { faultsByNode, type NodeFault } from './faults.ts';
export { reportHealth } from './health.ts';
export { listHeld } from './held_store.ts';
export {
  type HistoryPoint,
  historySlices,
  longestHistorySeconds,
  purgeHistory,
  sampleNodes,
  stepSeconds,
  type Whose,
} from './history.ts';
export {
  forgetHoldingsOf,
  maxHoldingsOfReport,
  maxNetworksOfUser,
  purgeHoldings,
  reportHoldings,
} from './holdings.ts';
export { nodeLag, pruneChanges } from './log_store.ts';
export { showNodes } from './metrics.ts';
export { nodeFilters, nodePageSlices, nodeSorts, ratesOf } from './page_store.ts';
export {
  answerOfNodes,
  answerQuestion,
  answerSeconds,
  askNodes,
  purgeQuestions,
} from './questions.ts';
export { refusalNotices } from './refusal_notices.ts';
export {
  forgetRefusalsOf,
  listRefusals,
  maxRefusalsOfReport,
  purgeRefusals,
  type Refusal,
  type RefusalFilter,
  reportRefusals,
} from './refusals.ts';
export { rejectionKinds } from './rejection_reasons.ts';
export {
  connectionLogModes,
  listInvites,
  listNodes,
  nodeCounts,
  nodesOfContract,
  nodesOfServer,
} from './store.ts';
export { maxRowsOfBatch } from './usage_reports.ts';
export { reportVpnHealth, type VpnHealth, vpnHealth } from './vpn_health.ts';
export {
  answerWaitSeconds,
  maxGroupsOfNode,
  type OpenConnections,
  openConnections,
  purgeWatches,
  reportConnections,
  type SummedBy,
} from './watches.ts';

const nodesVersion = 'nodes version';

/**
 * Notifies open pages that a node joined, left, went offline, came back or applied a change: none
 * of these has a revision.
 */
async function nodesChanged(tx: Transaction): Promise<void> {
  await nextId(tx, 0, nodesVersion);
}

/**
 * Numbers for operators, which rise: `revision` with any change of a record, `nodes` with each
 * change of a node.
 */
export async function networkMarks(db: Reader): Promise<{ revision: number; nodes: number }> {
  const [{ revision }, nodes] = await Promise.all([
    networkPosition(db),
    lastId(db, 0, nodesVersion),
  ]);
  return { revision, nodes };
}

// ---- Joining ------------------------------------------------------------------------------

const inviteSeconds = 86_400;

/**
 * Creates a one-time code with which one node may join this server. The code is shown only here.
 */
export async function createInvite(
  tx: Transaction,
  secrets: Secrets,
  server: Server,
  lifetime_seconds = inviteSeconds,
): Promise<{ code: string; expiry: number }> {
  const code = newTokenText('ewi_');
  const expiry = tx.now + lifetime_seconds;
  await store.insertInvite(tx, {
    hash: secrets.hashToken(code),
    server_id: server.id,
    expiry,
    used_at: null,
  });
  await audit(tx, {
    account_id: null,
    action: 'node.invite',
    target: server.name,
    after: { expiry },
  });
  return { code, expiry };
}

/** Revokes an unused invitation. Errors: 404. */
export async function removeInvite(tx: Transaction, id: string): Promise<void> {
  if (!(await store.removeInvite(tx, id))) {
    throw notFound(
      `There is no open invitation ${JSON.stringify(id)}; it may have been used, or be over.`,
    );
  }
  await audit(tx, { account_id: null, action: 'node.uninvite', target: `invite/${id}` });
}

const invitesKeptSeconds = 30 * 86_400;

/** Deletes invitations that ended over 30 days ago, a batch at a time. */
export function purgeInvites(tx: Transaction, maxInvites: number): Promise<number> {
  return store.purgeInvites(tx, tx.now - invitesKeptSeconds, maxInvites);
}

/**
 * Adds a machine as a node of the server that its code names; the code works once. Returns the node
 * and its token, which is shown only here. Errors: 401 for a code that is unknown, used or expired.
 */
export async function joinNode(
  tx: Transaction,
  secrets: Secrets,
  body: { code: string; name: string; version: string },
): Promise<{ node: Node; server: Server; token: string }> {
  const server_id = tokenTextIsPlausible(body.code)
    ? await store.useInvite(tx, secrets.hashesOf(body.code))
    : undefined;
  const server = server_id === undefined ? undefined : await findServer(tx, server_id);
  if (!server) {
    throw unauthorized(
      'code: the invitation is not known, was used, or is over; ask for a new one.',
      'Bearer',
      { code: 'invite_unknown' },
    );
  }
  const token = newTokenText('ewn_');
  const node: Node = {
    id: await nextId(tx, 0, 'nodes'),
    server_id: server.id,
    name: body.name,
    hash: secrets.hashToken(token),
    version: body.version,
    applied_revision: 0,
    live: 0,
    joined_at: tx.now,
    seen_at: tx.now,
    revoked_at: null,
    reported_until: tx.now,
    max_bytes_per_second: null,
    drained_at: null,
    connections: null,
    connection_log: null,
    certificate_expiry: null,
  };
  await store.insert(tx, node);
  await nodesChanged(tx);
  await audit(tx, {
    account_id: null,
    action: 'node.join',
    target: `${server.name}/${body.name}`,
    after: { id: node.id },
  });
  return { node, server, token };
}

/** The node with this token. Errors: 401, also for a revoked node. */
export async function authenticateNode(
  db: Reader,
  secrets: Secrets,
  token: string | undefined,
): Promise<Node> {
  const node =
    token && tokenTextIsPlausible(token)
      ? await store.findByHash(db, secrets.hashesOf(token))
      : undefined;
  if (!node)
    throw unauthorized(
      'The node token is not known or was revoked; join again with a new invitation.',
      'Bearer',
      { code: 'node_token_unknown' },
    );
  return node;
}

/**
 * The node, read again in the transaction that changes it. Errors: 401 when it was revoked
 * meanwhile.
 */
async function requireNode(tx: Transaction, id: number): Promise<Node> {
  const node = await store.findById(tx, id);
  if (!node || node.revoked_at !== null) {
    throw unauthorized('The node was revoked.', 'Bearer', { code: 'node_token_unknown' });
  }
  return node;
}

/** A node, revoked or not. Errors: 404. */
export async function requireAnyNode(db: Reader, id: number): Promise<Node> {
  const node = await store.findById(db, id);
  if (!node) throw notFound(`There is no node ${id}.`);
  return node;
}

/**
 * Revokes a node: its token stops working, its stream closes, its server no longer waits for it.
 * Its reports of health, faults, rejections and refusals are removed, since they rest on its word
 * alone. The server gets another VPN key, so VPN profiles have to be created again.
 * `stale_seconds`: the greatest age of a valid report on an exit IP. Errors: 404.
 */
export async function revokeNode(
  tx: Transaction,
  id: number,
  stale_seconds: number,
): Promise<void> {
  const node = await store.findById(tx, id);
  if (!node || node.revoked_at !== null) throw notFound(`There is no node ${id}.`);
  await store.update(tx, { ...node, live: 0, revoked_at: tx.now });
  await store.removeFaults(tx, id);
  await store.removeHealth(tx, id);
  await replaceVpnHealth(tx, id, []);
  await forgetRejections(tx, id);
  await forgetRefusalsOfNode(tx, id);
  await refreshHealth(tx, node.server_id, stale_seconds);
  await nodesChanged(tx);
  await refreshApplied(tx, node.server_id);
  // Its machine has the server's VPN key, from which it could make any user's password.
  await raiseVpnGeneration(tx, node.server_id);
  // Wakes the streams of the server: each checks whether its node may continue.
  await recordChange(tx, { kind: 'server', account_id: null, server_id: node.server_id });
  await audit(tx, {
    account_id: null,
    action: 'node.revoke',
    target: `node/${id}`,
    before: { name: node.name },
  });
}

// ---- Acknowledging ------------------------------------------------------------------------

/**
 * Stores how far a node has applied the log: all changes of `epoch` up to `revision`. This also
 * makes it live. A node that restarts from an older state reports the older revision, and its
 * entries become pending again. `reported`: facts about its agent, if it sends them.
 * Errors: 401 for a revoked node; 409 for another epoch or a revision that does not exist: the node
 * must take a new snapshot.
 */
export async function acknowledge(
  tx: Transaction,
  node_id: number,
  epoch: string,
  revision: number,
  reported: {
    version?: string;
    connections?: number;
    connection_log?: store.ConnectionLogMode | undefined;
  } = {},
): Promise<void> {
  const node = await requireNode(tx, node_id);
  await requireHistory(tx, epoch, revision);
  const { version = node.version, connections = null, connection_log = null } = reported;
  const acknowledged = { live: 1, seen_at: tx.now, applied_revision: revision };
  await store.update(tx, { ...node, ...acknowledged, version, connections, connection_log });
  // Other nodes have let users in for whom this one had no room: it comes after them.
  if (node.live === 0) await forgetHoldingsOfNode(tx, node_id);
  // While a node is being drained, people wait for its last connection; otherwise the count is no
  // news.
  const isDraining = node.drained_at !== null && node.connections !== connections;
  const isSame = node.version === version && node.connection_log === connection_log;
  const isKnown = isSame && !isDraining;
  if (isKnown && node.live === 1 && node.applied_revision === revision) return;
  await nodesChanged(tx);
  await refreshApplied(tx, node.server_id);
}

/**
 * Errors: 409 for another epoch or a revision that does not exist: the node must take a new
 * snapshot.
 */
export async function requireHistory(db: Reader, epoch: string, revision: number): Promise<void> {
  const now = await networkPosition(db);
  if (epoch === now.epoch && revision <= now.revision) return;
  throw conflict(
    'The history of changes is another one now (a backup was restored, or the database failed over); take a new snapshot.',
    { code: 'snapshot_needed' },
  );
}

/**
 * Nodes that acknowledged nothing for `offline_seconds` are offline from now on, and no longer
 * delay their server's entries; a batch at a time. Returns how many.
 */
export async function sweepOfflineNodes(
  tx: Transaction,
  offline_seconds: number,
  maxNodes: number,
): Promise<number> {
  const nodes = await store.silent(tx, tx.now - offline_seconds, maxNodes);
  for (const node of nodes) await store.update(tx, { ...node, live: 0 });
  if (nodes.length > 0) await nodesChanged(tx);
  const servers = new Set(nodes.map((node) => node.server_id));
  for (const server_id of servers) await refreshApplied(tx, server_id);
  return nodes.length;
}

const maxRevisionsToSearch = 20_000;

/**
 * Updates the applied revision of a server: the lowest of its live nodes, or of all nodes if none
 * is live (they serve with what they had). Bumps the version of accounts whose entries change
 * status by it.
 */
async function refreshApplied(tx: Transaction, server_id: number): Promise<void> {
  const server = await findServer(tx, server_id);
  if (!server) return;
  const nodes = await store.nodesOfServer(tx, server_id);
  const live = nodes.filter((node) => node.live === 1);
  const countedNodes = live.length > 0 ? live : nodes;
  const applied =
    countedNodes.length > 0 ? Math.min(...countedNodes.map((node) => node.applied_revision)) : 0;
  if (applied === server.applied_revision) return;
  await setAppliedRevision(tx, server_id, applied);
  const from = Math.min(applied, server.applied_revision);
  const to = Math.max(applied, server.applied_revision);
  // If the log was pruned, it is unknown whose entries changed: then all accounts on the server
  // count.
  const oldest = await log.oldestChange(tx);
  const isLogged = oldest !== undefined && from + 1 >= oldest;
  const accounts =
    isLogged && to - from <= maxRevisionsToSearch
      ? await log.accountsChanged(tx, server_id, from, to)
      : await accountsOfServer(tx, server_id);
  for (const { account_id } of accounts) await bumpVersion(tx, account_id, 'authlist', 'overrides');
}

// ---- Reporting ----------------------------------------------------------------------------

/**
 * See `countReport`. Errors: 401 for a revoked node; 400 for a row that is too old; 503 when too
 * much of the node's usage is held already.
 */
export async function reportUsage(
  tx: Transaction,
  node_id: number,
  report: UsageBatch,
  maxBytesPerSecond: number,
): Promise<UsageOutcome> {
  const outcome = await countReport(tx, await requireNode(tx, node_id), report, maxBytesPerSecond);
  if (outcome.isHeldNow) await nodesChanged(tx);
  const { isHeldNow: _, ...response } = outcome;
  return response;
}

/** Counts a held batch after all; see `acceptHeld`. Returns its bytes. Errors: 404. */
export async function acceptHeldUsage(tx: Transaction, id: number): Promise<number> {
  await nodesChanged(tx);
  return acceptHeld(tx, id);
}

/** Discards a held batch; it is never billed. Errors: 404. */
export async function discardHeldUsage(tx: Transaction, id: number): Promise<void> {
  await nodesChanged(tx);
  return discardHeld(tx, id);
}

export interface NodeChanges {
  /** How many bytes per second it may report; null: as the setting says. */
  max_bytes_per_second?: number | null;
  /** Whether it takes no new connections; open ones continue. */
  drained?: boolean;
}

/**
 * Changes a node. `stale_seconds`: the greatest age of a valid report on an exit IP. Errors: 404.
 */
export async function changeNode(
  tx: Transaction,
  id: number,
  { max_bytes_per_second, drained }: NodeChanges,
  stale_seconds: number,
): Promise<void> {
  const node = await store.findById(tx, id);
  if (!node || node.revoked_at !== null) throw notFound(`There is no node ${id}.`);
  if (drained !== undefined) await setDrained(tx, node, drained, stale_seconds);
  if (max_bytes_per_second !== undefined) await setRate(tx, node, max_bytes_per_second);
  await nodesChanged(tx);
}

/** Drains nodes, or ends that, all or none. Errors: 404 naming the first missing one. */
export async function drainNodes(
  tx: Transaction,
  ids: readonly number[],
  drained: boolean,
  stale_seconds: number,
): Promise<void> {
  const nodes = [];
  for (const [at, id] of ids.entries()) {
    const node = await store.findById(tx, id);
    if (!node || node.revoked_at !== null) {
      throw notFound(`there is no node ${id}. Nothing was done.`, { field: `nodes.${at}` });
    }
    nodes.push(node);
  }
  for await (const node of inTurns(nodes)) await setDrained(tx, node, drained, stale_seconds);
  await nodesChanged(tx);
}

async function setRate(tx: Transaction, node: Node, rate: number | null): Promise<void> {
  if (node.max_bytes_per_second === rate) return;
  await store.setRate(tx, node.id, rate);
  await audit(tx, {
    account_id: null,
    action: 'node.change',
    target: `node/${node.id}`,
    before: { max_bytes_per_second: node.max_bytes_per_second },
    after: { max_bytes_per_second: rate },
  });
}

/** Replaces the list of faults that a node reports. Errors: 401 for a revoked node. */
export async function reportFaults(
  tx: Transaction,
  node_id: number,
  faults: readonly NodeFault[],
): Promise<void> {
  const node = await requireNode(tx, node_id);
  if (await replaceFaults(tx, node.id, faults)) await nodesChanged(tx);
}

/**
 * Adds the connections that a node has rejected, by reason, since its agent started. Errors: 401
 * for a revoked node.
 */
export async function reportRejections(
  tx: Transaction,
  node_id: number,
  boot: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  const node = await requireNode(tx, node_id);
  await addRejected(tx, node.id, boot, counts);
}

/** The accounts of a list that the node's server serves: a node may only report on these. */
export function servedAccounts(
  db: Reader,
  node: store.NodeRow,
  account_ids: Iterable<number>,
): Promise<ReadonlySet<number>> {
  return log.served(db, node.server_id, Array.from(new Set(account_ids)));
}
