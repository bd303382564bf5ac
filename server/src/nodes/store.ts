// The SQL of nodes: invitations, nodes, questions to them, and the health and faults that they
// report.
import type { Reader, Transaction } from '../db/database.ts';
import { type OfContract, ofContract } from '../db/of_contract.ts';
import { idCondition } from '../db/one_of.ts';
import { updater } from '../db/rows.ts';
import type { Hashes } from '../keys/secrets.ts';

/** How a node keeps who used which exit. */
export const connectionLogModes = ['off', 'sources', 'destinations'] as const;
export type ConnectionLogMode = (typeof connectionLogModes)[number];

export interface NodeRow {
  id: number;
  server_id: number;
  name: string;
  hash: string;
  version: string;
  /** Every change up to this revision is applied. */
  applied_revision: number;
  /** 1 while the node acknowledges regularly; 0 once it is revoked. */
  live: number;
  joined_at: number;
  seen_at: number;
  revoked_at: number | null;
  /** Epoch seconds, with a fraction: see `allowance.ts`. */
  reported_until: number;
  /** The most that its machine carries, in both directions; null: as the setting says. */
  max_bytes_per_second: number | null;
  /** Since when it takes no new connections; null: it takes them. */
  drained_at: number | null;
  /**
   * Open requests and tunnels of clients at its last acknowledgement; null: its agent does not
   * report them.
   */
  connections: number | null;
  /** How its agent logs connections, as it said last; null: it does not say. */
  connection_log: ConnectionLogMode | null;
  /**
   * When the certificate of its VPN expires, as last reported; null: it has no VPN or certificate,
   * or its agent does not report it.
   */
  certificate_expiry: number | null;
}

// ---- Invitations --------------------------------------------------------------------------

export function insertInvite(
  tx: Transaction,
  row: { hash: string; server_id: number; expiry: number; used_at: null },
): Promise<void> {
  return tx.insertMany('node_invites', [row]);
}

/** Uses up an invitation and returns its server; undefined when it is unknown, used or expired. */
export async function useInvite(tx: Transaction, hashes: Hashes): Promise<number | undefined> {
  const rows = await tx.put<{ server_id: number }>(
    `update node_invites set used_at = $4 where hash in ($1, $2, $3) and used_at is null and expiry > $4
     returning server_id`,
    [...hashes, tx.now],
  );
  return rows[0]?.server_id;
}

/**
 * An invitation as the operator sees it: the start of its hash identifies it, and reveals nothing
 * about the code.
 */
export interface InviteRow {
  id: string;
  server: string;
  expiry: number;
}

/** The invitations that can still be used, by their expiry. */
export function listInvites(db: Reader, now: number): Promise<InviteRow[]> {
  return db.all(
    `select substr(i.hash, 1, 12) as id, s.name as server, i.expiry
     from node_invites i join servers s on s.id = i.server_id
     where i.used_at is null and i.expiry > $1 order by i.expiry, i.hash`,
    [now],
  );
}

/** False when no usable invitation has this id. */
export async function removeInvite(tx: Transaction, id: string): Promise<boolean> {
  const removed = await tx.put(
    `delete from node_invites where substr(hash, 1, 12) = $1 and used_at is null and expiry > $2
     returning server_id`,
    [id, tx.now],
  );
  return removed.length > 0;
}

export function purgeInvites(tx: Transaction, over_since: number, limit: number): Promise<number> {
  return tx.run(
    'delete from node_invites where hash in (select hash from node_invites where expiry < $1 limit $2)',
    [over_since, limit],
  );
}

// ---- Nodes --------------------------------------------------------------------------------

export function insert(tx: Transaction, row: NodeRow): Promise<void> {
  return tx.insertMany('nodes', [{ ...row }]);
}

export function findByHash(db: Reader, hashes: Hashes): Promise<NodeRow | undefined> {
  return db.one('select * from nodes where hash in ($1, $2, $3) and revoked_at is null', [
    ...hashes,
  ]);
}

export function findById(db: Reader, id: number): Promise<NodeRow | undefined> {
  return db.one('select * from nodes where id = $1', [id]);
}

export function listNodes(db: Reader): Promise<Array<NodeRow & { server: string }>> {
  return db.all(
    'select n.*, s.name as server from nodes n join servers s on s.id = n.server_id order by s.name, n.id',
  );
}

/** The nodes of a server that are not revoked. */
export function nodesOfServer(db: Reader, server_id: number): Promise<NodeRow[]> {
  return db.all('select * from nodes where server_id = $1 and revoked_at is null order by id', [
    server_id,
  ]);
}

