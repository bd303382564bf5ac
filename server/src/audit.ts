// The audit log: each change with its actor, time and address, and the record before and after.
import { nextId } from './changes.ts';
import type { Actor, Row, Transaction } from './db/database.ts';

export interface AuditEntry {
  account_id: number | null;
  /** The verb and the record in words: `override.create`. */
  action: string;
  /** The record that was changed, as a person would name it: `authlist/12`. */
  target: string;
  /** The record before and after; never a secret. */
  before?: unknown;
  after?: unknown;
  /** The actor that the log shows, where it is not the one of the transaction. */
  actor?: Actor;
}

/** Adds to the audit log, in the same transaction as the change that it tells of. */
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

/** Removes records older than the operator's setting, a batch at a time. */
export function removeOldAudit(tx: Transaction, older_than: number, most: number): Promise<number> {
  return tx.run(
    'delete from audit where id in (select id from (select id, at from audit order by id limit $2) a where at < $1)',
    [older_than, most],
  );
}

/** A record of the log as it is stored; `before` and `after` are JSON. */
export interface AuditRecord {
  id: number;
  at: number;
  actor_kind: string;
  actor: string;
  address: string;
  request_id: string;
  account_id: number | null;
  action: string;
  target: string;
  before: string | null;
  after: string | null;
}
