// The usage of all accounts over time: the accounts or servers with the most, and all others
// together. It reads stored sums, whose number does not grow with the network.
import type { Reader } from '../db/database.ts';
import { dayOf, daySeconds } from '../values/periods.ts';
import { safeBytes } from './store.ts';
import * as store from './sum_store.ts';

/**
 * An account or server has a part of its own if it is among so many with the most bytes on any day
 * of the span; all others are one part.
 */
export const comparedOfDay = 50;
/** How many of them, and how many days, are read in one turn of the event loop. */
const idsOfSlice = 8;
const daysOfSlice = 32;
const hourSeconds = 3600;

/** Full hours. */
export interface UsageSpan {
  from: number;
  to: number;
  /** The width of a step: an hour or a day, in seconds. */
  step: number;
}

interface Slice {
  sums: store.Sum[];
  isLast: boolean;
}

/** The sums of the network, then those of the accounts or servers that are compared. */
export async function* sumsOverTime(
  db: Reader,
  by: 'account' | 'server',
  span: UsageSpan,
): AsyncGenerator<Slice, void, void> {
  const pieces = piecesOf(span);
  const network = pieces.map(({ unit, from, to }) => store.networkSums(db, unit, from, to));
  const sums = (await Promise.all(network)).flat();
  yield { sums, isLast: sums.length === 0 };
  const compared = new Set<number>();
  const days = timesIn(dayOf(span.from), span.to, daySeconds);
  for (const slice of chunks(days, daysOfSlice)) {
    for (const day of slice) {
      for (const id of await store.largestOfDay(db, by, day, comparedOfDay)) compared.add(id);
    }
    yield { sums: [], isLast: false };
  }
  for (const ids of chunks(Array.from(compared), idsOfSlice)) {
    const reads = pieces.map(({ unit, from, to, seconds }) =>
      store.sumsOf(db, unit, by, ids, timesIn(from, to, seconds)),
    );
    yield { sums: (await Promise.all(reads)).flat(), isLast: false };
  }
}

/** The stored sums that add up to a span: its whole days, and the hours before and after them. */
function piecesOf({ from, to, step }: UsageSpan) {
  const hours = { unit: 'hour', seconds: hourSeconds } as const;
  const firstDay = Math.ceil(from / daySeconds) * daySeconds;
  const lastDay = dayOf(to);
  if (step === hourSeconds || firstDay >= lastDay) return [{ ...hours, from, to }];
  return [
    { ...hours, from, to: firstDay },
    { unit: 'day', seconds: daySeconds, from: firstDay, to: lastDay } as const,
    { ...hours, from: lastDay, to },
  ].filter((piece) => piece.from < piece.to);
}

function timesIn(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => from + at * step);
}

function* chunks<T>(items: readonly T[], size: number): Generator<T[], void, void> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
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
  slices: AsyncIterable<Pick<Slice, 'sums'>>,
  { step }: Pick<UsageSpan, 'step'>,
  maxParts: number,
): Promise<UsagePart[]> {
  const others = new Map<number, number>();
  const byId = new Map<number, Map<number, number>>();
  for await (const { sums } of slices) {
    for (const { kind, id, at, bytes } of sums) {
      const steps = kind === store.kinds.network ? others : (byId.get(id) ?? new Map());
      if (steps !== others) byId.set(id, steps);
      add(steps, at - (at % step), bytes);
    }
  }
  const largest = Array.from(byId, ([id, steps]) => partOf(id, steps))
    .sort((a, b) => b.total - a.total || (a.id ?? 0) - (b.id ?? 0))
    .slice(0, maxParts);
  for (const { steps } of largest) for (const { at, bytes } of steps) add(others, at, -bytes);
  const rest = partOf(null, others);
  return rest.total > 0 ? [...largest, rest] : largest;
}

function add(steps: Map<number, number>, at: number, bytes: number): void {
  steps.set(at, (steps.get(at) ?? 0) + bytes);
}

function partOf(id: number | null, sums: Map<number, number>): UsagePart {
  const steps = Array.from(sums, ([at, bytes]) => ({ at, bytes: safeBytes(bytes) }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => a.at - b.at);
  return { id, total: safeBytes(steps.reduce((sum, { bytes }) => sum + bytes, 0)), steps };
}
