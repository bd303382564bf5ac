// The SQL of refusals: which connections nodes refused lately.
import type { Reader, Row, Transaction, Value } from '../db/database.ts';
import { paddedTexts } from '../db/one_of.ts';

/** The reason for wrong credentials, which may name any user. */
export const wrongCredentials = 'bad_token';

export interface RefusalRow {
  id: number;
  node_id: number;
  /** Epoch seconds, a whole minute. */
  at: number;
  /**
   * The account of the named user, else the one that lists the address or did so lately. 0: none.
   */
  account_id: number;
  /** 0: no user is named. */
  user_id: number;
  reason: string;
  source: string;
  service: string;
  /** 0 for a VPN. */
  port: number;
  count: number;
  /** The address or /64 that guessed at a password of the user; empty in all other rows. */
  network: string;
}

export type ListedRefusal = RefusalRow & { node: string; server_id: number; server: string };

export function addRefusals(tx: Transaction, rows: readonly RefusalRow[]): Promise<void> {
  return tx.insertMany(
    'refusals',
    rows.map((row): Row => ({ ...row })),
    `on conflict (at, node_id, source, account_id, user_id, reason, service, port)
     do update set count = refusals.count + excluded.count`,
  );
}

/**
 * Stores that a report was received. False: it, or a later one of this run of the agent, was
 * before.
 */
export async function noteReport(
  tx: Transaction,
  node_id: number,
  { boot, seq }: { boot: string; seq: number },
): Promise<boolean> {
  const rows = await tx.put(
    `insert into refusal_reports (node_id, boot, seq) values ($1, $2, $3)
     on conflict (node_id) do update set boot = excluded.boot, seq = excluded.seq
       where refusal_reports.boot <> excluded.boot or refusal_reports.seq < excluded.seq
     returning node_id`,
    [node_id, boot, seq],
  );
  return rows.length > 0;
}

/** The refusals of a node that share a maximum: all, those without an account, or some of one. */
export type Bounded = 'all' | 'unnamed' | { account_id: number; isGuess: boolean };

/** Deletes all but the newest `max` of these. */
export function removeOlderThanNewest(
  tx: Transaction,
  node_id: number,
  bounded: Bounded,
  max: number,
): Promise<number> {
  const values = [node_id];
  let whose = 'node_id = $1';
  if (bounded === 'unnamed') whose += ' and account_id = 0';
  else if (bounded !== 'all') {
    values.push(bounded.account_id);
    whose += ` and account_id = $2 and reason ${bounded.isGuess ? '=' : '<>'} '${wrongCredentials}'`;
  }
  return tx.run(
    `delete from refusals where ${whose} and id <=
       (select id from refusals where ${whose} order by id desc limit 1 offset ${max})`,
    values,
  );
}

export function removeOfNode(tx: Transaction, node_id: number): Promise<number> {
  return tx.run('delete from refusals where node_id = $1', [node_id]);
}

export function removeBefore(tx: Transaction, time: number, maxRows: number): Promise<number> {
  return tx.run(
    `delete from refusals where id in
       (select id from refusals where at <= $1 order by at limit $2)`,
    [time, maxRows],
  );
}

/** Those of an account that name a user, or none. */
export function removeOfUser(tx: Transaction, account_id: number, user_id: number) {
  return tx.run('delete from refusals where account_id = $1 and user_id in (0, $2)', [
    account_id,
    user_id,
  ]);
}

/** Those from these addresses that concern no account. */
export function removeFrom(tx: Transaction, sources: readonly string[]) {
  const texts = paddedTexts(sources);
  const places = texts.map((_, at) => `$${at + 1}`);
  return tx.run(`delete from refusals where source in (${places}) and account_id = 0`, texts);
}

/** Conditions in SQL on a refusal `r` and its node `n`, and their values. */
export interface Conditions {
  sql: string[];
  values: Value[];
}

/** The newest below an id, and not below another. */
export function refusalsBelow(
  db: Reader,
  { sql, values }: Conditions,
  below: number,
  from: number,
  maxRows: number,
): Promise<ListedRefusal[]> {
  const places = [below, from, maxRows].map((_, at) => `$${values.length + at + 1}`);
  const conditions = [...sql, `r.id < ${places[0]}`, `r.id >= ${places[1]}`];
  // The names are joined to the rows of the page alone.
  return db.all(
    `select r.*, n.name as node, n.server_id, s.name as server from
       (select * from refusals r where ${conditions.join(' and ')}
        order by r.id desc limit ${places[2]}) r
     join nodes n on n.id = r.node_id join servers s on s.id = n.server_id order by r.id desc`,
    [...values, below, from, maxRows],
  );
}

/** The last of so many rows below an id; undefined: there are fewer. */
export async function lastOfSlice(
  db: Reader,
  { sql, values }: Conditions,
  below: number,
  rows: number,
): Promise<{ id: number; at: number } | undefined> {
  const conditions = [...sql, `r.id < $${values.length + 1}`];
  return db.one(
    `select id, at from refusals where id =
       (select r.id from refusals r where ${conditions.join(' and ')}
        order by r.id desc limit 1 offset ${rows - 1})`,
    [...values, below],
  );
}
