// A list in pages with selectable rows: the rows read so far, and the selected ones.
import { useEffect, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { type Paged, type Query, type Row, usePages } from '../api/paging.ts';
import { type RowKey, type Selection, useSelection } from '../ui/ui.ts';
import type { OpenDialog } from './form_dialog.tsx';

const rowsOfPage = 100;

/** The selected rows. */
export interface Selected<T> {
  selected: readonly T[];
  selection: Selection;
}

/** The props of the bar with the actions on selected rows. */
export interface SelectedInBar<T> extends Selected<T> {
  open: OpenDialog;
}

/** The props of the dialogs of these actions. */
export interface SelectedInDialog<T> extends Selected<T> {
  onClose: () => void;
}

/** The most rows that can be selected. */
const maxSelected = 10_000;

interface ListOptions {
  /** The base of a scope, for an operation of accounts. */
  base?: string | undefined;
  /** Whether rows can be selected. */
  canSelect?: boolean;
}

/**
 * A list in pages, and `table`: the props of its table. "Select all" reads all matches, and follows
 * them like the rows that are shown. `key`: the field that identifies a row.
 */
export function useList<K extends Paged>(
  operation: K,
  key: keyof Row<K>,
  query: Query<K>,
  { base, canSelect = true }: ListOptions = {},
) {
  const pages = usePages(operation, { query, limit: rowsOfPage, base });
  const shown = pages.rows.data ?? [];
  const [columns, setColumns] = useAddressState('columns');
  const queryText = JSON.stringify(query);
  const [wholeQuery, readWhole] = useState('');
  const isWhole = wholeQuery === queryText;
  const reading = usePages(operation, {
    ...{ query, limit: 1000, base, upTo: maxSelected, enabled: isWhole },
  });
  const all = reading.rows.data ?? [];
  const isRead = isWhole && !reading.isOld && all.length > 0 && !reading.isToGoOn;
  const rows = isRead ? all.slice(0, maxSelected) : shown;
  const keyOf = (row: Row<K>) => row[key] as RowKey;
  const selection = useSelection(rows.map(keyOf));
  const isNone = selection.keys.size === 0;
  useEffect(() => {
    if (isRead) selection.setAll(true);
  }, [isRead]);
  // Once they are deselected, they aren't followed any more.
  useEffect(() => {
    if (isNone) readWhole('');
  }, [isNone]);
  const whole = {
    rows: Math.min(pages.found, maxSelected),
    isAll: pages.found <= maxSelected,
    isReading: isWhole && !isRead,
    select: () => readWhole(queryText),
  };
  const offered = { ...selection, ...(pages.hasMore && { whole }) };
  return {
    ...{ pages, rows: shown, selection: offered },
    selected: rows.filter((row) => selection.keys.has(keyOf(row))),
    table: {
      ...{ pages, rows: shown, choice: { text: columns, set: setColumns } },
      ...(canSelect && { selection: offered }),
    },
  };
}
