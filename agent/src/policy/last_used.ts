// The time at which each authlist entry last let a connection in, to the minute: noted at every decision, kept until it is reported.
import type { Authority } from './decide.ts';

export interface LastUsed {
  account: number;
  entry: number;
  /** Epoch seconds, rounded down to the minute. */
  at: number;
}

/** As many entries as are kept; of further ones nothing is noted until some were handed out. */
const mostKept = 250_000;

/** A map write per decision, and often not even that. It grows no larger than the list, nor than `most`. */
export class LastUsedTimes {
  readonly #byAccount = new Map<number, Map<number, number>>();
  readonly #most: number;
  #size = 0;

  constructor(most = mostKept) {
    this.#most = most;
  }

  /** Notes the entry by which a connection was let in now. */
  note(authority: Authority, now: number): void {
    if (authority.by !== 'authlist') return;
    this.#keep(authority.account, authority.entry, now - (now % 60));
  }

  /** Adds times that were noted elsewhere: by a helper, which may tell what never was, and what would have the report of all others rejected. */
  add(uses: readonly LastUsed[]): void {
    for (const { account, entry, at } of uses) {
      const isReportable = [account, entry, at].every(
        (one) => Number.isSafeInteger(one) && one > 0,
      );
      if (isReportable) this.#keep(account, entry, at);
    }
  }

  /** Hands out so many at most, and forgets them. */
  take(most = Number.POSITIVE_INFINITY): LastUsed[] {
    const taken: LastUsed[] = [];
    for (const [account, entries] of this.#byAccount) {
      for (const [entry, at] of entries) {
        if (taken.length >= most) return taken;
        taken.push({ account, entry, at });
        entries.delete(entry);
        this.#size -= 1;
      }
      this.#byAccount.delete(account);
    }
    return taken;
  }

  #keep(account: number, entry: number, at: number): void {
    let entries = this.#byAccount.get(account);
    const known = entries?.get(entry);
    if (at <= (known ?? 0) || (known === undefined && this.#size >= this.#most)) return;
    if (!entries) {
      entries = new Map();
      this.#byAccount.set(account, entries);
    }
    if (known === undefined) this.#size += 1;
    entries.set(entry, at);
  }
}
