// Many changes in the log that nodes follow, without the records that changed.
import { type ChangeKind, networkPosition } from '../src/changes/changes.ts';
import type { Transaction } from '../src/db/database.ts';

interface LoggedKind {
  kind: ChangeKind;
  account_id?: number;
  record_id?: number;
}

/** Logs so many changes of a server, or of what it is said; returns the last revision. */
export async function logChanges(
  tx: Transaction,
  server_id: number,
  count: number,
  { kind, account_id, record_id }: LoggedKind = { kind: 'server' },
): Promise<number> {
  const { revision } = await networkPosition(tx);
  for (let at = 0; at < count; at += 1000) {
    await tx.insertMany(
      'changes',
      Array.from({ length: Math.min(1000, count - at) }, (_, index) => ({
        revision: revision + at + index + 1,
        account_id: account_id ?? null,
        server_id,
        kind,
        record_id: record_id ?? null,
        at: tx.now,
      })),
    );
  }
  await tx.run('update network set revision = $1', [revision + count]);
  tx.markWritten();
  return revision + count;
}