/** Whether each node that is not revoked is live, by id. */
export async function currentNodes(db: Reader): Promise<Map<number, boolean>> {
  const rows = await db.all<Pick<NodeRow, 'id' | 'live'>>(
    'select id, live from nodes where revoked_at is null',
  );
  return new Map(rows.map(({ id, live }) => [id, live === 1]));
}

const changing = [
  'version',
  'connections',
  'connection_log',
  'applied_revision',
  'live',
  'seen_at',
  'revoked_at',
] as const;

export const update = updater<NodeRow>('nodes', ['id'], changing);

export function setReportedUntil(tx: Transaction, id: number, until: number): Promise<number> {
  return tx.run('update nodes set reported_until = $2 where id = $1', [id, until]);
}

export function setRate(tx: Transaction, id: number, rate: number | null): Promise<number> {
  return tx.run('update nodes set max_bytes_per_second = $2 where id = $1', [id, rate]);
}

export function setCertificateExpiry(tx: Transaction, id: number, expiry: number | null) {
  return tx.run('update nodes set certificate_expiry = $2 where id = $1', [id, expiry]);
}

export function setDrained(tx: Transaction, id: number, at: number | null): Promise<number> {
  return tx.run('update nodes set drained_at = $2 where id = $1', [id, at]);
}

/** Live nodes whose last report was before `not_since`. */
export function silent(db: Reader, not_since: number, maxNodes: number): Promise<NodeRow[]> {
  return db.all(
    'select * from nodes where live = 1 and revoked_at is null and seen_at < $1 order by id limit $2',
    [not_since, maxNodes],
  );
}

/** The nodes of an account's servers; of one server, or of all when it is 0. */
export interface NodesOf {
  account_id: number;
  server_id: number;
}

/** Fixed, so that one prepared statement serves any number of pairs. */
const pairsPerStatement = 50;
const leastAppliedStatement = `select v.column1 as account_id, v.column2 as server_id,
    (select min(n.applied_revision) from contract_servers c join nodes n on n.server_id = c.server_id
     where c.account_id = v.column1 and (v.column2 = 0 or c.server_id = v.column2)
       and n.live = 1 and n.revoked_at is null) as revision
  from (values ${Array.from(
    { length: pairsPerStatement },
    (_, at) => `(cast($${2 * at + 1} as bigint), cast($${2 * at + 2} as bigint))`,
  )}) as v`;

/** The revision that all live nodes among these have applied; null when none is live. */
export async function leastApplied(
  db: Reader,
  wanted: readonly NodesOf[],
): Promise<Array<NodesOf & { revision: number | null }>> {
  const revisions: Array<NodesOf & { revision: number | null }> = [];
  for (let at = 0; at < wanted.length; at += pairsPerStatement) {
    const batch = wanted.slice(at, at + pairsPerStatement);
    const none = Array<NodesOf>(pairsPerStatement - batch.length).fill({
      account_id: 0,
      server_id: 0,
    });
    const values = [...batch, ...none].flatMap(({ account_id, server_id }) => [
      account_id,
      server_id,
    ]);
    const rows = await db.all<NodesOf & { revision: number | null }>(leastAppliedStatement, values);
    revisions.push(...rows.filter(({ account_id }) => account_id > 0));
  }
  return revisions;
}

/** How many live nodes there are, and how many of them have applied the revision. */
export interface Progress {
  nodes: number;
  applied: number;
}

export async function progressOf(
  db: Reader,
  { account_id, server_id }: NodesOf,
  revision: number,
): Promise<Progress> {
  const counts = await db.one<Progress>(
    `select count(*) as nodes, count(case when n.applied_revision >= $3 then 1 end) as applied
     from contract_servers c join nodes n on n.server_id = c.server_id
     where c.account_id = $1 and ($2 = 0 or c.server_id = $2) and n.live = 1 and n.revoked_at is null`,
    [account_id, server_id, revision],
  );
  return counts ?? { nodes: 0, applied: 0 };
}

export interface NodeCounts {
  server_id: number;
  nodes: number;
  /** Nodes that reported lately. */
  live_nodes: number;
}

export interface NodeStanding extends NodeCounts {
  /** Live nodes that take no new connections. */
  drained_nodes: number;
  /** Applied by all live nodes; null when none is live. */
  applied_revision: number | null;
}

/** Of all servers, or of these; servers without a node are left out. */
export function nodeCounts(db: Reader, only?: readonly number[]): Promise<NodeStanding[]> {
  const { sql, ids } = idCondition('server_id', only);
  return db.all(
    `select server_id, count(*) as nodes, sum(live) as live_nodes,
       sum(case when live = 1 and drained_at is not null then 1 else 0 end) as drained_nodes,
       min(case when live = 1 then applied_revision end) as applied_revision
     from nodes where revoked_at is null and ${sql} group by server_id`,
    ids,
  );
}

