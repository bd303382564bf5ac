// Reads the policy that the store keeps on disk, and follows its changes, in any process that may
// read the folder.
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import type { Position } from '../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import { Policy } from '../policy/policy.ts';
import { BadRecord, checkRecord, type NodeRecord } from '../policy/records.ts';
import { type Change, ChangesReader } from './changes_file.ts';
import { changesPath, isMissing, newestGeneration, snapshotPath } from './generations.ts';
import { BadSnapshot, readSnapshot } from './snapshot_file.ts';
import { Unstored, type UnstoredChange } from './unstored.ts';

/** The accounts that a change affects; `all` if it may affect every account. */
export type Touched = ReadonlySet<number> | 'all';

/** A policy, and the file in which its changes continue. */
export interface State {
  policy: Policy;
  position: Position;
  changes: ChangesReader;
  /**
   * The revision read from disk. It is older than the position's if changes from memory follow it.
   */
  read: number;
  /** Changes applied from memory and not yet read from disk, in order. */
  ahead: UnstoredChange[];
  /** Authlists and overrides are left out. */
  without_lists: boolean;
}

/** Matches lines that begin with a record of either list. */
const ofLists = /^\{"kind":"(?:authlist|override)/;

/** While changes are applied, other work gets its turn after this long. */
const longestTurnMs = 5;

export class Replica {
  readonly #dir: string;
  readonly #unstored: Unstored;
  readonly #withoutLists: boolean;
  readonly #none = new Policy();
  #state: State | undefined;
  /** The generation of a bad snapshot. It is not read again; the store replaces it. */
  #damaged: number | undefined;
  /** A load takes a while, so they run one at a time, in order. */
  readonly #queue = new SerialQueue();

  /**
   * `unstored`: changes that the store could not write. `without_lists`: for processes that decide
   * without authlists and overrides, which are by far the most records.
   */
  constructor(dir: string, unstored = new Unstored(), without_lists = false) {
    this.#dir = dir;
    this.#unstored = unstored;
    this.#withoutLists = without_lists;
  }

  /**
   * The current policy; empty until there is one. Read it each time, since a reload replaces it.
   */
  get policy(): Policy {
    return this.#state?.policy ?? this.#none;
  }

  /** The position of the policy; undefined while there is none. */
  get position(): Position | undefined {
    return this.#state?.position;
  }

  /** The position up to which the disk was read. */
  get read(): Position | undefined {
    return this.#state && { epoch: this.#state.position.epoch, revision: this.#state.read };
  }

  /**
   * Reads everything from disk, and then replaces the policy in use. If nothing on disk is intact,
   * that policy stays. Errors: those of the disk.
   */
  load(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#load();
    });
  }

  /**
   * Applies everything that the store has written since, or holds in memory. Returns the accounts
   * that this affects. Loads if there is no policy yet, or the store took another snapshot. Errors:
   * those of the disk.
   *
   * If `position` is still older than the store's afterwards, the store needs a new snapshot: the
   * files are damaged, or an older version wrote a record that cannot be applied.
   */
  catchUp(): Promise<Touched> {
    return this.#queue.run(async () => {
      const state = this.#state;
      if (!state) return (await this.#load()) ? 'all' : new Set();
      const touched = { accounts: new Set<number>(), all: false };
      for (;;) {
        const { changes } = state;
        // Checked before reading, since nothing is added to a removed file.
        const removed = changes.isRemoved();
        const onRecord = (record: NodeRecord) => {
          if ('account' in record) touched.accounts.add(record.account);
          else touched.all = true;
        };
        const ahead = [...state.ahead];
        await followChanges(this.#dir, state, onRecord);
        // The list of the changes that are not stored may be a copy of the store's.
        this.#unstored.forget(ahead.slice(0, ahead.length - state.ahead.length));
        this.#applyUnstored(state, onRecord);
        if (state.changes !== changes) continue;
        if (removed && (await this.#load())) return 'all';
        return touched.all ? 'all' : touched.accounts;
      }
    });
  }

  /** Closes the file. */
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
        state = await openState(this.#dir, generation, this.#withoutLists);
        await followChanges(this.#dir, state);
        this.#applyUnstored(state);
        this.#state?.changes.close();
        this.#state = state;
        return true;
      } catch (error) {
        state?.changes.close();
        if (error instanceof BadSnapshot || error instanceof BadRecord) this.#damaged = generation;
        // A missing file was removed after it was listed, so there is a newer one.
        else if (!isMissing(error)) throw error;
      }
    }
  }
}

/** The policy of a snapshot. Errors: BadSnapshot; BadRecord; ENOENT if it is gone. */
export async function openState(
  dir: string,
  generation: number,
  without_lists = false,
): Promise<State> {
  // Both are opened first: an open file can be read even if it is removed.
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
 * Applies the existing changes, from file to file, up to those of the generation `until`; returns
 * whether it got that far. It stops at a damaged change, or one that cannot be applied.
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
    // Changes that were applied from memory are skipped: applied again, one would undo later ones.
    // Those that an earlier agent could not write come from the control plane again, split
    // differently and with newer records, so they are applied.
    const isKnown = passes(state.ahead, line);
    if (!isKnown && !applyChange(state, line, onRecord)) {
      // It must not be skipped, since the next acknowledgement would include it.
      state.changes.seek(offset);
      return false;
    }
    state.read = line.revision;
    if (performance.now() - turn > longestTurnMs) {
      await setImmediate();
      turn = performance.now();
    }
  }
}

function isSame(change: Change, other: Change): boolean {
  return (
    change.revision === other.revision &&
    change.heard_at === other.heard_at &&
    change.json === other.json
  );
}

/**
 * How many of the changes in memory were applied: up to the last one in `ahead`. They are compared
 * by content, since an agent sends all of them again when a decider reconnects. If several are
 * equal, the one after the longest run of applied changes counts.
 */
function appliedOf(changes: readonly Change[], ahead: readonly Change[]): number {
  let [applied, longest] = [0, 0];
  for (const end of changes.keys()) {
    let length = 0;
    for (; length <= end && length < ahead.length; length += 1) {
      const [change, other] = [changes[end - length], ahead.at(-1 - length)];
      if (!change || !other || !isSame(change, other)) break;
    }
    if (length > longest) [applied, longest] = [end + 1, length];
  }
  return applied;
}

/** Whether a line was applied from memory. Removes its change, and earlier ones, from `ahead`. */
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

/** Applies a change; returns false, and applies nothing, if any record cannot be applied. */
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

/** The records of a change; undefined if any cannot be applied. */
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

/** A policy with only the server, from the start of the snapshot; undefined if there is none. */
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
    // A missing or malformed file is reported by the replica.
  } finally {
    file.destroy();
  }
  return undefined;
}
