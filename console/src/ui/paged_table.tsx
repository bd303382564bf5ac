// A table of a list that is read in pages: what is shown of how much, more of it, and a bar of what can be done to the chosen rows.
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Empty } from './card.tsx';
import type { Selection } from './selection.ts';
import { Table, type TableProps } from './table.tsx';

/** How far a list was read that comes in pages. */
export interface ReadSoFar {
  /** How long the list is, and how many of it fit the query; of lists that tell. */
  total: number;
  found: number;
  hasMore: boolean;
  isReading: boolean;
  /** Whether the rows are those of the query before, until those of this one are here. */
  isOld: boolean;
  readMore: () => void;
}

export interface PagedTableProps<T> extends TableProps<T> {
  pages: ReadSoFar;
  /** Buttons beside the count. */
  beside?: ComponentChildren;
  /** The things that are counted, if not entries. */
  one?: string;
  many?: string;
}

export function PagedTable<T>(props: PagedTableProps<T>) {
  const { pages, beside, one = 'entry', many = 'entries', ...table } = props;
  const { total, found, hasMore, isReading, isOld, readMore } = pages;
  const { rows } = table;
  const whole = `${number(total)} ${total === 1 ? one : many}`;
  const fit = found < total ? `${number(found)} found in ${whole}` : whole;
  return (
    <div class="paged-table" aria-busy={isOld}>
      {rows.length > 0 ? <Table compact {...table} /> : <Empty title={`No ${one} matches.`} />}
      <div class="row">
        <p class="note" role="status">
          {hasMore ? `The first ${number(rows.length)} of ${fit}.` : `${fit}.`}
        </p>
        {hasMore && (
          <Button busy={isReading} onClick={readMore}>
            Show more
          </Button>
        )}
        {beside}
      </div>
    </div>
  );
}

interface ChosenBarProps {
  selection: Selection;
  /** Buttons of all that can be done to the chosen rows. */
  children: ComponentChildren;
}

/** Stays in sight while rows are chosen. */
export function ChosenBar({ selection, children }: ChosenBarProps) {
  const { size } = selection.keys;
  return (
    <section class="chosen-bar" aria-label="Chosen rows" hidden={size === 0}>
      <p role="status">{size > 0 && `${number(size)} chosen`}</p>
      {size > 0 && (
        <div class="actions">
          {children}
          <Button kind="quiet" onClick={() => selection.setAll(false)}>
            Choose none
          </Button>
        </div>
      )}
    </section>
  );
}

const number = (value: number) => value.toLocaleString('en');