export function nodesOfContract(db: Reader, of: OfContract): Promise<NodeCounts[]> {
  const { sql, values } = ofContract(of);
  return db.all(
    `select n.server_id, count(*) as nodes, sum(n.live) as live_nodes
     from contract_servers c join nodes n on n.server_id = c.server_id
     where n.revoked_at is null and ${sql} group by n.server_id`,
    values,
  );
}

// ---- Questions ----------------------------------------------------------------------------

export interface QuestionRow {
  id: number;
  server_id: number;
  /** The question, sealed; null once it is answered. */
  sealed: string | null;
  /** JSON. */
  answer: string | null;
  /** The name of the node. */
  answered_by: string | null;
  asked_at: number;
}

export function insertQuestion(tx: Transaction, row: QuestionRow): Promise<void> {
  return tx.insertMany('node_questions', [{ ...row }]);
}

export function findQuestion(db: Reader, id: number): Promise<QuestionRow | undefined> {
  return db.one('select * from node_questions where id = $1', [id]);
}

/** False when the question is closed, or the node is not a live one of its server. */
export async function answerQuestion(
  tx: Transaction,
  node_id: number,
  id: number,
  answer: string,
): Promise<boolean> {
  const rows = await tx.put(
    `update node_questions set sealed = null, answer = $3,
       answered_by = (select name from nodes where id = $2)
     where id = $1 and answer is null
       and server_id = (select server_id from nodes where id = $2 and live = 1)
     returning id`,
    [id, node_id, answer],
  );
  return rows.length > 0;
}

export function removeQuestion(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from node_questions where id = $1', [id]);
}

export function purgeQuestions(tx: Transaction, asked_until: number, maxQuestions: number) {
  return tx.run(
    'delete from node_questions where id in (select id from node_questions where asked_at <= $1 limit $2)',
    [asked_until, maxQuestions],
  );
}

// ---- Health -------------------------------------------------------------------------------

export interface HealthReport {
  ip: string;
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  status_time: number;
}

/**
 * Stores a node's last report; false when it is older than the stored one, or the address is not
 * its server's.
 */
export async function putHealth(
  tx: Transaction,
  node: NodeRow,
  { ip, status, status_time }: HealthReport,
): Promise<boolean> {
  const rows = await tx.put(
    `insert into node_health (node_id, ip, status, status_time)
     select n.id, e.ip, $3, $4 from nodes n join exit_ips e on e.server_id = n.server_id
     where n.id = $1 and e.ip = $2
     on conflict (node_id, ip) do update set status = excluded.status, status_time = excluded.status_time
       where node_health.status_time <= excluded.status_time
     returning ip`,
    [node.id, ip, status, status_time],
  );
  return rows.length > 0;
}

export function removeHealth(tx: Transaction, node_id: number): Promise<number> {
  return tx.run('delete from node_health where node_id = $1', [node_id]);
}

/** The last reports of these nodes that came after `since`. */
export async function healthReports(
  db: Reader,
  nodes: readonly NodeRow[],
  since: number,
): Promise<HealthReport[]> {
  const all = nodes.map(({ id }) =>
    db.all<HealthReport>(
      'select ip, status, status_time from node_health where node_id = $1 and status_time > $2',
      [id, since],
    ),
  );
  return (await Promise.all(all)).flat();
}

// ---- Faults -------------------------------------------------------------------------------

export interface NodeFault {
  /** A word for programs: `disk`, `port`, … (docs/faults.md). */
  kind: string;
  /** Which of several: an address, a port, a file; null where there is only one. */
  subject: string | null;
  /** A sentence for people. */
  message: string;
  /** Epoch seconds. */
  since: number;
}

export interface FaultRow extends NodeFault {
  node_id: number;
  /** Its place in the node's list. */
  number: number;
}

export function faultsOf(db: Reader, node_id: number): Promise<FaultRow[]> {
  return db.all('select * from node_faults where node_id = $1 order by number', [node_id]);
}

export function removeFaults(tx: Transaction, node_id: number): Promise<number> {
  return tx.run('delete from node_faults where node_id = $1', [node_id]);
}

export function insertFaults(tx: Transaction, rows: FaultRow[]): Promise<void> {
  return tx.insertMany(
    'node_faults',
    rows.map((row) => ({ ...row })),
  );
}

export function allFaults(db: Reader): Promise<FaultRow[]> {
  return db.all(
    `select f.* from node_faults f join nodes n on n.id = f.node_id
     where n.revoked_at is null order by f.node_id, f.number`,
  );
}
