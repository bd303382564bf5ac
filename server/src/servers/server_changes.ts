// A change of a server or of one of its exit IPs: notifies nodes and pages, and records it in the
// audit log.
import { audit } from '../changes/audit.ts';
import { lastId, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import type { ServerRow } from './store.ts';

/** Notifies the server's nodes, and every page that shows the network or its inventory. */
export async function serverChanged(tx: Transaction, server_id: number): Promise<void> {
  await nextId(tx, 0, 'inventory');
  await recordChange(tx, { kind: 'server', account_id: null, server_id });
}

/** A number that rises with each change of a server or an exit IP. */
export function inventoryVersion(db: Reader): Promise<number> {
  return lastId(db, 0, 'inventory');
}

/**
 * Records a change of a server, or of its exit IP that `target` names: notifies nodes and pages,
 * and audits it.
 */
export async function recordServerChange(
  tx: Transaction,
  server: ServerRow,
  action: string,
  details: { target?: string; before?: unknown; after?: unknown },
): Promise<void> {
  await serverChanged(tx, server.id);
  await audit(tx, { account_id: null, action, target: server.name, ...details });
}
