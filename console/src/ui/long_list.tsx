// A list that may be long: how much of it is shown, and a button for more.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';

const step = 200;

interface LongListProps<T> {
  /** What is left after filtering; the rest of the whole list is only counted. */
  rows: readonly T[];
  /** Length of the whole list. */
  all: number;
  /** What is counted, if not entries. */
  one?: string;
  many?: string;
  /** What the rows were filtered by: after a change of it the list begins anew. */
  filter?: string;
  children: (shown: readonly T[]) => ComponentChildren;
}

export function LongList<T>(props: LongListProps<T>) {
  const { rows, all, one = 'entry', many = 'entries', filter = '', children } = props;
  const [asked, setAsked] = useState({ filter, most: step });
  const shown = Math.min(asked.filter === filter ? asked.most : step, rows.length);
  const whole = `${number(all)} ${all === 1 ? one : many}`;
  const found = rows.length < all ? `${number(rows.length)} found in ${whole}` : whole;
  return (
    <>
      {children(rows.slice(0, shown))}
      <div class="row">
        <p class="note" role="status">
          {shown < rows.length ? `The first ${number(shown)} of ${found}.` : `${found}.`}
        </p>
        {shown < rows.length && (
          <Button onClick={() => setAsked({ filter, most: shown + step })}>
            {`Show ${number(Math.min(step, rows.length - shown))} more`}
          </Button>
        )}
      </div>
    </>
  );
}

const number = (value: number) => value.toLocaleString('en');
