// The counts of the Squids for the metrics: their deciders' decisions, open connections, and which
// of them run.
import type { EngineCounts } from '../../engine.ts';
import { DecisionTally } from '../../policy/decision_tally.ts';
import type { Socket } from '../sockets.ts';
import type { Worker } from './worker.ts';

/** `sockets`: the last list of connections. `starts`: by Squid, this agent's starts of it. */
export function countsOf(
  workers: readonly Worker[],
  sockets: readonly Socket[],
  starts: ReadonlyMap<number, number>,
  port_shift: number,
): EngineCounts {
  const decisions = new DecisionTally();
  for (const { link } of workers) decisions.add(link.decisions.counts);
  const openConnections = new Map<number, number>();
  for (const { port } of sockets) {
    const publicPort = port - port_shift;
    openConnections.set(publicPort, (openConnections.get(publicPort) ?? 0) + 1);
  }
  return {
    decisions: decisions.counts,
    open_connections: openConnections,
    policy: workers.findLast(({ link }) => link.policy_size)?.link.policy_size,
    squids: workers
      .filter(({ listeners }) => listeners?.length !== 0)
      .map(({ squid }) => ({
        number: squid.number,
        up: squid.findProcess() !== undefined,
        starts: starts.get(squid.number) ?? 0,
      })),
    deciders: workers.reduce((sum, { link }) => sum + link.deciders, 0),
  };
}
