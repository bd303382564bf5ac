// The table: on a wide screen as many columns as have room, on a phone a list of short cards. It
// can be sorted, its rows and columns selected, and it may be read page by page.
import type { ComponentChildren } from 'preact';
import { Button, IconButton } from './button.tsx';
import { Empty } from './card.tsx';
import {
  type Column,
  type ColumnChoice,
  columnsIn,
  gridOf,
  isWanted,
  withColumn,
  wordOf,
} from './columns.ts';
import { Menu, type MenuItem } from './menu.tsx';
import { AllCheck, RowCheck } from './row_check.tsx';
import type { RowKey, Selection } from './selection.ts';
import { markMore, useWidth } from './width.ts';

/** The order of the rows. */
export interface Sorting {
  by: string;
  isDescending: boolean;
  onSort: (by: string) => void;
}

/** The part of a long list that was read. */
export interface ReadSoFar {
  /** The length of the list, and the number of matches; for lists that have them. */
  total: number;
  found: number;
  hasMore: boolean;
  isReading: boolean;
  /** Whether the rows are those of the previous query, until the new ones are there. */
  isOld: boolean;
  readMore: () => void;
}

/** An action on a row: a button with an icon, or in a narrow table an item of its menu. */
export interface RowAction extends MenuItem {
  /** Its full name, if not the text and the name of the row. */
  label?: string;
  /** Whether the button shows the text. */
  isWritten?: boolean;
  /** Whether it is in the menu of the row, however wide the table is. */
  inMenu?: boolean;
}

interface LongProps<T> {
  columns: ReadonlyArray<Column<T>>;
  rows: readonly T[];
  /** A list that is read in pages: the number of its rows is above them. */
  pages?: ReadSoFar;
  sorting?: Sorting | undefined;
  selection?: Selection | undefined;
  /** The selected columns, if they can be selected. */
  choice?: ColumnChoice | undefined;
}

export interface TableProps<T> extends LongProps<T> {
  /** The name of the table, for screen readers. */
  caption: string;
  keyOf: (row: T) => RowKey;
  /** The name of a row, if not its key. */
  nameOf?: (row: T) => string;
  actions?: (row: T) => RowAction[];
  /** Rows that are no longer in effect. */
  isFaint?: (row: T) => boolean;
  /** Whether rows have one line, as in lists in pages. */
  compact?: boolean;
  /** Buttons next to the count. */
  buttons?: ComponentChildren;
  /** The name of a row, if not entry. */
  one?: string;
  many?: string;
}

/** The parts of a table's props that a page takes from its list and hands on. */
export type ListProps<T> = Omit<LongProps<T>, 'columns'> & Pick<TableProps<T>, 'buttons'>;

/** In rem: where a table is narrower, the actions of a row are a menu. */
const roomForButtons = 48;
/** In rem: a card on a phone has facts in a few lines. */
const roomOfCard = 40;
const isPhone = () => matchMedia('(width < 44rem)').matches;

