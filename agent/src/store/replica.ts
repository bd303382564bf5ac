// Reads the policy that the store keeps on disk, and follows it. Any process that may read the folder can.
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import { Policy } from '../policy/policy.ts';
import { BadRecord, checkRecord, type NodeRecord, type Position } from '../policy/records.ts';
import { type Change, ChangesReader } from './changes_file.ts';
import { changesPath, isMissing, newestGeneration, snapshotPath } from './generations.ts';
import { BadSnapshot, readSnapshot } from './snapshot_file.ts';
import { Unstored, type UnstoredChange } from './unstored.ts';

/** The accounts that something changed for; `all` when it was the server, the keys, or everything. */
export type Touched = ReadonlySet<number> | 'all';

/** A policy, and the file in which it goes on. */
export interface State {
  policy: Policy;
  position: Position;
  changes: ChangesReader;
  /** The revision up to which it was read from disk: before that of the position when memory led on from there. */
  read: number;
  /** The changes that were applied from memory and not yet read from disk, in their order. */
  ahead: UnstoredChange[];
  /** Authlists and overrides are left out. */
  without_lists: boolean;
}

/** The records of both kinds of lists, as lines begin with them. */
const ofLists = /^\{"kind":"(?:authlist|override)/;

/** With much to apply, others get their turn at least so often. */
const longestTurn_ms = 5;

export class Replica {
  readonly #dir: string;
  readonly #unstored: Unstored;
  readonly #without_lists: boolean;
  readonly #none = new Policy();
  #state: State | undefined;
  /** A snapshot that was found damaged, or cannot be applied, is not read again; the store replaces it. */
  #damaged: number | undefined;
  /** A load takes a while: one at a time, in their order. */
  readonly #queue = new SerialQueue();

  /**
   * `unstored`: the changes that the store could not write. `without_lists`: for those who decide without authlists and
   * overrides, by far the most of all records.
   */
  constructor(dir: string, unstored = new Unstored(), without_lists = false) {
    this.#dir = dir;
    this.#unstored = unstored;
    this.#without_lists = without_lists;
  }

  /** The policy to decide by, an empty one until there is any. A reload makes another object: do not keep it. */
  get policy(): Policy {
    return this.#state?.policy ?? this.#none;
  }

  /** The position of the policy; undefined until there is any. */
  get position(): Position | undefined {
    return this.#state?.position;
  }

  /** Up to where the disk told it. */
  get read(): Position | undefined {
    return this.#state && { epoch: this.#state.position.epoch, revision: this.#state.read };
  }

  /**
   * Reads everything from disk, beside the policy of until now, and then takes its place. Without
   * anything whole on disk the old one stays. Errors: those of the disk.
   */
  load(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#load();
    });
  }

  /**
   * Applies all that the store wrote since, or holds, and returns the accounts that this changed; loads while there
   * is nothing, and again when the store took another snapshot. Errors: those of the disk.
   *
   * If `position` then stays behind the store's, the files are damaged, or an older version wrote
   * a record that cannot be applied: the store needs a new snapshot.
   */
  catchUp(): Promise<Touched> {
    return this.#queue.run(async () => {
      const state = this.#state;
      if (!state) return (await this.#load()) ? 'all' : new Set();
      const touched = { accounts: new Set<number>(), all: false };
      for (;;) {
        const { changes } = state;
        // Asked before reading: to a file that was removed nothing is added.
        const removed = changes.isRemoved();
        const onRecord = (record: NodeRecord) => {
          if ('account' in record) touched.accounts.add(record.account);
          else touched.all = true;
        };
        const ahead = [...state.ahead];
        await followChanges(this.#dir, state, onRecord);
        // A copy of the store's list still has them.
        this.#unstored.forget(ahead.slice(0, ahead.length - state.ahead.length));
        this.#applyUnstored(state, onRecord);
        if (state.changes !== changes) continue;
        if (removed && (await this.#load())) return 'all';
        return touched.all ? 'all' : touched.accounts;
      }
    });
  }

  /** Lets go of the file. */
  close(): void {
    this.#state?.changes.close();
    this.#state = undefined;
  }

  #applyUnstored(state: State, onRecord?: (record: NodeRecord) => void): void {
    const changes = this.#unstored.following(state.position);
    for (const change of changes.slice(appliedOf(changes, state.ahead))) {
      if (!applyChange(state, change, onRecord)) return;
      state.ahead.push(change);
    }
  }

  async #load(): Promise<boolean> {
    for (;;) {
      const generation = newestGeneration(this.#dir);
      if (generation === undefined || generation === this.#damaged) return false;
      let state: State | undefined;
      try {
        state = await openState(this.#dir, generation, this.#without_lists);
        await followChanges(this.#dir, state);
        this.#applyUnstored(state);
        this.#state?.changes.close();
        this.#state = state;
        return true;
      } catch (error) {
        state?.changes.close();
        if (error instanceof BadSnapshot || error instanceof BadRecord) this.#damaged = generation;
        // Removed since it was listed: then there is a newer one.
        else if (!isMissing(error)) throw error;
      }
    }
  }
}

/** The policy of a snapshot. Errors: BadSnapshot; BadRecord; ENOENT when the generation is no longer there. */
export async function openState(
  dir: string,
  generation: number,
  without_lists = false,
): Promise<State> {
  // Both are opened first: an open file can be read after it was removed.
  const changes = new ChangesReader(changesPath(dir, generation));
  let snapshot: FileHandle | undefined;
  try {
    snapshot = await open(snapshotPath(dir, generation));
    const policy = new Policy();
    const { epoch, revision, heard_at } = await readSnapshot(snapshot, (line) => {
      if (!without_lists || !ofLists.test(line)) policy.apply(checkRecord(JSON.parse(line)));
    });
    policy.heard_at = heard_at;
    const position = { epoch, revision };
    return { policy, position, changes, read: revision, ahead: [], without_lists };
  } catch (error) {
    changes.close();
    throw error;
  } finally {
    await snapshot?.close();
  }
}

/**
 * Applies the changes that are there, from file to file, and stops before those of the generation
 * `until`: answers whether it came so far. One that cannot be applied ends the file, as damage does.
 */
export async function followChanges(
  dir: string,
  state: State,
  onRecord?: (record: NodeRecord) => void,
  until?: number,
): Promise<boolean> {
  let turn = performance.now();
  for (;;) {
    const { offset } = state.changes;
    const line = state.changes.next();
    if (!line) return false;
    if ('next' in line) {
      if (line.next === until) return true;
      const changes = openChanges(changesPath(dir, line.next));
      if (!changes) {
        state.changes.seek(offset);
        return false;
      }
      state.changes.close();
      state.changes = changes;
      continue;
    }
    // Memory led on from the file: applied once more, a change would undo those after it. An earlier agent's are not written,
    // but come again from the control plane, cut into other pieces and with the records as they are by then: they are applied.
    const isKnown = passes(state.ahead, line);
    if (!isKnown && !applyChange(state, line, onRecord)) {
      // A change that was not applied must not be passed over: it would be acknowledged with the next.
      state.changes.seek(offset);
      return false;
    }
    state.read = line.revision;
    if (performance.now() - turn > longestTurn_ms) {
      await setImmediate();
      turn = performance.now();
    }
  }
}

function isSame(one: Change, other: Change): boolean {
  return (
    one.revision === other.revision && one.heard_at === other.heard_at && one.json === other.json
  );
}

/**
 * How many of the changes that memory holds were applied: up to the last one ahead. By their content, since an agent tells all that it
 * holds again when a decider connects again; of several alike it is the one with most before it that was applied, too.
 */
function appliedOf(changes: readonly Change[], ahead: readonly Change[]): number {
  let [applied, longest] = [0, 0];
  for (const end of changes.keys()) {
    let length = 0;
    for (; length <= end && length < ahead.length; length += 1) {
      const [one, other] = [changes[end - length], ahead.at(-1 - length)];
      if (!one || !other || !isSame(one, other)) break;
    }
    if (length > longest) [applied, longest] = [end + 1, length];
  }
  return applied;
}

/** Whether a line was applied from memory; takes that change off, and those that come no more. */
function passes(ahead: UnstoredChange[], { revision, heard_at, json }: Change): boolean {
  while (ahead[0] && ahead[0].revision < revision) ahead.shift();
  for (const [at, change] of ahead.entries()) {
    if (change.revision > revision) return false;
    if (!isSame(change, { revision, heard_at, json })) continue;
    ahead.splice(0, at + 1);
    return true;
  }
  return false;
}

/** False, and nothing is done: not all of its records can be applied. */
function applyChange(
  state: State,
  { revision, heard_at, json }: Change,
  onRecord?: (record: NodeRecord) => void,
): boolean {
  const records = readRecords(json);
  if (!records) return false;
  for (const record of records) {
    if (!state.without_lists || !isOfLists(record)) state.policy.apply(record);
    onRecord?.(record);
  }
  state.policy.heard_at = heard_at;
  state.position = { epoch: state.position.epoch, revision };
  return true;
}

function isOfLists({ kind }: NodeRecord): boolean {
  return kind.startsWith('authlist') || kind.startsWith('override');
}

/** Undefined when not all of them can be applied. */
function readRecords(json: string): NodeRecord[] | undefined {
  try {
    return (JSON.parse(json) as unknown[]).map(checkRecord);
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

function openChanges(path: string): ChangesReader | undefined {
  try {
    return new ChangesReader(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** A policy of nothing but the server, by the first lines of the snapshot on disk; undefined without. */
export async function readServer(dir: string): Promise<Policy | undefined> {
  const generation = newestGeneration(dir);
  if (generation === undefined) return undefined;
  const file = createReadStream(snapshotPath(dir, generation));
  try {
    for await (const line of createInterface({ input: file })) {
      const record = JSON.parse(line) as NodeRecord;
      if (record.kind !== 'server' && record.kind !== 'keys') return undefined;
      if (record.kind !== 'server') continue;
      const policy = new Policy();
      policy.apply(record);
      return policy;
    }
  } catch {
    // A file that is gone, or is none, is for the replica to evaluate.
  } finally {
    file.destroy();
  }
  return undefined;
}
