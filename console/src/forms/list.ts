// A list in pages with selectable rows: the rows read so far, and the selected ones.
import { type Paged, type Query, type Row, usePages } from '../api/paging.ts';
import { type RowKey, type Selection, useSelection } from '../ui/ui.ts';
import type { OpenDialog } from './form_dialog.tsx';

const rowsOfPage = 100;

/** The selected rows. */
export interface Chosen<T> {
  chosen: readonly T[];
  selection: Selection;
}

/** The props of the bar with the actions on selected rows. */
export interface ChosenInBar<T> extends Chosen<T> {
  open: OpenDialog;
}

/** The props of the dialogs of these actions. */
export interface ChosenInDialog<T> extends Chosen<T> {
  onClose: () => void;
}

/** `key`: the field that identifies a row. `base`: of a scope, for an operation of accounts. */
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
