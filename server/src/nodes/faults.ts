// Faults of nodes: the problems that each node reports, for operators and for metrics.
import type { Reader, Transaction } from '../db/database.ts';
import { heldByNode } from './held_store.ts';
import type { NodeFault } from './store.ts';
import * as store from './store.ts';

export type { NodeFault } from './store.ts';

/** The kind of fault that the control plane itself adds to a node. */
const usageHeld = 'usage_held';

const nameOf = ({ kind, subject }: NodeFault) => `${kind} ${subject ?? ''}`;

/** Replaces the faults of a node. Returns whether they changed. */
export async function replaceFaults(
  tx: Transaction,
  node_id: number,
  faults: readonly NodeFault[],
): Promise<boolean> {
  const before = (await store.faultsOf(tx, node_id)).map(
    ({ node_id: _, number: __, ...rest }) => rest,
  );
  const sinceOf = new Map(before.map((fault) => [nameOf(fault), fault.since]));
  // If the node's clock is ahead, a fault began when it was first reported.
  const nodeFaults = faults.flatMap((fault) => {
    const { kind, subject, message, since } = fault;
    if (kind === usageHeld) return [];
    const at = since > tx.now ? Math.min(sinceOf.get(nameOf(fault)) ?? tx.now, tx.now) : since;
    return [{ kind, subject, message, since: at }];
  });
  if (JSON.stringify(before) === JSON.stringify(nodeFaults)) return false;
  await store.removeFaults(tx, node_id);
  await store.insertFaults(
    tx,
    nodeFaults.map((fault, number) => ({ node_id, number, ...fault })),
  );
  return true;
}

/**
 * The faults of each node that is not revoked, in the node's order, after those that the control
 * plane adds.
 */
export async function faultsByNode(db: Reader): Promise<Map<number, NodeFault[]>> {
  const [rows, sums] = await Promise.all([store.allFaults(db), heldByNode(db)]);
  const byNode = new Map<number, NodeFault[]>();
  for (const { node_id, batches, bytes, since } of sums) {
    const message = `${batches === 1 ? 'One batch' : `${batches} batches`} of usage with ${bytes} bytes in all: more than its machine can have carried. Held, not billed: accept or discard it (exitward held-usage).`;
    byNode.set(node_id, [{ kind: usageHeld, subject: null, message, since }]);
  }
  for (const { node_id, number: _, ...fault } of rows) {
    byNode.set(node_id, [...(byNode.get(node_id) ?? []), fault]);
  }
  return byNode;
}
