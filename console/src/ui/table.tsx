// A table on a wide screen, a list of cards on a phone: the same rows, each cell with its heading.
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  heading: string;
  cell: (row: T) => ComponentChildren;
  /** Figures stand right. */
  numeric?: boolean;
  /** The cell that names the row. */
  names?: boolean;
}

export interface TableProps<T> {
  /** The name of the table, for screen readers. */
  caption: string;
  columns: Array<Column<T>>;
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  /** Buttons of a row. */
  actions?: (row: T) => ComponentChildren;
  /** Rows that are not in force any more. */
  isFaint?: (row: T) => boolean;
}

export function Table<T>({ caption, columns, rows, keyOf, actions, isFaint }: TableProps<T>) {
  return (
    <div class="table-frame">
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ heading, numeric }) => (
              <th key={heading} scope="col" class={numeric ? 'numeric' : undefined}>
                {heading}
              </th>
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
            <tr key={keyOf(row)} class={isFaint?.(row) ? 'faint' : undefined}>
              {columns.map(({ heading, cell, numeric, names }) => {
                const Cell = names ? 'th' : 'td';
                return (
                  <Cell
                    key={heading}
                    data-heading={heading}
                    scope={names ? 'row' : undefined}
                    class={numeric ? 'numeric' : undefined}
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
