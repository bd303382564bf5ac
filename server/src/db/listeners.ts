// Listeners to commits: while there is one, the engine watches for commits of other processes.

export class Listeners {
  readonly #listeners = new Set<() => void>();
  readonly #lookForOthers: () => () => void;
  #stopLooking: (() => void) | undefined;

  /** `lookForOthers` starts watching, and returns the function that stops it. */
  constructor(lookForOthers: () => () => void) {
    this.#lookForOthers = lookForOthers;
  }

  /** Returns the function that removes the listener. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#stopLooking ??= this.#lookForOthers();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  /** Call it after a commit, or when there may have been one. */
  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}
