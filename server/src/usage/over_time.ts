// The usage of all accounts over time: the accounts or servers with the most, and all others
// together.
import type { Reader } from '../db/database.ts';
import * as store from './store.ts';

/** How many hours one turn of the event loop reads, of one page of accounts. */
const hoursOfSlice = 24;
const hourSeconds = 3600;

export interface UsageSpan {
  from: number;
  to: number;
  /** The width of a step: an hour or a day, in seconds. */
  step: number;
}

/** The rows of these accounts, a slice of a day at a time. */
export async function* bytesOverTime(
  db: Reader,
  pages: AsyncIterable<{ account_ids: readonly number[]; isLast: boolean }>,
  { from, to, step }: UsageSpan,
): AsyncGenerator<{ rows: store.NetworkBytes[]; isLast: boolean }, void, void> {
  for await (const { account_ids, isLast } of pages) {
    for (let start = from; start < to; start += hoursOfSlice * hourSeconds) {
      const end = Math.min(start + hoursOfSlice * hourSeconds, to);
      const rows = await store.bytesOfAccounts(db, account_ids, { from: start, to: end, step });
      yield { rows, isLast: isLast && end === to };
    }
  }
}

export interface UsagePart {
  /** Of the account or server; null: all others together. */
  id: number | null;
  total: number;
  /** One for each step with traffic. */
  steps: Array<{ at: number; bytes: number }>;
}

/** The parts with the most bytes, at most so many, then the others, if there are any. */
export async function largestParts(
  slices: AsyncIterable<{ rows: store.NetworkBytes[] }>,
  by: 'account' | 'server',
  maxParts: number,
): Promise<UsagePart[]> {
  const byId = new Map<number, Map<number, number>>();
  for await (const { rows } of slices) {
    for (const row of rows) {
      const id = by === 'account' ? row.account_id : row.server_id;
      const steps = byId.get(id) ?? new Map<number, number>();
      steps.set(row.at, (steps.get(row.at) ?? 0) + row.bytes);
      byId.set(id, steps);
    }
  }
  const sumOf = (steps: Map<number, number>) =>
    Array.from(steps.values()).reduce((sum, bytes) => sum + bytes, 0);
  const ordered = Array.from(byId, ([id, steps]) => ({ id, steps, total: sumOf(steps) })).sort(
    (a, b) => b.total - a.total || a.id - b.id,
  );
  const others = new Map<number, number>();
  for (const { steps } of ordered.slice(maxParts)) {
    for (const [at, bytes] of steps) others.set(at, (others.get(at) ?? 0) + bytes);
  }
  const part = (id: number | null, steps: Map<number, number>): UsagePart => ({
    id,
    total: store.safeBytes(sumOf(steps)),
    steps: Array.from(steps, ([at, bytes]) => ({ at, bytes: store.safeBytes(bytes) })).sort(
      (a, b) => a.at - b.at,
    ),
  });
  return [
    ...ordered.slice(0, maxParts).map(({ id, steps }) => part(id, steps)),
    ...(others.size > 0 ? [part(null, others)] : []),
  ];
}
