// The metrics of nodes, read at each scrape.
import type { Reader } from '../db/database.ts';
import type { Metrics } from '../observed/metrics.ts';
import { faultsByNode } from './faults.ts';
import { nodeLag } from './log_store.ts';
import { listNodes } from './store.ts';

const maxLagCounted = 10_000;

/** Shows each node that is not revoked: is it live, how far does it lag, which faults has it? */
export async function showNodes(db: Reader, metrics: Metrics): Promise<void> {
  const nodes = (await listNodes(db)).filter((node) => node.revoked_at === null);
  const faults = await faultsByNode(db);
  const lags = await Promise.all(
    nodes.map((node) => nodeLag(db, node.server_id, node.applied_revision, maxLagCounted)),
  );
  const { nodeLive, nodeSeen, streamLag, nodeFaults, nodeFaultsSince } = metrics;
  for (const gauge of [nodeLive, nodeSeen, streamLag, nodeFaults, nodeFaultsSince]) gauge.reset();
  for (const [at, { id, server, live, seen_at }] of nodes.entries()) {
    const node = String(id);
    nodeLive.set({ server, node }, live);
    nodeSeen.set({ server, node }, seen_at);
    streamLag.set({ server, node }, lags[at] as number);
    for (const [kind, ofKind] of Map.groupBy(faults.get(id) ?? [], ({ kind }) => kind)) {
      nodeFaults.set({ server, node, kind }, ofKind.length);
      nodeFaultsSince.set({ server, node, kind }, Math.min(...ofKind.map(({ since }) => since)));
    }
  }
}
