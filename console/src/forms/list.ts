// A list in pages whose rows can be chosen: what was read of it, and what is chosen there.
import { type Paged, type Query, type Row, usePages } from '../api/paging.ts';
import { type RowKey, useSelection } from '../ui/ui.ts';

const rowsOfPage = 100;

/** `key`: the field that tells a row from the others. `base`: of a scope, for an operation of accounts. */
export function useList<K extends Paged>(
  operation: K,
  key: keyof Row<K>,
  query: Query<K>,
  base?: string,
) {
  const pages = usePages(operation, { query, limit: rowsOfPage, base });
  const rows = pages.rows.data ?? [];
  const keyOf = (row: Row<K>) => row[key] as RowKey;
  const selection = useSelection(rows.map(keyOf));
  const chosen = rows.filter((row) => selection.keys.has(keyOf(row)));
  return { pages, rows, selection, chosen };
}
