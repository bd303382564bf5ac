// A table of a list in pages: the number of rows, a button for more, and the actions on rows.
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Empty } from './card.tsx';
import type { Selection } from './selection.ts';
import { Table, type TableProps } from './table.tsx';

/** How much of a list in pages was read. */
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

export interface PagedTableProps<T> extends TableProps<T> {
  pages: ReadSoFar;
  /** Buttons next to the count. */
  buttons?: ComponentChildren;
  /** The name of a row, if not entry. */
  one?: string;
  many?: string;
}

export function PagedTable<T>(props: PagedTableProps<T>) {
  const { pages, buttons, one: singular = 'entry', many = 'entries', ...table } = props;
  const { total, found: matchCount, hasMore, isReading, isOld, readMore } = pages;
  const { rows } = table;
  const whole = `${number(total)} ${total === 1 ? singular : many}`;
  const fit = matchCount < total ? `${number(matchCount)} found in ${whole}` : whole;
  return (
    <div class="paged-table" aria-busy={isOld}>
      {rows.length > 0 ? <Table compact {...table} /> : <Empty title={`No ${singular} matches.`} />}
      <div class="row">
        <p class="note" role="status">
          {hasMore ? `The first ${number(rows.length)} of ${fit}.` : `${fit}.`}
        </p>
        {hasMore && (
          <Button busy={isReading} onClick={readMore}>
            Show more
          </Button>
        )}
        {buttons}
      </div>
    </div>
  );
}

interface ChosenBarProps {
  selection: Selection;
  /** The buttons for the actions on selected rows. */
  children: ComponentChildren;
}

/** Stays visible while rows are selected. */
export function ChosenBar({ selection, children }: ChosenBarProps) {
  const { size } = selection.keys;
  return (
    <section class="chosen-bar" aria-label="Selected rows" hidden={size === 0}>
      <p role="status">{size > 0 && `${number(size)} selected`}</p>
      {size > 0 && (
        <div class="actions">
          {children}
          <Button kind="quiet" onClick={() => selection.setAll(false)}>
            Clear
          </Button>
        </div>
      )}
    </section>
  );
}

const number = (value: number) => value.toLocaleString('en');
