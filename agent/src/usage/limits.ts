// Enforces the limits of accounts before the control plane does: near a limit the engine is polled
// more often, and traffic beyond it is ended at once.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Journal } from './journal.ts';
import type { UsageRow } from './journal_state.ts';

/** The bytes that an account has left until `until` (epoch seconds), as the control plane said. */
export interface BytesLeft {
  account: number;
  left_bytes: number;
  until: number;
}

/** Near a limit, polls and reports are no more frequent than this. */
const shortestSeconds = 0.1;
const soonestSeconds = 0.02;
/**
 * An account is let in again if its end is not renewed for this long, so that a node that stopped
 * counting refuses no account for good.
 */
const endingSeconds = 30;

/** An account's limit, as last received. */
interface Limit {
  left_bytes: number;
  until: number;
  /** Steady seconds. */
  noted_at: number;
  /** How fast it shrank between the last two responses, by all nodes together: bytes per second. */
  network_rate: number;
}

export interface LimitsOptions {
  journal: Pick<Journal, 'pending'>;
  clock: Clock;
  log: Logger;
  poll_seconds: number;
  report_seconds: number;
  /**
   * Ends an account's open connections, and refuses new ones until then; with 0 lets it in again.
   */
  end: (account: number, until: number) => void;
  /** Reports at once what was counted. */
  report: () => void;
}

/**
 * The bytes left are what the control plane sent, less the bytes counted since that it has not
 * included. Other nodes only reduce them, so an account without bytes left by this count has none
 * left.
 */
export class Limits {
  readonly #options: LimitsOptions;
  /** By account; undefined: the control plane knows no limit for it. */
  readonly #limits = new Map<number, Limit | undefined>();
  /** By account: bytes per second that this node counts. */
  #rates = new Map<number, number>();
  /** The accounts that are ended, and until when (epoch seconds). */
  readonly #ended = new Map<number, number>();
  #counted_at: number;
  #answered_at = Number.NEGATIVE_INFINITY;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#counted_at = options.clock.steady();
  }

  /**
   * Takes the rows of a poll; returns the seconds until the next one is due. That is half the time
   * that the bytes will last, so that another half remains to correct it. Reports are more
   * frequent: they show other nodes what is left.
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
    // An account that is new here may have little left, so its limit is requested at once.
    const due = isUnknown ? 0 : within(soonest / 6, report_seconds);
    const waited = clock.steady() - this.#answered_at;
    if (due < report_seconds && waited >= due) this.#options.report();
    // The last poll before the end comes exactly at the end.
    return soonest > 0 && soonest < shortestSeconds
      ? Math.max(soonest, soonestSeconds)
      : within(soonest / 2, poll_seconds);
  }

  /** Takes the response to a batch of these rows, once the journal has dropped it. */
  answered(rows: readonly UsageRow[], limits: readonly BytesLeft[]): void {
    const now = this.#options.clock.steady();
    this.#answered_at = now;
    const named = new Map(limits.map((limit) => [limit.account, limit]));
    for (const account of new Set(rows.map((row) => row.account))) {
      // The account continues after its end has passed without a contract record.
      if ((this.#ended.get(account) ?? 0) <= this.#options.clock.now()) this.#ended.delete(account);
      const limit = named.get(account);
      const before = this.#limits.get(account);
      this.#limits.set(account, limit && { ...limit, noted_at: now, network_rate: 0 });
      const after = this.#limits.get(account);
      if (!before || !after || now <= before.noted_at) continue;
      after.network_rate = (before.left_bytes - after.left_bytes) / (now - before.noted_at);
    }
    const bytesLeft = this.#bytesLeft();
    for (const account of this.#ended.keys()) {
      if (!bytesLeft.has(account)) this.#letIn(account);
    }
    for (const [account, bytes] of bytesLeft) this.#follow(account, bytes);
  }

  /** The contract has changed, or, without an account, all: limits received are outdated. */
  forget(account?: number): void {
    for (const id of account === undefined ? [...this.#limits.keys()] : [account]) {
      this.#limits.delete(id);
      this.#ended.delete(id);
    }
  }

  #noteRates(rows: readonly UsageRow[]): void {
    const now = this.#options.clock.steady();
    const seconds = Math.max(now - this.#counted_at, shortestSeconds / 2);
    this.#counted_at = now;
    const rates = new Map<number, number>();
    for (const { account, up, down } of rows) {
      rates.set(account, (rates.get(account) ?? 0) + (up + down) / seconds);
    }
    // A single poll without traffic does not make an account slow.
    for (const [account, before] of this.#rates) {
      const rate = Math.max(rates.get(account) ?? 0, before / 2);
      if (rate > 1) rates.set(account, rate);
    }
    this.#rates = rates;
  }

  /** By account with a known limit: the bytes left now; negative if it is passed. */
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

  /**
   * How many seconds an account's remaining bytes last at the present rate. A guess, since other
   * nodes use them too.
   */
  #lasts(account: number, bytes: number): number {
    const { network_rate = 0, noted_at = 0 } = this.#limits.get(account) ?? {};
    const ownRate = this.#rates.get(account) ?? 0;
    // It has no traffic here that could be ended, whatever other nodes carry.
    if (ownRate === 0) return Number.POSITIVE_INFINITY;
    const others = Math.max(network_rate - ownRate, 0);
    const remaining = bytes - others * (this.#options.clock.steady() - noted_at);
    return Math.max(remaining, 0) / (ownRate + others);
  }

  /** Ends an account that has nothing left, and lets it in again if it has. */
  #follow(account: number, bytes: number): void {
    const now = this.#options.clock.now();
    const ended = this.#ended.get(account);
    if (bytes > 0) {
      if (ended !== undefined) this.#letIn(account);
      return;
    }
    const { left_bytes: reportedBytes = 0, until: period_end = 0 } =
      this.#limits.get(account) ?? {};
    // If the control plane knows it itself, the contract's record will come.
    if (ended !== undefined && (reportedBytes <= 0 || now < ended - endingSeconds / 2)) return;
    const until = Math.min(now + endingSeconds, period_end);
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
  return Math.min(maxSeconds, Math.max(shortestSeconds, seconds));
}