export function Table<T>(props: TableProps<T>) {
  const { caption, rows, keyOf, isFaint, sorting, selection, choice, pages } = props;
  const { nameOf = keyOf, compact = pages !== undefined } = props;
  const { ref, width } = useWidth<HTMLDivElement>();
  const isNarrow = width < roomForButtons;
  const actions = rows.map((row) => props.actions?.(row) ?? []);
  const hasActions = actions.some(({ length }) => length > 0);
  const room = isPhone()
    ? roomOfCard
    : width - (selection ? 2.5 : 0) - actionsRoom(actions, isNarrow);
  const isFilled = ({ fills }: Column<T>) => !fills || rows.some(fills);
  const columns = compact
    ? columnsIn(props.columns, choice?.text ?? '', room, isFilled)
    : props.columns;
  const hasEnd = hasActions || choice;
  const grid = [selection && 'max-content', gridOf(columns), hasEnd && 'max-content'];
  const table = (
    <div ref={ref} class="table-frame" onScroll={({ currentTarget }) => markMore(currentTarget)}>
      <table
        class={compact ? 'table compact' : 'table'}
        style={compact ? { '--columns': grid.filter(Boolean).join(' ') } : undefined}
      >
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
            {hasEnd && (
              <th scope="col" class="row-actions">
                <span class="visually-hidden">Actions</span>
                {choice && (
                  <ColumnMenu columns={props.columns as readonly Column<never>[]} {...{ choice }} />
                )}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr
              key={keyOf(row)}
              class={
                [isFaint?.(row) && 'faint', selection?.keys.has(keyOf(row)) && 'selected']
                  .filter(Boolean)
                  .join(' ') || undefined
              }
            >
              {selection && (
                <td class="check-cell">
                  <RowCheck
                    selection={selection}
                    rowKey={keyOf(row)}
                    label={`Select ${nameOf(row)}`}
                  />
                </td>
              )}
              {columns.map((column) => {
                const { heading, cell, names } = column;
                const Cell = names ? 'th' : 'td';
                return (
                  <Cell
                    key={heading}
                    data-heading={heading}
                    data-word={wordOf(column)}
                    scope={names ? 'row' : undefined}
                    class={classOf(column)}
                  >
                    {cell(row)}
                  </Cell>
                );
              })}
              {hasEnd && (
                <td class="row-actions">
                  <Actions
                    actions={actions[at] ?? []}
                    name={String(nameOf(row))}
                    {...{ isNarrow }}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  if (!pages) return table;
  const { one: singular = 'entry' } = props;
  return (
    <div class="paged-table" aria-busy={pages.isOld}>
      <Count {...props} pages={pages} />
      {rows.length > 0 ? table : <Empty title={`No ${singular} matches.`} />}
      {pages.hasMore && (
        <p>
          <Button busy={pages.isReading} onClick={pages.readMore}>
            Show more
          </Button>
        </p>
      )}
    </div>
  );
}

const classOf = ({ numeric, cut, grows }: Omit<Column<never>, 'cell' | 'fills'>) =>
  [numeric && 'numeric', (cut || grows) && 'cut'].filter(Boolean).join(' ') || undefined;

function Head({ column, sorting }: { column: Column<never>; sorting: Sorting | undefined }) {
  const { heading, sort } = column;
  const isSorted = sort !== undefined && sorting?.by === sort;
  const order = sorting?.isDescending ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      class={column.numeric ? 'numeric' : undefined}
      aria-sort={isSorted ? order : undefined}
    >
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

function ColumnMenu({
  columns,
  choice,
}: {
  columns: readonly Column<never>[];
  choice: ColumnChoice;
}) {
  const items = columns
    .filter(({ names }) => !names)
    .map((column) => ({
      text: column.heading,
      isChecked: isWanted(column, choice.text),
      onSelect: () => choice.set(withColumn(column, choice.text)),
    }));
  return <Menu label="Columns" icon="columns" items={items} />;
}

interface ActionsProps {
  actions: readonly RowAction[];
  name: string;
  isNarrow: boolean;
}

function Actions({ actions, name, isNarrow }: ActionsProps) {
  const isMenu = ({ inMenu }: RowAction) => inMenu || (isNarrow && actions.length > 1);
  const menu = actions.filter(isMenu);
  return (
    <span class="actions">
      {actions.map((action) => {
        if (isMenu(action)) return null;
        const {
          text,
          label = `${text} ${name}`,
          icon,
          isWritten,
          onSelect,
          disabledReason,
        } = action;
        const given = { label, icon, disabledReason, onClick: onSelect };
        return isWritten || !icon ? (
          <Button
            key={text}
            kind="quiet"
            aria-label={label}
            {...{ disabledReason }}
            onClick={onSelect}
          >
            {text}
          </Button>
        ) : (
          <IconButton key={text} {...given} icon={icon} />
        );
      })}
      {menu.length > 0 && <Menu label={`More for ${name}`} items={menu} />}
    </span>
  );
}

/** The estimated width of the widest actions of a row, in rem. */
function actionsRoom(all: ReadonlyArray<readonly RowAction[]>, isNarrow: boolean): number {
  if (isNarrow) return 3;
  const widths = all.map((actions) =>
    actions.reduce(
      (sum, { inMenu, isWritten, text }) =>
        sum + (inMenu ? 0 : isWritten ? 2 + text.length * 0.5 : 2.5),
      actions.some(({ inMenu }) => inMenu) ? 2.5 : 0,
    ),
  );
  return Math.max(3, ...widths);
}

/** The number of rows, and the buttons of the list. */
function Count<T>(props: TableProps<T> & { pages: ReadSoFar }) {
  const { rows, pages, buttons, one: singular = 'entry', many = 'entries' } = props;
  const { total, found: matchCount, hasMore } = pages;
  const whole = `${number(total)} ${total === 1 ? singular : many}`;
  const fit = matchCount < total ? `${number(matchCount)} found in ${whole}` : whole;
  return (
    <div class="row">
      <p class="note" role="status">
        {hasMore ? `The first ${number(rows.length)} of ${fit}.` : `${fit}.`}
      </p>
      {buttons && <span class="row-end">{buttons}</span>}
    </div>
  );
}

const number = (value: number) => value.toLocaleString('en');
