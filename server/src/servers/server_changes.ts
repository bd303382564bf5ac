// A change of a server or of an exit IP of it: the nodes and pages that are told of it, and its record in the audit log.
import { audit } from '../changes/audit.ts';
import { lastId, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import type { ServerRow } from './store.ts';

/** Tells the server's nodes, and every page that shows the network or its inventory alone. */
export async function serverChanged(tx: Transaction, server_id: number): Promise<void> {
  await nextId(tx, 0, 'inventory');
  await recordChange(tx, { kind: 'server', account_id: null, server_id });
}

/** A number that rises with each change of a server or an exit IP. */
export function inventoryVersion(db: Reader): Promise<number> {
  return lastId(db, 0, 'inventory');
}

/** Tells of a change of a server, or of an exit IP of it that is named in `target`, and audits it. */
export async function recordServerChange(
  tx: Transaction,
  server: ServerRow,
  action: string,
  details: { target?: string; before?: unknown; after?: unknown },
): Promise<void> {
  await serverChanged(tx, server.id);
  await audit(tx, { account_id: null, action, target: server.name, ...details });
}
