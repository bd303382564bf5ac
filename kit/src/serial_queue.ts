// Runs asynchronous work one piece at a time, in the order in which it was given.

export class SerialQueue {
  /** Settles when all that was given so far is over. */
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all that was given before it, whatever became of that; the outcome is the work's own. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const outcome = this.#last.then(work);
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  /** Resolves when all that was given so far is over. */
  idle(): Promise<void> {
    return this.run(async () => {});
  }
}
