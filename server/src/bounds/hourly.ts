// Hourly caps: how much of something an account may have done within a clock hour; each process counts its own.
import { type ErrorDetails, tooManyRequests } from '../errors.ts';

const hour_seconds = 3600;
const maxAccounts = 100_000;

export class HourlyCap {
  readonly #limit: number;
  readonly #fault: string;
  readonly #details: ErrorDetails;
  #hour = 0;
  #counts = new Map<number, number>();

  /** `fault` is the sentence of a refusal, up to how many and when it is over. */
  constructor(limit: number, fault: string, details: ErrorDetails = { code: 'rate_limited' }) {
    this.#limit = limit;
    this.#fault = fault;
    this.#details = details;
  }

  count(account_id: number, now: number, amount = 1): void {
    const hour = now - (now % hour_seconds);
    if (hour !== this.#hour || this.#counts.size > maxAccounts) {
      this.#hour = hour;
      this.#counts = new Map();
    }
    this.#counts.set(account_id, (this.#counts.get(account_id) ?? 0) + amount);
  }

  /** Errors: 429 where that many more would pass the cap, until the hour is over. */
  rejectTooMany(account_id: number, now: number, amount = 1): void {
    const hour = now - (now % hour_seconds);
    const count = hour === this.#hour ? (this.#counts.get(account_id) ?? 0) : 0;
    if (count + amount <= this.#limit) return;
    const wait_seconds = hour + hour_seconds - now;
    throw tooManyRequests(
      `${this.#fault} (${this.#limit} within an hour); go on in ${wait_seconds} seconds.`,
      { 'retry-after': String(wait_seconds) },
      this.#details,
    );
  }
}

/** Of entries that were undone at once. */
export const restoredCap = (limit: number) =>
  new HourlyCap(limit, 'The account brought too many entries back');
