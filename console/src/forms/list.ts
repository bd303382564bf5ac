// A list in pages whose rows can be chosen: what was read of it, and what is chosen there.
import { type Paged, type Query, type Row, usePages } from '../api/paging.ts';
import { type RowKey, type Selection, useSelection } from '../ui/ui.ts';
import type { OpenDialog } from './form_dialog.tsx';

const rowsOfPage = 100;

/** The rows that are chosen. */
export interface Chosen<T> {
  chosen: readonly T[];
  selection: Selection;
}

/** The bar that offers what can be done with them takes these. */
export interface ChosenInBar<T> extends Chosen<T> {
  open: OpenDialog;
}

/** The dialog that does it takes these. */
export interface ChosenInDialog<T> extends Chosen<T> {
  onClose: () => void;
}

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
