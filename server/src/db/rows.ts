// Rows that are written whole: the statements that insert or update one, built once from the names
// of its columns.
import type { Insertion, Transaction, Value } from './database.ts';

type Columns<R> = ReadonlyArray<keyof R & string>;

const valuesOf = <R>(row: R, columns: Columns<R>) => columns.map((column) => row[column] as Value);

/**
 * Inserts rows of a table. The function that it makes returns false, and writes nothing, when the
 * row would violate a unique index.
 */
export function inserter<R>(table: string, columns: Columns<R>) {
  const places = columns.map((_, at) => `$${at + 1}`);
  const sql = `insert into ${table} (${columns}) values (${places}) on conflict do nothing`;
  const insertion: Insertion = { table, columns, sql };
  return (tx: Transaction, row: R): Promise<boolean> =>
    tx.insert(insertion, valuesOf(row, columns));
}

/**
 * Updates these columns of the row with the same key. The function that it makes returns how many
 * rows changed.
 */
export function updater<R>(table: string, key: Columns<R>, columns: Columns<R>) {
  const all = [...columns, ...key];
  const places = columns.map((column, at) => `${column} = $${at + 1}`);
  const isKey = key.map((column, at) => `${column} = $${columns.length + at + 1}`);
  const sql = `update ${table} set ${places} where ${isKey.join(' and ')}`;
  return (tx: Transaction, row: R): Promise<number> => tx.run(sql, valuesOf(row, all));
}
