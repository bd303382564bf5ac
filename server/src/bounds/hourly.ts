// Hourly caps: how often an account may do something within a clock hour. Each process counts for
// itself.
import type { Group, Transaction } from '../db/database.ts';
import { type ErrorDetails, tooManyRequests } from '../errors.ts';

const hourSeconds = 3600;
const maxAccounts = 100_000;

/** The transaction of the action that counts. */
type Act = Pick<Transaction, 'now' | 'group' | 'afterwards'>;

interface CapOptions {
  details?: ErrorDetails;
  /** Whether an action that is refused counts, too. */
  counts_refusals?: boolean;
}

/** Counts by account. */
class Counts extends Map<number, number> {
  of(account_id: number): number {
    return this.get(account_id) ?? 0;
  }
  add(account_id: number, amount: number): void {
    this.set(account_id, this.of(account_id) + amount);
  }
}

export class HourlyCap {
  readonly #limit: number;
  readonly #fault: string;
  readonly #options: CapOptions;
  #hour = 0;
  #counts = new Counts();
  /**
   * Counts of actions whose outcome is not final yet. They end with their group; an action that
   * runs again counts again.
   */
  readonly #pending = new WeakMap<Group, Counts>();

  /** `fault` begins the sentence of a refusal; the cap and the time to wait follow. */
  constructor(limit: number, fault: string, options: CapOptions = {}) {
    this.#limit = limit;
    this.#fault = fault;
    this.#options = options;
  }

  /** Counts once the outcome of the action is final, however often it runs until then. */
  count({ now, group, afterwards }: Act, account_id: number, amount = 1): void {
    const pending = this.#pending.get(group) ?? new Counts();
    this.#pending.set(group, pending);
    pending.add(account_id, amount);
    afterwards((isCommitted) => {
      pending.add(account_id, -amount);
      if (isCommitted || this.#options.counts_refusals) this.#add(account_id, now, amount);
    });
  }

  #add(account_id: number, now: number, amount: number): void {
    const hour = now - (now % hourSeconds);
    if (hour !== this.#hour || this.#counts.size > maxAccounts) {
      this.#hour = hour;
      this.#counts = new Counts();
    }
    this.#counts.add(account_id, amount);
  }

  /** Errors: 429 when `amount` more would exceed the cap, until the hour is over. */
  rejectTooMany({ now, group }: Act, account_id: number, amount = 1): void {
    const hour = now - (now % hourSeconds);
    const counted = hour === this.#hour ? this.#counts.of(account_id) : 0;
    const pending = this.#pending.get(group)?.of(account_id) ?? 0;
    if (counted + pending + amount <= this.#limit) return;
    const waitSeconds = hour + hourSeconds - now;
    throw tooManyRequests(
      `${this.#fault} (${this.#limit} within an hour); go on in ${waitSeconds} seconds.`,
      { 'retry-after': String(waitSeconds) },
      { code: 'rate_limited', ...this.#options.details },
    );
  }
}

/** The cap on entries that are brought back at once by an undo. */
export const restoredCap = (limit: number) =>
  new HourlyCap(limit, 'The account brought too many entries back');
