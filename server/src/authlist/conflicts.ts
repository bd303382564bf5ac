// A cap on address conflicts per account and hour: without it the list would tell which addresses others list.
import { tooManyRequests } from '../errors.ts';

const hour_seconds = 3600;
const mostAccountsKept = 100_000;

/** Counts conflicts by account in fixed hours; each process counts its own. */
export class ConflictCap {
  readonly #most_per_hour: number;
  #hour = 0;
  #counts = new Map<number, number>();

  constructor(most_per_hour: number) {
    this.#most_per_hour = most_per_hour;
  }

  /** Counts a conflict, with an own entry or a foreign one alike: the answer must not tell which. */
  count(account_id: number, now: number): void {
    const hour = now - (now % hour_seconds);
    if (hour !== this.#hour || this.#counts.size > mostAccountsKept) {
      this.#hour = hour;
      this.#counts = new Map();
    }
    this.#counts.set(account_id, (this.#counts.get(account_id) ?? 0) + 1);
  }

  /**
   * Asked before an address is looked at, so that past the cap a free one and a claimed one get the
   * same answer. Errors: 429 past the cap, until the hour is over.
   */
  rejectTooMany(account_id: number, now: number): void {
    const wait_seconds = this.#hour + hour_seconds - now;
    const count = this.#counts.get(account_id) ?? 0;
    if (wait_seconds <= 0 || count < this.#most_per_hour) return;
    throw tooManyRequests(
      `too many addresses were on the authlist already (${this.#most_per_hour} within an hour); go on in ${wait_seconds} seconds.`,
      { 'retry-after': String(wait_seconds) },
      { field: 'ip' },
    );
  }
}
