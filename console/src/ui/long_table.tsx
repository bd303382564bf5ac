// A table that may be long: how much of it is shown, and a button for more.
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Empty } from './card.tsx';
import { Table, type TableProps } from './table.tsx';

const step = 200;

/** `rows`: those that fit the filter; the rest of the whole list is only counted. */
interface LongTableProps<T> extends TableProps<T> {
  /** Length of the whole list. */
  all: number;
  /** The things that are counted, if not entries. */
  one?: string;
  many?: string;
  /** The filter of the rows: after a change of it the table begins anew. */
  filter?: string;
  /** Rows that are shown at most, where the page keeps that; 0: as many as at first. */
  most?: number;
  onMore?: (most: number) => void;
}

export function LongTable<T>(props: LongTableProps<T>) {
  const { rows, all, one = 'entry', many = 'entries', filter = '', most, onMore, ...table } = props;
  const [asked, setAsked] = useState({ filter, most: step });
  const shown = Math.min(
    Math.max(0, most ?? (asked.filter === filter ? asked.most : 0)) || step,
    rows.length,
  );
  const showMore = onMore ?? ((most) => setAsked({ filter, most }));
  const whole = `${number(all)} ${all === 1 ? one : many}`;
  const found = rows.length < all ? `${number(rows.length)} found in ${whole}` : whole;
  return (
    <>
      {rows.length > 0 ? (
        <Table {...table} rows={rows.slice(0, shown)} />
      ) : (
        <Empty title={`No ${one} matches.`} />
      )}
      <div class="row">
        <p class="note" role="status">
          {shown < rows.length ? `The first ${number(shown)} of ${found}.` : `${found}.`}
        </p>
        {shown < rows.length && (
          <Button onClick={() => showMore(shown + step)}>
            {`Show ${number(Math.min(step, rows.length - shown))} more`}
          </Button>
        )}
      </div>
    </>
  );
}

const number = (value: number) => value.toLocaleString('en');
