// Keeps the policy on disk, for every replica and for the next start. There is one store, in the agent.
import { openSync, renameSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { NodeRecord, Position } from '../policy/records.ts';
import { ChangesWriter, encodeChange, encodeNext } from './changes_file.ts';
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

export interface StoreOptions {
  /** Id of a group whose processes may read the policy too; by default that of this process. */
  group?: number | undefined;
  /** Called for failures in the background. The policy is still there, but the disk needs attention. */
  onFault?: (error: Error) => void;
  /** Changes are folded into a new snapshot when they have more bytes than this, and than the snapshot. */
  compact_bytes?: number;
}

export class Store {
  readonly #dir: string;
  readonly #group: number | undefined;
  readonly #onFault: (error: Error) => void;
  readonly #compact_bytes: number;
  #position: Position | undefined;
  #changes: ChangesWriter | undefined;
  /** The highest number that a file has had. */
  #newest: number;
  #snapshot_bytes = 0;
  /** Since the snapshot, or since folding them was last tried. */
  #changes_bytes = 0;
  #compaction: { done: Promise<void>; stop: AbortController } | undefined;

  private constructor(dir: string, options: StoreOptions) {
    this.#dir = dir;
    this.#group = options.group;
    this.#onFault = options.onFault ?? ((error) => process.emitWarning(error));
    this.#compact_bytes = options.compact_bytes ?? 16 * 1024 * 1024;
    const { snapshots, changes } = listGenerations(dir);
    this.#newest = Math.max(0, snapshots.at(-1) ?? 0, changes.at(-1) ?? 0);
  }

  /**
   * Opens the folder with the files that are whole in it. A damaged snapshot is told to `onFault`, and
   * there is no position then. Errors: those of the disk.
   */
  static async open(dir: string, options: StoreOptions = {}): Promise<Store> {
    createFolder(dir, options.group);
    const store = new Store(dir, options);
    try {
      const recovered = await recover(dir, options.group);
      if (recovered) {
        const { position, generation, offset, snapshot_bytes, changes_bytes } = recovered;
        const fd = openSync(changesPath(dir, generation), 'r+');
        store.#changes = new ChangesWriter(fd, offset, store.#onFault);
        store.#position = position;
        store.#snapshot_bytes = snapshot_bytes;
        store.#changes_bytes = changes_bytes;
      }
    } catch (error) {
      if (!(error instanceof BadSnapshot)) throw error;
      store.#onFault(error);
    }
    return store;
  }

  /** Up to where the policy on disk goes; undefined while there is none that is whole. */
  get position(): Position | undefined {
    return this.#position;
  }

  /**
   * Adds one revision, its records together; without records it tells how far the history went.
   * Replicas see it when this has returned. It outlasts the process at once, and a power loss a
   * second later. Questions (`explain`) are left out: they may hold tokens.
   *
   * Errors: those of the disk, and nothing was added then; no policy to add to; a revision of the past.
   */
  append(revision: number, heard_at: number, records: NodeRecord[]): void {
    const { changes, position } = this.#required();
    if (revision < position.revision) {
      throw new RangeError(
        `revision: ${revision} is before ${position.revision}, which is stored.`,
      );
    }
    const kept = records.filter(({ kind }) => kind !== 'explain');
    const line = encodeChange(revision, heard_at, kept);
    changes.write(line);
    this.#position = { epoch: position.epoch, revision };
    this.#changes_bytes += line.length;
    const many = Math.max(this.#compact_bytes, this.#snapshot_bytes);
    if (this.#changes_bytes > many && !this.#compaction) {
      this.compact().catch((error: Error) => {
        if (error.name !== 'AbortError') this.#onFault(error);
      });
    }
  }

  /**
   * Replaces everything by the response of GET /node/snapshot (docs/node.md), in pieces of any size, heard
   * at `heard_at` (epoch seconds). Until this has resolved, appending goes to the old policy.
   * Errors: BadSnapshot when it is not whole, what `received` throws, those of the disk; the old
   * policy stays then.
   */
  async replace(received: AsyncIterable<Uint8Array | string>, heard_at: number): Promise<void> {
    const partial = partialPath(this.#dir, this.#number());
    const snapshot = await SnapshotWriter.create(partial, this.#group);
    let before: ChangesWriter | undefined;
    let generation: number;
    try {
      const position = await writeReceived(received, snapshot);
      await snapshot.finish({ ...position, heard_at });
      const { size } = await stat(partial);
      await this.#stopCompaction();
      generation = this.#number();
      before = this.#begin(generation, () => {
        renameSync(partial, snapshotPath(this.#dir, generation));
      });
      this.#position = position;
      this.#snapshot_bytes = size;
    } catch (error) {
      await snapshot.discard();
      throw error;
    }
    await before?.close();
    await this.#removeBefore(generation);
  }

  /** Removes the policy, for good: there is none until `replace` brings one. Errors: those of the disk. */
  async clear(): Promise<void> {
    await this.close();
    this.#position = undefined;
    await removeGenerations(this.#dir, () => false);
    await syncFolder(this.#dir);
  }

  /**
   * Folds the changes into a new snapshot; `append` does so by itself. New changes go on in another
   * file meanwhile, and replicas follow there. Errors: those of the disk, and the old files stay
   * then; AbortError when `replace` or `close` came first.
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

  /** Resolves when all is on the disk. */
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
      this.#snapshot_bytes = (await stat(partial)).size;
      renameSync(partial, snapshotPath(this.#dir, generation));
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    await this.#removeBefore(generation);
  }

  /** Lets changes go on in a new file, from the step on that makes it count. Answers the old one. */
  #begin(
    generation: number,
    commit: (old: ChangesWriter | undefined) => void,
  ): ChangesWriter | undefined {
    this.#changes_bytes = 0;
    const old = this.#changes;
    const fd = createFile(changesPath(this.#dir, generation), this.#group);
    const changes = new ChangesWriter(fd, 0, this.#onFault);
    try {
      commit(old);
    } catch (error) {
      void changes.close();
      throw error;
    }
    this.#changes = changes;
    return old;
  }

  async #removeBefore(generation: number): Promise<void> {
    await syncFolder(this.#dir);
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
