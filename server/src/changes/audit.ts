// The audit log: each change with its actor, time and address, and the record before and after.
import { setImmediate as turn } from 'node:timers/promises';
import type { Actor, Database, Engine, Reader, Row, Transaction } from '../db/database.ts';
import { updater } from '../db/rows.ts';
import type { AuditRecord } from './audit_record.ts';
import { lastId, nextId } from './changes.ts';
import { type Erased, withoutPerson } from './pseudonym.ts';

export interface AuditEntry {
  account_id: number | null;
  /** The record and the verb: `override.create`. */
  action: string;
  /** The record that was changed, as people would name it: `authlist/12`. */
  target: string;
  /** The record before and after; never with a secret. */
  before?: unknown;
  after?: unknown;
  /** The actor that the log shows, if it is not the transaction's. */
  actor?: Actor;
}

/** Adds to the audit log, in the same transaction as the change. */
export async function audit(tx: Transaction, entry: AuditEntry): Promise<void> {
  tx.markWritten();
  const rows = await tx.group.share('audit', async () => {
    const waiting: Row[] = [];
    tx.group.beforeCommit((last) => last.insertMany('audit', waiting));
    return waiting;
  });
  const { kind, name, address, request_id } = entry.actor ?? tx.actor;
  rows.push({
    id: await nextId(tx, 0, 'audit'),
    at: tx.now,
    actor_kind: kind,
    actor: name,
    address,
    request_id,
    account_id: entry.account_id,
    action: entry.action,
    target: entry.target,
    before: entry.before === undefined ? null : JSON.stringify(entry.before),
    after: entry.after === undefined ? null : JSON.stringify(entry.after),
  });
}

/**
 * Removes records that are older than the operator's setting, a batch at a time. On PostgreSQL only
 * those that belong to no month: months are dropped as a whole (`audit_months.ts`).
 */
export async function removeOldAudit(
  tx: Transaction,
  engine: Engine,
  older_than: number,
  maxRecords: number,
): Promise<number> {
  const tables = engine === 'sqlite' ? ['audit'] : ['audit_before', 'audit_rest'];
  let all = 0;
  for (const table of tables) {
    all += await tx.run(
      `delete from ${table} where id in (select id from (select id, at from ${table} order by id limit $2) a where at < $1)`,
      [older_than, maxRecords - all],
    );
  }
  return all;
}

/**
 * How many records are read in one turn of the event loop, and how many one transaction removes.
 */
const walked = 2000;
const removed = 500;

/**
 * Replaces a person in the next batch of records of an account's log, after an id. Returns the last
 * id that was read, undefined at the end of the log.
 */
export async function pseudonymise(
  tx: Transaction,
  account_id: number,
  after: number,
  erased: Erased,
): Promise<number | undefined> {
  const records = await tx.all<AuditRecord>(
    'select * from audit where account_id = $1 and id > $2 order by id limit $3',
    [account_id, after, removed],
  );
  for (const record of records) {
    const changed = withoutPerson(record, erased);
    if (Object.keys(changed).length === 0) continue;
    await replacePerson(tx, { ...record, ...changed });
  }
  return records.length < removed ? undefined : records.at(-1)?.id;
}

const replacePerson = updater<AuditRecord>(
  'audit',
  ['id'],
  ['actor', 'address', 'target', 'before', 'after'],
);

type Log = Reader & Pick<Database, 'write'>;
const system: Actor = { kind: 'system', name: 'audit', address: '', request_id: '' };

/**
 * Keeps only the newest records of each account. An account is checked only after the log has grown
 * enough for it to exceed the bound, so accounts far below it cost nothing.
 */
export class AuditBound {
  readonly #limit: number;
  /** By account: the log id from which it can exceed the bound. */
  readonly #lookAt = new Map<number, number>();

  constructor(maxRecords: number) {
    this.#limit = maxRecords;
  }

  /**
   * Removes the excess records and returns their number. Works in slices, so that other work gets
   * its turn.
   */
  async look(db: Log, stopped = () => false): Promise<number> {
    const newest = await lastId(db, 0, 'audit');
    const first = await db.one<{ id: number | null }>('select min(id) as id from audit');
    const unknown = (first?.id ?? newest) + this.#limit;
    if (newest < unknown) return 0;
    let all = 0;
    for (let account_id = 0; ; ) {
      const next = await db.one<{ account_id: number }>(
        'select account_id from audit where account_id > $1 order by account_id limit 1',
        [account_id],
      );
      if (!next || stopped()) return all;
      account_id = next.account_id;
      if (newest < (this.#lookAt.get(account_id) ?? unknown)) continue;
      const { oldest, count } = await this.#newestOf(db, account_id, newest);
      this.#lookAt.set(account_id, newest + this.#limit - count + 1);
      if (count === this.#limit) all += await this.#removeBefore(db, account_id, oldest, stopped);
    }
  }

  /** Up to `#limit` of an account's newest records: their number, and the oldest of them. */
  async #newestOf(db: Log, account_id: number, newest: number) {
    let oldest = newest + 1;
    for (let count = 0; count < this.#limit; ) {
      const slice = Math.min(walked, this.#limit - count);
      const row = await db.one<{ oldest: number | null; count: number }>(
        `select min(id) as oldest, count(*) as count
         from (select id from audit where account_id = $1 and id < $2 order by id desc limit $3) a`,
        [account_id, oldest, slice],
      );
      oldest = row?.oldest ?? oldest;
      count += row?.count ?? 0;
      if (!row || row.count < slice) return { oldest, count };
      await turn();
    }
    return { oldest, count: this.#limit };
  }

  async #removeBefore(db: Log, account_id: number, oldest: number, stopped: () => boolean) {
    for (let all = 0; ; ) {
      const count = await db.write(system, (tx) =>
        tx.run(
          'delete from audit where id in (select id from audit where account_id = $1 and id < $2 order by id limit $3)',
          [account_id, oldest, removed],
        ),
      );
      all += count;
      if (count < removed || stopped()) return all;
      await turn();
    }
  }
}
