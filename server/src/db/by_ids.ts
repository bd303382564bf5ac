// Rows of an account by their ids, however many: found and deleted a slice at a time.
import type { Reader, Transaction, Value } from './database.ts';
import { findByKeys, type Key, listOfKeys, paddedPairs } from './one_of.ts';
import { slice } from './slices.ts';

interface Selection {
  /** SQL up to its conditions, such as `select a.* from authlist a`. */
  select: string;
  /** The name of the rows in it: `a`. */
  row: string;
  /** A further condition, and the values of its placeholders. */
  where?: string;
  values?: readonly Value[];
}

/** Finds the selected rows with these ids. Returns a function that looks one up by its id. */
export async function findByIds<R extends { account_id: number; id: number }>(
  db: Reader,
  { select, row, where = '1 = 1', values = [] }: Selection,
  account_id: number,
  ids: readonly number[],
): Promise<(id: number) => R | undefined> {
  const find = await findByKeys<R>(
    ids.map((id): Key => [account_id, id]),
    ({ account_id, id }) => [account_id, id],
    (keys) => {
      const { list, values: ofKeys } = paddedPairs(keys, 'bigint', values.length + 1);
      const isOneOf = `(${row}.account_id, ${row}.id) in ${list}`;
      return db.all(`${select} where ${where} and ${isOneOf}`, [...values, ...ofKeys]);
    },
  );
  return (id) => find(account_id, id);
}

/** Deletes the rows of a table with these keys; `id` is the column of the ids. */
export async function deleteByKeys(
  tx: Transaction,
  table: string,
  keys: readonly Key[],
  id = 'id',
): Promise<void> {
  for (let at = 0; at < keys.length; at += slice) {
    const { list, values } = listOfKeys(keys.slice(at, at + slice));
    await tx.run(`delete from ${table} where (account_id, ${id}) in ${list}`, values);
  }
}
