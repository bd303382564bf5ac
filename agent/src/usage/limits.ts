// Enforces the limits of accounts, or of users, before the control plane does: near a limit the
// engine is polled more often, and traffic over the limit is ended at once.
import type { Logger } from 'pino';
import type { UsageRow } from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from './journal.ts';

/** The bytes left until `until` (epoch seconds), as the control plane sent them. */
interface Left {
  left_bytes: number;
  until: number;
}

export type BytesLeft = Left & { account: number };
export type UserBytesLeft = BytesLeft & { user: number };

/** An account, or a user of it. */
export interface Payer {
  account: number;
  user?: number;
}

/** Near a limit, polls and reports are no more frequent than this. */
const shortestSeconds = 0.1;
const soonestSeconds = 0.02;
/**
 * Payers are let in again if their end is not renewed for this long, so that a node that stops
 * counting does not refuse them for good.
 */
const endingSeconds = 30;

/** A payer's limit, as last received. */
interface Limit extends Left {
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
  /** Whether these are the limits of accounts, or those of users. */
  of: 'accounts' | 'users';
  /** Ends a payer's open connections, and refuses new ones until then; with 0 lets it in again. */
  end: (payer: Payer, until: number) => void;
  /** Reports at once what was counted. */
  report: () => void;
}

/**
 * The bytes left are those that the control plane sent, minus the bytes counted since. Other nodes
 * only reduce them, so a payer without bytes by this count has none left.
 */
