// Slices: a long list is read in pieces, with a turn of the event loop between them.
import { setImmediate as turn } from 'node:timers/promises';
import type { Reader } from './database.ts';

/** The number of rows that are read in one turn of the event loop. */
export const slice = 500;

/** The ids of a slice: after < id <= to. `isLast`: no row follows. */
export interface Ids {
  after: number;
  to: number;
  isLast: boolean;
}

/**
 * The slices of a table's ids, `rows` in each; of one account, or of all rows if the table has no
 * accounts.
 */
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

/** Rows one after another, with turns of the event loop for other work in between. */
export async function* inTurns<T>(rows: readonly T[]): AsyncGenerator<T, void, void> {
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % 100 === 0) await turn();
    yield row;
  }
}
