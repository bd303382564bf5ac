// When each authlist entry last let a connection in, to the minute: noted at every decision, and
// held until reported.
import type { Authority } from './decision.ts';

export interface LastUsed {
  account: number;
  entry: number;
  /** Epoch seconds, rounded down to the minute. */
  at: number;
}

/** When this many entries are held, no further ones are noted until some have been taken. */
const defaultMaxEntries = 250_000;

/** At most one map write per decision. No larger than the authlist, or than `maxEntries`. */
export class LastUsedTimes {
  readonly #byAccount = new Map<number, Map<number, number>>();
  readonly #maxEntries: number;
  #size = 0;

  constructor(maxEntries = defaultMaxEntries) {
    this.#maxEntries = maxEntries;
  }

  /** Notes the entry that let a connection in now. */
  note(authority: Authority, now: number): void {
    if (authority.by !== 'authlist') return;
    this.#keep(authority.account, authority.entry, now - (now % 60));
  }

  /**
   * Adds times that a helper noted, without invalid ones: because of one, the control plane would
   * reject the whole report.
   */
  add(uses: readonly LastUsed[]): void {
    for (const { account, entry, at } of uses) {
      const isReportable = [account, entry, at].every(
        (number) => Number.isSafeInteger(number) && number > 0,
      );
      if (isReportable) this.#keep(account, entry, at);
    }
  }

  /** Removes and returns at most this many. */
  take(maxUses = Number.POSITIVE_INFINITY): LastUsed[] {
    const uses: LastUsed[] = [];
    for (const [account, entries] of this.#byAccount) {
      for (const [entry, at] of entries) {
        if (uses.length >= maxUses) return uses;
        uses.push({ account, entry, at });
        entries.delete(entry);
        this.#size -= 1;
      }
      this.#byAccount.delete(account);
    }
    return uses;
  }

  #keep(account: number, entry: number, at: number): void {
    let entries = this.#byAccount.get(account);
    const lastAt = entries?.get(entry);
    if (at <= (lastAt ?? 0) || (lastAt === undefined && this.#size >= this.#maxEntries)) return;
    if (!entries) {
      entries = new Map();
      this.#byAccount.set(account, entries);
    }
    if (lastAt === undefined) this.#size += 1;
    entries.set(entry, at);
  }
}
