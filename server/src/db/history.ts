// Histories: a database that may lack acknowledged changes continues under a new epoch, and repeats
// no number of the lost history.
import { randomUUID } from 'node:crypto';
import { audit } from '../changes/audit.ts';
import { recordChange } from '../changes/changes.ts';
import type { Transaction } from './database.ts';

/**
 * More ids than a lost history can have given in one list. Small, since clients may store ids in 32
 * bits.
 */
export const idGap = 1_000_000;
/** More revisions than a lost history can have had. */
const revisionGap = 1_000_000_000;

/**
 * Begins a new history: its epoch is new; revisions, ids and token versions continue after a gap;
 * no node has applied anything yet, and no user is signed in. `action` names the cause in the audit
 * log.
 */
export async function beginHistory(tx: Transaction, action: string): Promise<void> {
  const before = await tx.one<{ epoch: string; id_floor: number }>(
    'select epoch, id_floor from network',
  );
  const epoch = randomUUID();
  // Twice the gap, so that few lists have come too near to the floor; only those are moved one by
  // one.
  await tx.run(
    'update network set epoch = $1, revision = revision + $2, id_floor = id_floor + $3',
    [epoch, revisionGap, 2 * idGap],
  );
  await tx.run("update counters set last = last + $1 where last > $2 and list not like '% held'", [
    idGap,
    (before?.id_floor ?? 0) + idGap,
  ]);
  // Anything that nodes have applied belongs to another history.
  await tx.run('update nodes set applied_revision = 0, live = 0');
  await tx.run('update servers set applied_revision = 0');
  // Sessions and codes that have ended since, or were used up, must not become valid again: people
  // sign in again.
  for (const table of ['sessions', 'sign_in_codes', 'sign_in_attempts']) {
    await tx.run(`delete from ${table}`);
  }
  // In the log, so that each process that reads it learns of the new epoch.
  await recordChange(tx, { kind: 'keys', account_id: null });
  await audit(tx, {
    account_id: null,
    action,
    target: 'network',
    before: { epoch: before?.epoch },
    after: { epoch },
  });
}

/**
 * Begins a new history when the last one was written by another server than `reached`: a promoted
 * standby or a restored backup may lack the last commits. Runs before everything else in its group.
 */
export async function keepHistory(tx: Transaction, reached: string): Promise<void> {
  const network = await tx.one<{ history: string | null }>('select history from network');
  if (!network || network.history === reached) return;
  await tx.run('update network set history = $1', [reached]);
  if (network.history !== null) await beginHistory(tx, 'database.failover');
}
