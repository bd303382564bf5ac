// Waiting for nodes: requests that wait until a change is applied. However many wait, the database
// is queried once after a commit.
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import { leastApplied, type Progress, progressOf } from './store.ts';

export const maxWaitingOfAccount = 100;
const maxWaiting = 2000;
/** The pause before the next query after the database did not answer. */
const retryMs = 1000;

interface Waiter {
  /** 0: all servers of the account. */
  server_id: number;
  revision: number;
  done: () => void;
}

export class AppliedWatch {
  readonly #db: Database;
  readonly #steady: () => number;
  readonly #stopping: AbortSignal;
  readonly #accounts = new Map<number, Set<Waiter>>();
  #size = 0;
  #isLooking = false;
  #again = false;

  /** `steady`: seconds. When `stopping` is aborted, every wait ends. */
  constructor(db: Database, steady: () => number, stopping: AbortSignal) {
    this.#db = db;
    this.#steady = steady;
    this.#stopping = stopping;
    db.listen(() => this.#wake());
    stopping.addEventListener('abort', () => {
      for (const { done } of this.#all()) done();
    });
  }

  /** See `Context.whenApplied`. */
  async wait(
    account_id: number,
    server_id: number | null,
    revision: number,
    wait_seconds: number,
  ): Promise<{ progress: Progress | undefined } | undefined> {
    const ofAccount = this.#accounts.get(account_id) ?? new Set();
    if (ofAccount.size >= maxWaitingOfAccount || this.#size >= maxWaiting) return undefined;
    if (this.#stopping.aborted) return { progress: undefined };
    this.#accounts.set(account_id, ofAccount);
    const { promise, resolve: done } = Promise.withResolvers<void>();
    const waiter = { server_id: server_id ?? 0, revision, done };
    ofAccount.add(waiter);
    this.#size += 1;
    const timer = setTimeout(done, wait_seconds * 1000);
    this.#wake();
    await promise;
    clearTimeout(timer);
    this.#size -= 1;
    ofAccount.delete(waiter);
    if (ofAccount.size === 0 && this.#accounts.get(account_id) === ofAccount) {
      this.#accounts.delete(account_id);
    }
    // The change is made, whether the database can be asked about it or not.
    const of = { account_id, server_id: waiter.server_id };
    return { progress: await progressOf(this.#db, of, revision).catch(() => undefined) };
  }

  #all(): Waiter[] {
    return Array.from(this.#accounts.values()).flatMap((waiters) => Array.from(waiters));
  }

  #wake(): void {
    this.#again = true;
    if (this.#isLooking || this.#size === 0) return;
    this.#isLooking = true;
    void this.#lookOn().finally(() => {
      this.#isLooking = false;
    });
  }

  /**
   * Looks until no commit comes in between. It pauses as long as it looked, so it takes at most
   * half of the time.
   */
  async #lookOn(): Promise<void> {
    while (this.#again && this.#size > 0) {
      this.#again = false;
      const started = this.#steady();
      let rest = retryMs;
      try {
        await this.#look();
        rest = (this.#steady() - started) * 1000;
      } catch {
        // The change is made, whatever the nodes do: requests that wait are answered when their
        // time is over.
        this.#again = true;
      }
      await pause(rest, undefined, { ref: false });
    }
  }

  async #look(): Promise<void> {
    const awaited = Array.from(this.#accounts, ([account_id, waiters]) =>
      Array.from(new Set(Array.from(waiters, ({ server_id }) => server_id)), (server_id) => ({
        account_id,
        server_id,
      })),
    ).flat();
    for (const { account_id, server_id, revision } of await leastApplied(this.#db, awaited)) {
      for (const waiter of this.#accounts.get(account_id) ?? []) {
        const isApplied = waiter.revision <= (revision ?? Number.POSITIVE_INFINITY);
        if (waiter.server_id === server_id && isApplied) waiter.done();
      }
    }
  }
}
