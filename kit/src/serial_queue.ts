// Runs asynchronous work one piece at a time, in the order in which it was added.

export class SerialQueue {
  /** Settles when all work so far is done. */
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all earlier work, even if that failed. The outcome is the work's own. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const outcome = this.#last.then(work);
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  /** Resolves when all work so far is done. */
  idle(): Promise<void> {
    return this.run(async () => {});
  }
}
