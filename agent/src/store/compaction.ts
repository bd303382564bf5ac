// Folds a snapshot and the changes since into a new snapshot. It runs in a thread, so the agent
// neither waits nor needs memory for a second policy.
import { Worker, workerData } from 'node:worker_threads';
import { newestGeneration } from './generations.ts';
import { followChanges, openState } from './replica.ts';
import { SnapshotWriter } from './snapshot_file.ts';

export interface Compaction {
  dir: string;
  /** The snapshot covers everything before the changes of this generation. */
  until: number;
  /** Where to write it; complete once `compact` has resolved. */
  path: string;
  group: number | undefined;
}

const pieceRecords = 500;
/** Distinguishes the data of our own thread from that of other threads. */
const task = 'exitward_compaction';

/**
 * Resolves when the snapshot is complete and on disk. Errors: those of the thread; AbortError if it
 * was aborted.
 */
export function compact(compaction: Compaction, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  // This file is also the program of the thread.
  const worker = new Worker(new URL(import.meta.url), {
    name: 'compaction',
    workerData: { [task]: compaction },
  });
  const giveUp = () => void worker.terminate();
  signal.addEventListener('abort', giveUp);
  return new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    const settle = (code: number) => {
      signal.removeEventListener('abort', giveUp);
      if (signal.aborted) reject(signal.reason);
      else if (code === 0) resolve();
      else reject(new Error(`the compaction of the policy ended with exit code ${code}`));
    };
    worker.once('exit', settle);
  });
}

async function run({ dir, until, path, group }: Compaction): Promise<void> {
  const generation = newestGeneration(dir);
  if (generation === undefined) throw new Error('there is no policy to compact');
  const state = await openState(dir, generation);
  const isWhole = await followChanges(dir, state, undefined, until);
  state.changes.close();
  // A snapshot that lacks an unreadable change would look complete.
  if (!isWhole) throw new Error('the changes of the policy are damaged on disk');
  const { policy, position } = state;
  const snapshot = await SnapshotWriter.create(path, group);
  let lines: string[] = [];
  const write = async () => {
    await snapshot.write(lines.join(''));
    lines = [];
  };
  for (const record of policy.records()) {
    lines.push(`${JSON.stringify(record)}\n`);
    if (lines.length === pieceRecords) await write();
  }
  await write();
  await snapshot.finish({ ...position, heard_at: policy.heard_at });
}

const compaction = (workerData as Record<string, Compaction> | null)?.[task];
if (compaction) await run(compaction);
