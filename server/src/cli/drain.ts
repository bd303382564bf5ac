// exitward node drain: a node accepts no new connections; the command can wait until none is open.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../../kit/src/cli/failures.ts';
import { notify } from '../../../kit/src/cli/output.ts';
import { systemClock } from '../clock.ts';
import { type AdminApi, NoServer } from './api.ts';
import type { Given } from './given.ts';

export interface DrainedNode {
  id: number;
  server: string;
  name: string;
  version: string;
  is_behind: boolean;
  live: boolean;
  lag: number;
  seen_at: number;
  drained_at: number | null;
  connections: number | null;
}

const patienceSeconds = 3600;
const pauseMs = 2000;

/**
 * Drains the node; with `--wait` until no connection is open. Errors: a failure when it is not
 * empty in time.
 */
export async function drain(given: Given, api: AdminApi): Promise<DrainedNode> {
  const path = given.path('/nodes/<id>');
  const node: DrainedNode = await api.patch(path, { drained: true });
  const nodes: DrainedNode[] = await api.list('/nodes');
  const others = nodes.filter(
    ({ id, server, live, drained_at }) =>
      id !== node.id && server === node.server && live && drained_at === null,
  );
  notify(
    others.length > 0
      ? `${node.server} has ${others.length} other ${others.length === 1 ? 'node that accepts' : 'nodes that accept'} connections.`
      : `${node.server} has no other node that accepts connections: its clients are asked to use another server.`,
  );
  if (node.is_behind && node.connections === null) {
    notify(`Its agent ${node.version} may not support draining: update it first.`);
  }
  if (!given.option('wait')) return node;
  const patience = Number(given.option('timeout') ?? patienceSeconds);
  return waitUntilEmpty(node, () => api.get(path), patience);
}

/**
 * Waits until the node, which has applied the drain, reports twice that nothing is open: its first
 * count may be older than the drain. A server that is offline for a while, as for an upgrade, is
 * waited for.
 */
async function waitUntilEmpty(
  drained: DrainedNode,
  read: () => Promise<DrainedNode>,
  patience: number,
): Promise<DrainedNode> {
  const until = systemClock.steady() + patience;
  let firstAt: number | undefined;
  for (let lastNotice: string | undefined; ; ) {
    const node = await read().catch((error: unknown) => {
      if (error instanceof NoServer) return undefined;
      throw error;
    });
    if (node && node.drained_at !== drained.drained_at) {
      throw new Failure(`Node ${node.id} was undrained in the meantime.`);
    }
    const isEmpty = node?.live && node.lag === 0 && node.connections === 0;
    firstAt = isEmpty ? (firstAt ?? node.seen_at) : undefined;
    if (node && firstAt !== undefined && node.seen_at > firstAt) return node;
    const state = stateOf(node);
    if (systemClock.steady() >= until) {
      throw new Failure(`Node ${drained.id} is drained, but not empty after the wait: ${state}.`);
    }
    if (state !== lastNotice) notify(`Waiting: ${state}.`);
    lastNotice = state;
    await sleep(pauseMs);
  }
}

function stateOf(node: DrainedNode | undefined): string {
  if (!node) return 'the server does not answer';
  const { live, lag, connections } = node;
  if (!live) return 'the node is offline, and reports nothing';
  if (lag > 0) return 'the node has not received the change yet';
  if (connections === null)
    return 'its agent does not say how many connections are open; update it';
  return connections === 0
    ? 'no connection is open; waiting for the node to confirm it'
    : `${connections} ${connections === 1 ? 'connection is' : 'connections are'} open`;
}
