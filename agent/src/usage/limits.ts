// The limits of accounts, counted ahead: near one the engine is polled faster, and what passes it is ended before the control plane says so.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Journal } from './journal.ts';
import type { UsageRow } from './journal_state.ts';

/** The bytes that are left to an account, as the control plane said, until then (epoch seconds). */
export interface BytesLeft {
  account: number;
  left_bytes: number;
  until: number;
}

/** Near a limit it is polled and reported no more often. */
const shortest_seconds = 0.1;
const soonest_seconds = 0.02;
/** An end that is not renewed is over after so long: a node that stopped counting ends nobody for good. */
const ending_seconds = 30;

/** An account's limit, as it was told last. */
interface Limit {
  left_bytes: number;
  until: number;
  /** Steady seconds. */
  told_at: number;
  /** By how much it became less from one answer to the next, whoever used it: bytes a second. */
  network_rate: number;
}

export interface LimitsOptions {
  journal: Pick<Journal, 'pending'>;
  clock: Clock;
  log: Logger;
  poll_seconds: number;
  report_seconds: number;
  /** Ends what an account has open, and lets nothing of it in until then; with 0 lets it in again. */
  end: (account: number, until: number) => void;
  /** Reports now what was counted. */
  report: () => void;
}

/**
 * The bytes left are those that the control plane told, less those counted since that are not in its answer.
 * Other nodes make it less, so an account that has nothing left by this count has nothing left.
 */