export class Limits {
  readonly #options: LimitsOptions;
  /** By payer; undefined: it has no limit. */
  readonly #limits = new Map<string, Limit | undefined>();
  /** By payer: bytes per second that this node counts. */
  #rates = new Map<string, number>();
  /** The payers that are ended, and until when (epoch seconds). */
  readonly #ended = new Map<string, number>();
  #lastCountAt: number;
  #lastAnswerAt = Number.NEGATIVE_INFINITY;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#lastCountAt = options.clock.steady();
  }

  /**
   * Takes the rows of a poll; returns the seconds until the next one is due: half of the time that
   * the bytes will last, so that there is time for a correction. Reports become more frequent, too,
   * since they show other nodes what is left.
   */
  counted(rows: readonly UsageRow[]): number {
    const { poll_seconds, report_seconds, clock } = this.#options;
    this.#noteRates(rows);
    const bytesLeft = this.#bytesLeft();
    let soonest = Number.POSITIVE_INFINITY;
    for (const [key, bytes] of bytesLeft) {
      if (!this.#ended.has(key)) soonest = Math.min(soonest, this.#lasts(key, bytes));
      this.#follow(key, bytes);
    }
    // A new account may have little left, so its limit is requested at once. Of the many users few
    // have a limit, so new ones wait for the next report.
    const isUnknown =
      this.#options.of === 'accounts' && rows.some((row) => !this.#limits.has(this.#keyOf(row)));
    const due = isUnknown ? 0 : within(soonest / 6, report_seconds);
    const waited = clock.steady() - this.#lastAnswerAt;
    if (due < report_seconds && waited >= due) this.#options.report();
    // The last poll comes exactly when the limit will be reached.
    return soonest > 0 && soonest < shortestSeconds
      ? Math.max(soonest, soonestSeconds)
      : within(soonest / 2, poll_seconds);
  }

  /** Takes the response to a batch of these rows, after the journal has dropped the batch. */
  answered(rows: readonly UsageRow[], limits: ReadonlyArray<Payer & Left>): void {
    const now = this.#options.clock.steady();
    this.#lastAnswerAt = now;
    const named = new Map(limits.map((limit) => [this.#keyOf(limit), limit]));
    for (const key of new Set(rows.map((row) => this.#keyOf(row)))) {
      // If the end has passed without a record of the payer, the payer continues.
      if ((this.#ended.get(key) ?? 0) <= this.#options.clock.now()) this.#ended.delete(key);
      const limit = named.get(key);
      const before = this.#limits.get(key);
      const after = limit && { ...limit, noted_at: now, network_rate: 0 };
      if (after || this.#options.of === 'accounts') this.#limits.set(key, after);
      else this.#limits.delete(key);
      if (!before || !after || now <= before.noted_at) continue;
      after.network_rate = (before.left_bytes - after.left_bytes) / (now - before.noted_at);
    }
    const bytesLeft = this.#bytesLeft();
    for (const key of this.#ended.keys()) {
      if (!bytesLeft.has(key)) this.#letIn(key);
    }
    for (const [key, bytes] of bytesLeft) this.#follow(key, bytes);
  }

  /** Drops a payer's limit, whose record has changed; without an argument, all limits. */
  forget(payer?: Payer): void {
    for (const key of payer === undefined ? [...this.#limits.keys()] : [this.#keyOf(payer)]) {
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#limits.delete(key);
    this.#ended.delete(key);
  }

  #keyOf({ account, user }: Payer): string {
    return this.#options.of === 'accounts' ? `${account}` : `${account} ${user}`;
  }

  #noteRates(rows: readonly UsageRow[]): void {
    const now = this.#options.clock.steady();
    const seconds = Math.max(now - this.#lastCountAt, shortestSeconds / 2);
    this.#lastCountAt = now;
    const rates = new Map<string, number>();
    for (const row of rows) {
      const key = this.#keyOf(row);
      rates.set(key, (rates.get(key) ?? 0) + (row.up + row.down) / seconds);
    }
    // A single poll without traffic does not make a payer slow.
    for (const [key, before] of this.#rates) {
      const rate = Math.max(rates.get(key) ?? 0, before / 2);
      if (rate > 1) rates.set(key, rate);
    }
    this.#rates = rates;
  }

  /** By payer with a limit, the bytes left now; negative if it is over the limit. */
  #bytesLeft(): Map<string, number> {
    const now = this.#options.clock.now();
    const bytesLeft = new Map<string, number>();
    for (const [key, limit] of this.#limits) {
      if (!limit) continue;
      if (now < limit.until) bytesLeft.set(key, limit.left_bytes);
      else this.#drop(key);
    }
    if (bytesLeft.size === 0) return bytesLeft;
    for (const row of this.#options.journal.pending()) {
      const key = this.#keyOf(row);
      const bytes = bytesLeft.get(key);
      if (bytes !== undefined) bytesLeft.set(key, bytes - row.up - row.down);
    }
    return bytesLeft;
  }

  /**
   * How many seconds a payer's remaining bytes last at the current rate. An estimate, since other
   * nodes use them, too.
   */
  #lasts(key: string, bytes: number): number {
    const { network_rate = 0, noted_at = 0 } = this.#limits.get(key) ?? {};
    const ownRate = this.#rates.get(key) ?? 0;
    // Without traffic here there is nothing to end.
    if (ownRate === 0) return Number.POSITIVE_INFINITY;
    const others = Math.max(network_rate - ownRate, 0);
    const remaining = bytes - others * (this.#options.clock.steady() - noted_at);
    return Math.max(remaining, 0) / (ownRate + others);
  }

  /** Ends a payer without bytes left, and lets it in again when it has some. */
  #follow(key: string, bytes: number): void {
    const now = this.#options.clock.now();
    const ended = this.#ended.get(key);
    if (bytes > 0) {
      if (ended !== undefined) this.#letIn(key);
      return;
    }
    const { left_bytes: reportedBytes = 0, until: periodEnd = 0 } = this.#limits.get(key) ?? {};
    // If the control plane counts it as over the limit, too, its record will end the payer.
    if (ended !== undefined && (reportedBytes <= 0 || now < ended - endingSeconds / 2)) return;
    const until = Math.min(now + endingSeconds, periodEnd);
    if (ended === until) return;
    this.#end(key, until);
  }

  #letIn(key: string): void {
    this.#end(key, 0);
    this.#ended.delete(key);
  }

  #end(key: string, until: number): void {
    const { end, log, report } = this.#options;
    const [account = 0, user] = key.split(' ').map(Number);
    const payer = user === undefined ? { account } : { account, user };
    try {
      end(payer, until);
      if (!this.#ended.has(key)) {
        log.info(payer, 'a limit of traffic is reached');
        report();
      }
      this.#ended.set(key, until);
    } catch (error) {
      log.warn({ err: error, ...payer }, 'connections over a limit cannot be ended early');
    }
  }
}

function within(seconds: number, maxSeconds: number): number {
  return Math.min(maxSeconds, Math.max(shortestSeconds, seconds));
}
