// A table on a wide screen, a list of short cards on a phone: the same rows, each cell with its
// heading. It can be sorted, and rows can be selected.
import type { ComponentChildren } from 'preact';
import { AllCheck, RowCheck } from './row_check.tsx';
import type { Selection } from './selection.ts';

export interface Column<T> {
  heading: string;
  cell: (row: T) => ComponentChildren;
  /** Figures, aligned to the right. */
  numeric?: boolean;
  /** The cell that names the row. */
  names?: boolean;
  /** Long texts, which are cut on a wide screen. */
  long?: boolean;
  /** Shown only on very wide screens. */
  minor?: boolean;
  /** The name of the order by this column, if the table can be sorted. */
  sort?: string;
}

/** The order of the rows. */
export interface Sorting {
  by: string;
  isDescending: boolean;
  onSort: (by: string) => void;
}

export interface TableProps<T> {
  /** The name of the table, for screen readers. */
  caption: string;
  columns: Array<Column<T>>;
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  /** Buttons of a row. */
  actions?: (row: T) => ComponentChildren;
  /** Rows that are no longer in effect. */
  isFaint?: (row: T) => boolean;
  sorting?: Sorting | undefined;
  selection?: Selection | undefined;
  /** The name of a row, if rows can be selected. */
  nameOf?: (row: T) => string;
  /** Whether rows have one line. */
  compact?: boolean;
}

export function Table<T>(props: TableProps<T>) {
  const { caption, columns, rows, keyOf, actions, isFaint, sorting, selection } = props;
  const { nameOf = keyOf, compact = false } = props;
  return (
    <div class="table-frame">
      <table class={compact ? 'table compact' : 'table'}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {selection && (
              <th scope="col" class="check-cell">
                <AllCheck selection={selection} rows={rows.length} />
              </th>
            )}
            {columns.map((column) => (
              <Head key={column.heading} column={column as Column<never>} sorting={sorting} />
            ))}
            {actions && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class={
                [isFaint?.(row) && 'faint', selection?.keys.has(keyOf(row)) && 'chosen']
                  .filter(Boolean)
                  .join(' ') || undefined
              }
            >
              {selection && (
                <td class="check-cell">
                  <RowCheck selection={selection} of={keyOf(row)} label={`Select ${nameOf(row)}`} />
                </td>
              )}
              {columns.map((column) => {
                const { heading, cell, names } = column;
                const Cell = names ? 'th' : 'td';
                return (
                  <Cell
                    key={heading}
                    data-heading={heading}
                    scope={names ? 'row' : undefined}
                    class={classOf(column)}
                  >
                    {cell(row)}
                  </Cell>
                );
              })}
              {actions && <td class="row-actions">{actions(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const classOf = ({ numeric, long, minor }: Omit<Column<never>, 'cell'>) =>
  [numeric && 'numeric', long && 'long', minor && 'minor'].filter(Boolean).join(' ') || undefined;

function Head({ column, sorting }: { column: Column<never>; sorting: Sorting | undefined }) {
  const { heading, sort } = column;
  const isSorted = sort !== undefined && sorting?.by === sort;
  const order = sorting?.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={isSorted ? order : undefined}>
      {sorting && sort !== undefined ? (
        <button type="button" class="sort-button" onClick={() => sorting.onSort(sort)}>
          {heading}
        </button>
      ) : (
        heading
      )}
    </th>
  );
}
