// The SQL of the sums by hour and by day: of the network, of each account and of each server.
import type { Reader, Transaction } from '../db/database.ts';
import { idCondition } from '../db/one_of.ts';
import { addRows } from './store.ts';

/** The network, whose id is 0, and each account and server have sums. */
export const kinds = { network: 0, account: 1, server: 2 } as const;
export type Kind = keyof typeof kinds;
export type Unit = 'hour' | 'day';

export interface Sum {
  kind: number;
  id: number;
  /** The start of the hour or (UTC) day. */
  at: number;
  bytes: number;
}

/** How many ids one statement names. */
const maxIds = 512;

export async function addSums(tx: Transaction, unit: Unit, sums: readonly Sum[]): Promise<void> {
  const rows = sums.map(({ at, ...sum }) => ({ ...sum, [unit]: at }));
  await addRows(tx, `usage_${unit}_sums`, `kind, ${unit}, id`, ['bytes'], rows);
  if (unit === 'hour') return;
  const groups = Map.groupBy(sums, ({ kind, at }) => `${kind} ${at}`);
  for (const group of groups.values()) await rank(tx, group);
}

/** The sums of one kind and day get their rank. */
async function rank(tx: Transaction, sums: readonly Sum[]): Promise<void> {
  for (let from = 0; from < sums.length; from += maxIds) {
    const part = sums.slice(from, from + maxIds);
    const { sql, ids } = idCondition(
      'id',
      part.map(({ id }) => id),
      3,
    );
    await tx.run(
      `update usage_day_sums set ranked = bytes
       where kind = $1 and day = $2 and ${sql} and bytes - ranked > ranked / 100`,
      [part[0]?.kind ?? 0, part[0]?.at ?? 0, ...ids],
    );
  }
}

/** The bytes of the network in from <= at < to. */
export function networkSums(db: Reader, unit: Unit, from: number, to: number): Promise<Sum[]> {
  return db.all(
    `select kind, id, ${unit} as at, bytes from usage_${unit}_sums
     where kind = ${kinds.network} and ${unit} >= $1 and ${unit} < $2`,
    [from, to],
  );
}

/** The bytes of each of these accounts or servers at each of these times. */
export function sumsOf(
  db: Reader,
  unit: Unit,
  kind: Kind,
  ids: readonly number[],
  times: readonly number[],
): Promise<Sum[]> {
  const at = idCondition(unit, times, 2);
  const id = idCondition('id', ids, 2 + at.ids.length);
  return db.all(
    `select kind, id, ${unit} as at, bytes from usage_${unit}_sums
     where kind = $1 and ${at.sql} and ${id.sql}`,
    [kinds[kind], ...at.ids, ...id.ids],
  );
}

/** The accounts or servers with the most bytes on a day, in order, give or take one percent. */
export async function largestOfDay(db: Reader, kind: Kind, day: number, maxIds: number) {
  const rows = await db.all<{ id: number }>(
    `select id from usage_day_sums where kind = $1 and day = $2
     order by ranked desc, id desc limit $3`,
    [kinds[kind], day, maxIds],
  );
  return rows.map(({ id }) => id);
}

/** Removes the oldest sums before a time, at most so many of each kind; returns how many. */
export async function removeOldSums(
  tx: Transaction,
  unit: Unit,
  before: number,
  maxSums: number,
): Promise<number> {
  let removed = 0;
  for (const kind of Object.values(kinds)) {
    removed += await tx.run(
      `delete from usage_${unit}_sums where kind = $1 and (${unit}, id) in
       (select ${unit}, id from usage_${unit}_sums where kind = $1 and ${unit} < $2
        order by ${unit}, id limit $3)`,
      [kind, before, maxSums],
    );
  }
  return removed;
}
