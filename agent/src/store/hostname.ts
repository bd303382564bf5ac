// The hostname of the node's server, read from the policy on disk without loading the rest.
import type { NodeRecord } from '../policy/records.ts';
import { ChangesReader } from './changes_file.ts';
import { changesPath, newestGeneration } from './generations.ts';
import { readServer } from './replica.ts';

export class ServerHostname {
  readonly #dir: string;
  #generation: number | undefined;
  #changes: ChangesReader | undefined;
  /** Undefined while there is no policy. */
  current: string | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Reads what was added. Errors: those of the disk. */
  async look(): Promise<void> {
    const generation = newestGeneration(this.#dir);
    if (generation === undefined) return;
    if (generation !== this.#generation) {
      const policy = await readServer(this.#dir);
      this.current = policy?.server?.hostname ?? this.current;
      this.#open(generation);
      this.#generation = generation;
    }
    for (let line = this.#changes?.next(); line; line = this.#changes?.next()) {
      if ('next' in line) this.#open(line.next);
      else if (line.json.includes('"kind":"server"')) this.#take(JSON.parse(line.json));
    }
  }

  close(): void {
    this.#changes?.close();
    this.#changes = undefined;
  }

  #open(generation: number): void {
    this.close();
    this.#changes = new ChangesReader(changesPath(this.#dir, generation));
  }

  #take(records: NodeRecord[]): void {
    for (const record of records) {
      if (record.kind === 'server') this.current = record.value?.hostname ?? this.current;
    }
  }
}