export class Limits {
  readonly #options: LimitsOptions;
  /** By account; undefined: the control plane knows no limit for it. */
  readonly #limits = new Map<number, Limit | undefined>();
  /** By account: bytes a second that this node counts. */
  #rates = new Map<number, number>();
  /** The accounts that are ended, with the time (epoch seconds) until which they are. */
  readonly #ended = new Map<number, number>();
  #counted_at: number;
  #answered_at = Number.NEGATIVE_INFINITY;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#counted_at = options.clock.steady();
  }

  /**
   * Takes the rows of a poll; returns the seconds until the next one is due: half of what the bytes last, so that
   * there is another half to correct it. Reports are sooner: by them other nodes know what is left.
   */
  counted(rows: readonly UsageRow[]): number {
    const { poll_seconds, report_seconds, clock } = this.#options;
    this.#noteRates(rows);
    const bytesLeft = this.#bytesLeft();
    let soonest = Number.POSITIVE_INFINITY;
    for (const [account, bytes] of bytesLeft) {
      if (!this.#ended.has(account)) soonest = Math.min(soonest, this.#lasts(account, bytes));
      this.#follow(account, bytes);
    }
    const isUnknown = rows.some(({ account }) => !this.#limits.has(account));
    // An account that is new here may have little left: that is asked at once.
    const due = isUnknown ? 0 : within(soonest / 6, report_seconds);
    const waited = clock.steady() - this.#answered_at;
    if (due < report_seconds && waited >= due) this.#options.report();
    // The last one before the end comes at the end.
    return soonest > 0 && soonest < shortest_seconds
      ? Math.max(soonest, soonest_seconds)
      : within(soonest / 2, poll_seconds);
  }

  /** Takes the answer to a batch of these rows, when the journal holds it no more. */
  answered(rows: readonly UsageRow[], limits: readonly BytesLeft[]): void {
    const now = this.#options.clock.steady();
    this.#answered_at = now;
    const named = new Map(limits.map((limit) => [limit.account, limit]));
    for (const account of new Set(rows.map((row) => row.account))) {
      // It goes on after its end is over: its contract's record did not come.
      if ((this.#ended.get(account) ?? 0) <= this.#options.clock.now()) this.#ended.delete(account);
      const limit = named.get(account);
      const before = this.#limits.get(account);
      this.#limits.set(account, limit && { ...limit, told_at: now, network_rate: 0 });
      const after = this.#limits.get(account);
      if (!before || !after || now <= before.told_at) continue;
      after.network_rate = (before.left_bytes - after.left_bytes) / (now - before.told_at);
    }
    const bytesLeft = this.#bytesLeft();
    for (const account of this.#ended.keys()) {
      if (!bytesLeft.has(account)) this.#letIn(account);
    }
    for (const [account, bytes] of bytesLeft) this.#follow(account, bytes);
  }

  /** The contract has changed, or, without an account, everything: what was told of it holds no more. */
  forget(account?: number): void {
    for (const id of account === undefined ? [...this.#limits.keys()] : [account]) {
      this.#limits.delete(id);
      this.#ended.delete(id);
    }
  }

  #noteRates(rows: readonly UsageRow[]): void {
    const now = this.#options.clock.steady();
    const seconds = Math.max(now - this.#counted_at, shortest_seconds / 2);
    this.#counted_at = now;
    const rates = new Map<number, number>();
    for (const { account, up, down } of rows) {
      rates.set(account, (rates.get(account) ?? 0) + (up + down) / seconds);
    }
    // One poll that saw nothing does not make it slow.
    for (const [account, before] of this.#rates) {
      const rate = Math.max(rates.get(account) ?? 0, before / 2);
      if (rate > 1) rates.set(account, rate);
    }
    this.#rates = rates;
  }

  /** By account with a limit that is known: the bytes that are left now, less than none when it is passed. */
  #bytesLeft(): Map<number, number> {
    const now = this.#options.clock.now();
    const bytesLeft = new Map<number, number>();
    for (const [account, limit] of this.#limits) {
      if (!limit) continue;
      if (now < limit.until) bytesLeft.set(account, limit.left_bytes);
      else this.forget(account);
    }
    if (bytesLeft.size === 0) return bytesLeft;
    for (const { account, up, down } of this.#options.journal.pending()) {
      const bytes = bytesLeft.get(account);
      if (bytes !== undefined) bytesLeft.set(account, bytes - up - down);
    }
    return bytesLeft;
  }

  /** How many seconds the bytes that are left to an account last, at the present rate: a guess, as other nodes use them too. */
  #lasts(account: number, bytes: number): number {
    const { network_rate = 0, told_at = 0 } = this.#limits.get(account) ?? {};
    const ownRate = this.#rates.get(account) ?? 0;
    // Nothing of it is here to be ended, whatever the others use.
    if (ownRate === 0) return Number.POSITIVE_INFINITY;
    const others = Math.max(network_rate - ownRate, 0);
    const remaining = bytes - others * (this.#options.clock.steady() - told_at);
    return Math.max(remaining, 0) / (ownRate + others);
  }

  /** Ends an account that has nothing left, and lets in again one that has. */
  #follow(account: number, bytes: number): void {
    const now = this.#options.clock.now();
    const ended = this.#ended.get(account);
    if (bytes > 0) {
      if (ended !== undefined) this.#letIn(account);
      return;
    }
    const { left_bytes: reportedBytes = 0, until: period_end = 0 } =
      this.#limits.get(account) ?? {};
    // Of what the control plane knows itself the contract's record comes.
    if (ended !== undefined && (reportedBytes <= 0 || now < ended - ending_seconds / 2)) return;
    const until = Math.min(now + ending_seconds, period_end);
    if (ended === until) return;
    this.#end(account, until);
  }

  #letIn(account: number): void {
    this.#end(account, 0);
    this.#ended.delete(account);
  }

  #end(account: number, until: number): void {
    const { end, log, report } = this.#options;
    try {
      end(account, until);
      if (!this.#ended.has(account)) {
        log.info({ account }, 'an account has reached its limit');
        report();
      }
      this.#ended.set(account, until);
    } catch (error) {
      log.warn({ err: error, account }, 'what passes a limit cannot be ended ahead');
    }
  }
}

function within(seconds: number, maxSeconds: number): number {
  return Math.min(maxSeconds, Math.max(shortest_seconds, seconds));
}
