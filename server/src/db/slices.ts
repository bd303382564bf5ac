// Slices: a long list read a piece at a time, with a turn of the event loop between two pieces.
import { setImmediate as turn } from 'node:timers/promises';
import type { Reader } from './database.ts';

/** As many rows as are read in one turn of the event loop. */
export const slice = 500;

/** The ids of a slice: after < id <= to. `isLast`: no row comes after it. */
export interface Ids {
  after: number;
  to: number;
  isLast: boolean;
}

/** The slices of a table's ids, `rows` in each: those of an account, or of all rows where it has no accounts. */
export async function* idSlices(
  db: Reader,
  table: string,
  rows: number,
  account_id?: number,
): AsyncGenerator<Ids, void, void> {
  const [ofAccount, account] =
    account_id === undefined ? ['', []] : ['account_id = $2 and', [account_id]];
  const sql = `select id from ${table} where ${ofAccount} id > $1 order by id limit 1 offset ${rows - 1}`;
  for (let after = 0; ; ) {
    const last = await db.one<{ id: number }>(sql, [after, ...account]);
    yield { after, to: last?.id ?? Number.MAX_SAFE_INTEGER, isLast: !last };
    if (!last) return;
    after = last.id;
    await turn();
  }
}

/** Rows one after another, for work on each; after some, others have a turn of the event loop. */
export async function* inTurns<T>(rows: readonly T[]): AsyncGenerator<T, void, void> {
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % 100 === 0) await turn();
    yield row;
  }
}
