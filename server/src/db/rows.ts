// Rows that are written whole: the statements that insert or update one, built from its column
// names.
import type { Transaction, Value } from './database.ts';

type Columns<R> = ReadonlyArray<keyof R & string>;

const valuesOf = <R>(row: R, columns: Columns<R>) => columns.map((column) => row[column] as Value);

/** Inserts a row. Returns false, and writes nothing, when it would violate a unique index. */
export function insertRow<R>(
  tx: Transaction,
  table: string,
  columns: Columns<R>,
  row: R,
): Promise<boolean> {
  return tx.insert(
    table,
    Object.fromEntries(columns.map((column) => [column, row[column] as Value])),
  );
}

/** Updates these columns of the row with this key. Returns how many rows changed. */
export function updateRow<R>(
  tx: Transaction,
  table: string,
  key: Columns<R>,
  columns: Columns<R>,
  row: R,
): Promise<number> {
  const places = columns.map((column, at) => `${column} = $${at + 1}`);
  const isKey = key.map((column, at) => `${column} = $${columns.length + at + 1}`);
  return tx.run(
    `update ${table} set ${places} where ${isKey.join(' and ')}`,
    valuesOf(row, [...columns, ...key]),
  );
}
