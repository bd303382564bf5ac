// For tests of the policy on disk: snapshots as the control plane sends them, and the policy that
// must result.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Position } from '../../kit/src/node_interface.ts';
import { Policy } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';

export const epoch = '618e5642-1011-4b80-a662-5093b4533f07';

/** The content of one call of the store. */
export type StoreCall =
  | { replaced: Position; heard_at: number; records: NodeRecord[] }
  | { revision: number; heard_at: number; records: NodeRecord[] };

/** An answer to GET /node/snapshot. */
export function snapshotText({ epoch, revision }: Position, records: NodeRecord[]): string {
  const lines = [
    { kind: 'snapshot', epoch, revision },
    ...records,
    { kind: 'end', records: records.length },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** The same bytes in pieces of this length. */
export async function* inPieces(text: string, length = 1000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

/**
 * The expected policy, in the simplest way: everything since the last snapshot, applied in memory.
 */
export function stateAfter(changes: readonly StoreCall[]): unknown {
  const policy = new Policy();
  for (const change of changes.slice(changes.findLastIndex((change) => 'replaced' in change))) {
    policy.heard_at = change.heard_at;
    for (const record of change.records) policy.apply(record);
  }
  return stateOf(policy);
}

/** Everything that a policy can show, for comparisons. */
export function stateOf(policy: Policy): unknown {
  const entries = [...policy.accounts.values()].flatMap(({ authlist }) => [...authlist.values()]);
  const claims = entries.flatMap(({ ip }) =>
    ['default', 'high'].map((scheme) => {
      const entry = policy.findEntry(scheme, ip);
      return [scheme, ip, entry && [entry.account.id, entry.id]].join();
    }),
  );
  const hostnames = [...policy.accounts.values()].flatMap(({ id, overridesByHostname }) =>
    [...overridesByHostname].map(([hostname, override]) => [id, hostname, override.id].join()),
  );
  return {
    heard_at: policy.heard_at,
    listeners: [...policy.listeners.keys()],
    records: [...policy.records()].map((record) => JSON.stringify(record)).toSorted(),
    claims: [...new Set(claims)].toSorted(),
    hostnames: hostnames.toSorted(),
  };
}

/** The policy that a process reads from disk when it starts. */
export async function readStored(
  dir: string,
): Promise<{ position: Position | undefined; state: unknown }> {
  const replica = new Replica(dir);
  await replica.load();
  const stored = { position: replica.position, state: stateOf(replica.policy) };
  replica.close();
  return stored;
}

/** A folder for a policy, and a function that removes it. */
export function createFolder(): { dir: string; remove: () => void } {
  const parent = mkdtempSync(join(tmpdir(), 'exitward-policy-'));
  return {
    dir: join(parent, 'policy'),
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}
