// Draining: before work on its machine a node takes no new connections, while open ones continue.
import { audit } from '../changes/audit.ts';
import { recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { refreshHealth } from './health.ts';
import * as store from './store.ts';

/**
 * Drains a node, or ends that. The record of the server names the drained nodes, and so notifies
 * them. `stale_seconds`: the greatest age of a valid report on an exit IP.
 */
export async function setDrained(
  tx: Transaction,
  node: store.NodeRow,
  drained: boolean,
  stale_seconds: number,
): Promise<void> {
  if ((node.drained_at !== null) === drained) return;
  await store.setDrained(tx, node.id, drained ? tx.now : null);
  await recordChange(tx, { kind: 'server', account_id: null, server_id: node.server_id });
  await refreshHealth(tx, node.server_id, stale_seconds);
  await audit(tx, {
    account_id: null,
    action: drained ? 'node.drain' : 'node.undrain',
    target: `node/${node.id}`,
    after: { name: node.name },
  });
}
