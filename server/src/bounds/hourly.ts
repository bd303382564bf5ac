// Hourly caps: how often an account may do something within a clock hour. Each process counts for
// itself.
import { type ErrorDetails, tooManyRequests } from '../errors.ts';

const hourSeconds = 3600;
const maxAccounts = 100_000;

export class HourlyCap {
  readonly #limit: number;
  readonly #fault: string;
  readonly #details: ErrorDetails;
  #hour = 0;
  #counts = new Map<number, number>();

  /** `fault` begins the sentence of a refusal; the cap and the time to wait follow. */
  constructor(limit: number, fault: string, details: ErrorDetails = { code: 'rate_limited' }) {
    this.#limit = limit;
    this.#fault = fault;
    this.#details = details;
  }

  count(account_id: number, now: number, amount = 1): void {
    const hour = now - (now % hourSeconds);
    if (hour !== this.#hour || this.#counts.size > maxAccounts) {
      this.#hour = hour;
      this.#counts = new Map();
    }
    this.#counts.set(account_id, (this.#counts.get(account_id) ?? 0) + amount);
  }

  /** Errors: 429 when `amount` more would exceed the cap, until the hour is over. */
  rejectTooMany(account_id: number, now: number, amount = 1): void {
    const hour = now - (now % hourSeconds);
    const count = hour === this.#hour ? (this.#counts.get(account_id) ?? 0) : 0;
    if (count + amount <= this.#limit) return;
    const wait_seconds = hour + hourSeconds - now;
    throw tooManyRequests(
      `${this.#fault} (${this.#limit} within an hour); go on in ${wait_seconds} seconds.`,
      { 'retry-after': String(wait_seconds) },
      this.#details,
    );
  }
}

/** The cap on entries that are brought back at once by an undo. */
export const restoredCap = (limit: number) =>
  new HourlyCap(limit, 'The account brought too many entries back');
