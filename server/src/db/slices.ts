// Slices: a long list read a piece at a time, with a turn of the event loop between two pieces.
import { setImmediate } from 'node:timers/promises';
import type { Reader } from './database.ts';

/** As many rows as are read in one turn of the event loop. */
export const slice = 500;

/** The ids of a slice: after < id <= to. `isLast`: no row comes after it. */
export interface Ids {
  after: number;
  to: number;
  isLast: boolean;
}

/** The slices of an account's rows in a table with the key (account_id, id), whichever of them are wanted. */
export async function* idSlices(
  db: Reader,
  table: 'authlist' | 'overrides' | 'users',
  account_id: number,
): AsyncGenerator<Ids, void, void> {
  for (let after = 0; ; ) {
    const row = await db.one<{ id: number }>(
      `select id from ${table} where account_id = $1 and id > $2 order by id limit 1 offset ${slice - 1}`,
      [account_id, after],
    );
    const to = row?.id ?? Number.MAX_SAFE_INTEGER;
    yield { after, to, isLast: !row };
    if (!row) return;
    after = to;
    await setImmediate();
  }
}
