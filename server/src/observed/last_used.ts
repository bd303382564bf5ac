// The last use of API tokens, operator tokens, sessions and authlist entries: collected in memory,
// stored once a minute.

import type { Logger } from 'pino';
import type { Actor, Database, Transaction } from '../db/database.ts';

/** The last use of one record of an account (0: of the network). */
export interface Use {
  account_id: number;
  id: number;
  /** Epoch seconds. */
  at: number;
}

/** Stores uses. A record that is gone is left out; a later stored time stays. */
export type WriteUses = (tx: Transaction, uses: readonly Use[]) => Promise<unknown>;

const actor: Actor = { kind: 'system', name: 'last-used', address: '', request_id: '' };
/** Small transactions, so that other writers never wait long. */
const batch = 500;

/**
 * The uses of one kind of record since they were last stored. Only existing records are noted, so
 * it grows with the number of records, not of requests.
 */
class Collector {
  #uses = new Map<number, Map<number, number>>();
  readonly #write: WriteUses;

  constructor(write: WriteUses) {
    this.#write = write;
  }

  note(account_id: number, id: number, at: number): void {
    let ofAccount = this.#uses.get(account_id);
    if (!ofAccount) {
      ofAccount = new Map();
      this.#uses.set(account_id, ofAccount);
    }
    if (at > (ofAccount.get(id) ?? 0)) ofAccount.set(id, at);
  }

  /** How many uses wait to be stored. */
  get size(): number {
    return Array.from(this.#uses.values()).reduce((all, ofAccount) => all + ofAccount.size, 0);
  }

  /** Uses that cannot be stored wait for the next time. */
  async write({ db, log }: { db: Database; log: Logger }): Promise<void> {
    const uses: Use[] = Array.from(this.#uses).flatMap(([account_id, ofAccount]) =>
      Array.from(ofAccount, ([id, at]) => ({ account_id, id, at })),
    );
    this.#uses = new Map();
    try {
      while (uses.length > 0) {
        await db.write(actor, (tx) => this.#write(tx, uses.slice(0, batch)));
        uses.splice(0, batch);
      }
    } catch (error) {
      for (const { account_id, id, at } of uses) this.note(account_id, id, at);
      log.warn({ err: error }, 'last uses could not be written');
    }
  }
}

/**
 * A collector for each kind of record. A process that is killed loses the uses of its last minute.
 */
export class LastUsed {
  readonly api_tokens: Collector;
  readonly operator_tokens: Collector;
  readonly sessions: Collector;
  readonly authlist_entries: Collector;

  constructor(writers: Record<keyof Omit<LastUsed, 'write'>, WriteUses>) {
    this.api_tokens = new Collector(writers.api_tokens);
    this.operator_tokens = new Collector(writers.operator_tokens);
    this.sessions = new Collector(writers.sessions);
    this.authlist_entries = new Collector(writers.authlist_entries);
  }

  async write(ctx: { db: Database; log: Logger }): Promise<void> {
    for (const collector of [
      this.api_tokens,
      this.operator_tokens,
      this.sessions,
      this.authlist_entries,
    ]) {
      await collector.write(ctx);
    }
  }
}
