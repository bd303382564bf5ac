// Rolls old hours of usage up into days, and deletes days that are older, in slices while requests
// are served.
import { setImmediate as turn } from 'node:timers/promises';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';
import { dayOf, hourOf, periodAt } from '../values/periods.ts';
import * as store from './store.ts';
import { removeOldSums } from './sum_store.ts';

/** How many rows one transaction moves or removes. */
const slice = 500;
const system: Actor = { kind: 'system', name: 'usage', address: '', request_id: '' };

type Usage = Reader & Pick<Database, 'write'>;

interface Retention {
  /** How long hours are kept, and days, both counted from their traffic; 0: forever. */
  usage_hours_kept_seconds: number;
  usage_days_kept_seconds: number;
}

/**
 * Start of the day that a bucket is rolled up into: midnight UTC, or the start of a billing period
 * within that day, so that days add up to periods as hours do. The first period includes the hour
 * that it starts in.
 */
function dayOfBucket(contractStart: number, hour: number): number {
  const { start } = periodAt(contractStart, hour);
  const begins = [dayOf(hour), start, ...(start === contractStart ? [hourOf(start)] : [])];
  return Math.max(...begins.filter((begin) => begin <= hour));
}

/**
 * Each row leaves the hours and enters the days in one transaction, so the sums are the same at
 * every moment. Rows that a late report adds to hours already rolled up follow at the next look. It
 * can be stopped anywhere, and if several processes look, each row is moved by one of them.
 */
export class UsageRollUp {
  readonly #db: Usage;
  readonly #retention: Retention;
  readonly #startOf: (account_id: number) => Promise<number>;

  /** `startOf` returns when the billing periods of an account begin, in epoch seconds. */
  constructor(db: Usage, retention: Retention, startOf: (account_id: number) => Promise<number>) {
    this.#db = db;
    this.#retention = retention;
    this.#startOf = startOf;
  }

  /** Rolls up and removes rows that are too old at `now`; returns how many. */
  async look(now: number, stopped = () => false): Promise<number> {
    const { usage_hours_kept_seconds: hours, usage_days_kept_seconds: days } = this.#retention;
    let all = 0;
    if (hours > 0) {
      const before = dayOf(now - hours);
      for await (const account_id of this.#withOlder('usage_hours', before, stopped)) {
        const start = await this.#startOf(account_id);
        all += await this.#inSlices(stopped, (tx) => rollUp(tx, account_id, start, before));
        await this.#inSlices(stopped, (tx) =>
          store.removeOldest(tx, 'usage_server_hours', account_id, before, slice),
        );
      }
      await this.#inSlices(stopped, (tx) => removeOldSums(tx, 'hour', before, slice));
    }
    if (days > 0) {
      const before = dayOf(now - days);
      for await (const account_id of this.#withOlder('usage_days', before, stopped)) {
        all += await this.#inSlices(stopped, (tx) =>
          store.removeOldest(tx, 'usage_days', account_id, before, slice),
        );
      }
      // A day's sum is there as long as the day or its hours.
      if (hours > 0) {
        const ofDays = dayOf(now - Math.max(hours, days));
        await this.#inSlices(stopped, (tx) => removeOldSums(tx, 'day', ofDays, slice));
      }
    }
    return all;
  }

  /** The accounts with rows from before this time, one after another. */
  async *#withOlder(
    table: 'usage_hours' | 'usage_days',
    before: number,
    stopped: () => boolean,
  ): AsyncGenerator<number, void, void> {
    for (let account_id = 0; !stopped(); ) {
      const next = await store.oldestAfter(this.#db, table, account_id);
      if (!next) return;
      account_id = next.account_id;
      if (next.oldest < before) yield account_id;
      else await turn();
    }
  }

  async #inSlices(stopped: () => boolean, work: (tx: Transaction) => Promise<number>) {
    for (let all = 0; ; await turn()) {
      const count = await this.#db.write(system, work);
      all += count;
      if (count < slice || stopped()) return all;
    }
  }
}

/** Moves a slice of an account's oldest hours; returns how many rows it moved. */
async function rollUp(tx: Transaction, account_id: number, start: number, before: number) {
  const buckets = await store.takeOldest(tx, account_id, before, slice);
  const days = new Map<string, store.UsageBucket>();
  for (const bucket of buckets) {
    const hour = dayOfBucket(start, bucket.hour);
    const key = `${hour} ${bucket.server_id} ${bucket.user_id}`;
    const sum = days.get(key);
    if (sum) {
      sum.up = store.safeBytes(sum.up + bucket.up);
      sum.down = store.safeBytes(sum.down + bucket.down);
    } else days.set(key, { ...bucket, hour });
  }
  if (days.size > 0) await store.addDays(tx, Array.from(days.values()));
  return buckets.length;
}
