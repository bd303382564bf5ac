// A table that may be long: it shows a part, and a button for more.
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Empty } from './card.tsx';
import { Table, type TableProps } from './table.tsx';

const step = 200;

/** `rows`: the matches of the filter; `all` counts the whole list. */
interface LongTableProps<T> extends TableProps<T> {
  /** The length of the whole list. */
  all: number;
  /** The name of a row, if not entry. */
  one?: string;
  many?: string;
  /** The filter of the rows: when it changes, the table starts again. */
  filter?: string;
  /** The most rows to show, if the page stores that; 0: the default. */
  maxRows?: number;
  onMore?: (maxRows: number) => void;
}

export function LongTable<T>(props: LongTableProps<T>) {
  const {
    rows,
    all,
    one: singular = 'entry',
    many = 'entries',
    filter = '',
    maxRows,
    onMore,
    ...table
  } = props;
  const [requested, setRequested] = useState({ filter, rowCount: step });
  const shown = Math.min(
    Math.max(0, maxRows ?? (requested.filter === filter ? requested.rowCount : 0)) || step,
    rows.length,
  );
  const showMore = onMore ?? ((rowCount) => setRequested({ filter, rowCount }));
  const whole = `${number(all)} ${all === 1 ? singular : many}`;
  const summary = rows.length < all ? `${number(rows.length)} found in ${whole}` : whole;
  return (
    <>
      {rows.length > 0 ? (
        <Table {...table} rows={rows.slice(0, shown)} />
      ) : (
        <Empty title={`No ${singular} matches.`} />
      )}
      <div class="row">
        <p class="note" role="status">
          {shown < rows.length ? `The first ${number(shown)} of ${summary}.` : `${summary}.`}
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
