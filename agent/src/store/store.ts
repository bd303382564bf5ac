// Stores the policy on disk, for every replica and for the next start. Only the agent has a store.
import { openSync, renameSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { Position } from '../../../kit/src/node_interface.ts';
import { isStored, type NodeRecord } from '../policy/records.ts';
import { Unreadable } from '../policy/unreadable.ts';
import { type Change, ChangesWriter, encodeChange, encodeNext, newChange } from './changes_file.ts';
import { compact } from './compaction.ts';
import {
  changesPath,
  createFile,
  createFolder,
  listGenerations,
  partialPath,
  removeGenerations,
  snapshotPath,
  syncFolder,
} from './generations.ts';
import { recover } from './recovery.ts';
import { BadSnapshot, SnapshotWriter, writeReceived } from './snapshot_file.ts';
import { Unstored, type UnstoredChange } from './unstored.ts';

export interface StoreOptions {
  /** Id of a group whose processes may read the policy too; by default this process's group. */
  group?: number | undefined;
  /**
   * Called for failures in the background. The policy still exists, but the disk needs attention.
   */
  onFault?: (error: Error) => void;
  /** Changes are folded into a new snapshot when they are larger than this and the snapshot. */
  compact_bytes?: number;
}

export class Store {
  readonly #dir: string;
  readonly #group: number | undefined;
  readonly #onFault: (error: Error) => void;
  readonly #compactBytes: number;
  #position: Position | undefined;
  #changes: ChangesWriter | undefined;
  /** The highest generation number so far. */
  #newest: number;
  #snapshotBytes = 0;
  /** Since the snapshot, or since the last attempt to fold them. */
  #changesBytes = 0;
  #compaction: { done: Promise<void>; stop: AbortController } | undefined;
  /** The records of the policy that could not be read, or only in part. */
  unreadable = new Unreadable();
  /** Changes that could not be written to disk, and why. */
  readonly unstored = new Unstored();
  #unwritten: Error | undefined;
  /**
   * Why changes on disk may not survive a power cut; set until they are in a snapshot that does.
   */
  #unsynced: Error | undefined;

  private constructor(dir: string, options: StoreOptions) {
    this.#dir = dir;
    this.#group = options.group;
    this.#onFault = options.onFault ?? ((error) => process.emitWarning(error));
    this.#compactBytes = options.compact_bytes ?? 16 * 1024 * 1024;
    const { snapshots, changes } = listGenerations(dir);
    this.#newest = Math.max(0, snapshots.at(-1) ?? 0, changes.at(-1) ?? 0);
  }

  /**
   * Opens the folder with its intact files. A damaged snapshot is reported to `onFault`, and there
   * is no position then. Errors: those of the disk.
   */
  static async open(dir: string, options: StoreOptions = {}): Promise<Store> {
    createFolder(dir, options.group);
    const store = new Store(dir, options);
    try {
      const recovered = await recover(dir, options.group);
      if (recovered) {
        const { position, generation, offset, snapshot_bytes, changes_bytes } = recovered;
        store.unreadable = recovered.unreadable;
        const fd = openSync(changesPath(dir, generation), 'r+');
        store.#changes = store.#newWriter(fd, offset);
        store.#position = position;
        store.#snapshotBytes = snapshot_bytes;
        store.#changesBytes = changes_bytes;
      }
    } catch (error) {
      if (!(error instanceof BadSnapshot)) throw error;
      store.#onFault(error);
    }
    return store;
  }

  /** The position of the policy on disk; undefined while there is no intact one. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** The position including the changes that are only in memory. */
  get held(): Position | undefined {
    const { last } = this.unstored;
    return last ? { epoch: last.epoch, revision: last.revision } : this.#position;
  }

  /** Whether all changes are on disk. If not, no change may be acknowledged. */
  get isSound(): boolean {
    return this.unstored.size === 0 && this.#unsynced === undefined;
  }

  /** The faults of the disk now, a sentence each. */
  faults(): string[] {
    const faults: string[] = [];
    if (this.unstored.size > 0) {
      faults.push(
        `Changes of the policy cannot be written to the disk: ${this.#unwritten?.message}. They are in force from memory, and not acknowledged.`,
      );
    }
    if (this.#unsynced) {
      faults.push(
        `The disk may lose changes of the policy when the power fails: ${this.#unsynced.message}. They are in force, and not acknowledged.`,
      );
    }
    return faults;
  }

  /**
   * Adds one revision with all its records; without records, only how far the history reaches.
   * Replicas see it when this has returned. It survives the process at once, and a power cut a
   * second later. Questions and watches are left out: they are not stored, and may contain tokens.
   * A change that cannot be written is held in memory until `repair` has written it; replicas get
   * it as `unstored`.
   *
   * Errors: those of the disk if memory holds too much, and nothing was added then; no policy to
   * add to; a revision of the past.
   */
  append(revision: number, heard_at: number, records: NodeRecord[]): void {
    const { position } = this.#required();
    const { epoch, revision: after } = this.held ?? position;
    if (revision < after) {
      throw new RangeError(`revision: ${revision} is before ${after}, which is stored.`);
    }
    const policyRecords = records.filter(isStored);
    this.#hold({ ...newChange(revision, heard_at, policyRecords), epoch, after });
    for (const record of policyRecords) this.unreadable.note(record);
  }

  /** Stores a change on disk, or else in memory. Errors: those of the disk if memory is full. */
  #hold(change: UnstoredChange): void {
    if (this.unstored.size === 0) {
      try {
        this.#write(change);
        return;
      } catch (error) {
        this.#unwritten = error as Error;
      }
    }
    if (this.unstored.isFull) throw this.#unwritten;
    this.unstored.add(change);
  }

  /**
   * Writes the changes that are only in memory, and secures those that a power cut might destroy.
   * Returns whether the store is sound now. Never fails; `faults` has the reason.
   */
  async repair(): Promise<boolean> {
    try {
      for (let { first } = this.unstored; first; { first } = this.unstored) {
        this.#write(first);
        this.unstored.dropFirst();
      }
    } catch (error) {
      this.#unwritten = error as Error;
    }
    // It is unknown which bytes of the old file the disk lost, so a new snapshot and a new file are
    // needed.
    if (this.#unsynced) await this.compact().catch(() => {});
    return this.isSound;
  }

  /** Errors: those of the disk, and nothing was added then. */
  #write(change: Change): void {
    const { changes, position } = this.#required();
    const line = encodeChange(change);
    changes.write(line);
    this.#position = { epoch: position.epoch, revision: change.revision };
    this.#changesBytes += line.length;
    const many = Math.max(this.#compactBytes, this.#snapshotBytes);
    if (this.#changesBytes > many && !this.#compaction) {
      this.compact().catch((error: Error) => {
        if (error.name !== 'AbortError') this.#onFault(error);
      });
    }
  }

  /**
   * Replaces everything by the response of GET /node/snapshot (docs/node.md), in pieces of any
   * size, received at `heard_at` (epoch seconds). Until this has resolved, appending goes to the
   * old policy. Errors: BadSnapshot if it is incomplete, errors of `received`, those of the disk;
   * the old policy stays then.
   */
  async replace(received: AsyncIterable<Uint8Array | string>, heard_at: number): Promise<void> {
    const partial = partialPath(this.#dir, this.#number());
    const snapshot = await SnapshotWriter.create(partial, this.#group);
    let before: ChangesWriter | undefined;
    let generation: number;
    try {
      const unreadable = new Unreadable();
      const position = await writeReceived(received, snapshot, (record) => unreadable.note(record));
      await snapshot.finish({ ...position, heard_at });
      const { size } = await stat(partial);
      await this.#stopCompaction();
      generation = this.#number();
      before = this.#begin(generation, () => {
        renameSync(partial, snapshotPath(this.#dir, generation));
      });
      this.#position = position;
      this.unreadable = unreadable;
      this.unstored.clear();
      this.#snapshotBytes = size;
    } catch (error) {
      await snapshot.discard();
      throw error;
    }
    await before?.close();
    await this.#removeBefore(generation);
  }

  /** Removes the policy: there is none until `replace` brings one. Errors: those of the disk. */
  async clear(): Promise<void> {
    await this.close();
    this.#position = undefined;
    this.unreadable = new Unreadable();
    this.unstored.clear();
    await removeGenerations(this.#dir, () => false);
    await syncFolder(this.#dir);
  }

  /**
   * Folds the changes into a new snapshot; `append` does so by itself. New changes continue in
   * another file meanwhile, and replicas follow there. Errors: those of the disk, and the old files
   * stay then; AbortError if `replace` or `close` came first.
   */
  compact(): Promise<void> {
    if (!this.#compaction) {
      const stop = new AbortController();
      const done = this.#fold(stop.signal).finally(() => {
        this.#compaction = undefined;
      });
      this.#compaction = { done, stop };
    }
    return this.#compaction.done;
  }

  /** Resolves when everything is on disk. */
  async close(): Promise<void> {
    await this.#stopCompaction();
    const changes = this.#changes;
    this.#changes = undefined;
    await changes?.close();
  }

  async #fold(signal: AbortSignal): Promise<void> {
    this.#required();
    const generation = this.#number();
    const partial = partialPath(this.#dir, generation);
    const before = this.#begin(generation, (old) => old?.write(encodeNext(generation)));
    await before?.close();
    try {
      await compact(
        { dir: this.#dir, until: generation, path: partial, group: this.#group },
        signal,
      );
      this.#snapshotBytes = (await stat(partial)).size;
      renameSync(partial, snapshotPath(this.#dir, generation));
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    await this.#removeBefore(generation);
  }

  #newWriter(fd: number, size: number): ChangesWriter {
    return new ChangesWriter(fd, size, (error) => {
      this.#unsynced = error;
    });
  }

  /** Lets changes continue in a new file once `commit` has succeeded. Returns the old writer. */
  #begin(
    generation: number,
    commit: (old: ChangesWriter | undefined) => void,
  ): ChangesWriter | undefined {
    this.#changesBytes = 0;
    const old = this.#changes;
    const fd = createFile(changesPath(this.#dir, generation), this.#group);
    const changes = this.#newWriter(fd, 0);
    try {
      commit(old);
    } catch (error) {
      changes.close().catch(() => {});
      throw error;
    }
    this.#changes = changes;
    return old;
  }

  async #removeBefore(generation: number): Promise<void> {
    await syncFolder(this.#dir);
    this.#unsynced = this.#changes?.unsynced;
    await removeGenerations(this.#dir, (other) => other >= generation);
  }

  async #stopCompaction(): Promise<void> {
    this.#compaction?.stop.abort();
    await this.#compaction?.done.catch(() => undefined);
  }

  #required(): { changes: ChangesWriter; position: Position } {
    if (!this.#changes || !this.#position) {
      throw new Error('there is no policy to change; take a snapshot first');
    }
    return { changes: this.#changes, position: this.#position };
  }

  #number(): number {
    this.#newest += 1;
    return this.#newest;
  }
}
