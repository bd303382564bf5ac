// Hourly caps: how much of something an account may have done within a clock hour; each process counts its own.
import { tooManyRequests } from './errors.ts';

const hour_seconds = 3600;
const mostAccountsKept = 100_000;

export class HourlyCap {
  readonly #most: number;
  #hour = 0;
  #counts = new Map<number, number>();

  constructor(most: number) {
    this.#most = most;
  }

  count(account_id: number, now: number, amount = 1): void {
    const hour = now - (now % hour_seconds);
    if (hour !== this.#hour || this.#counts.size > mostAccountsKept) {
      this.#hour = hour;
      this.#counts = new Map();
    }
    this.#counts.set(account_id, (this.#counts.get(account_id) ?? 0) + amount);
  }

  /** `what` names it in the plural. Errors: 429 from the cap on, until the hour is over. */
  rejectTooMany(account_id: number, now: number, what: string): void {
    const wait_seconds = this.#hour + hour_seconds - now;
    const count = this.#counts.get(account_id) ?? 0;
    if (wait_seconds <= 0 || count < this.#most) return;
    throw tooManyRequests(
      `The account had too many ${what} within an hour (${this.#most}); go on in ${wait_seconds} seconds.`,
      { 'retry-after': String(wait_seconds) },
      { code: 'rate_limited' },
    );
  }
}
