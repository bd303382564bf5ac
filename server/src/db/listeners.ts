// The listeners to commits: as long as there is one, the engine looks for commits of other processes.

export class Listeners {
  readonly #listeners = new Set<() => void>();
  readonly #lookForOthers: () => () => void;
  #stopLooking: (() => void) | undefined;

  /** `lookForOthers` starts to look, and returns the function that stops it. */
  constructor(lookForOthers: () => () => void) {
    this.#lookForOthers = lookForOthers;
  }

  /** Returns the function that takes the listener off. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#stopLooking ??= this.#lookForOthers();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  /** There was a commit, or there may have been one. */
  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }
}
