// The checkboxes of a table with selectable rows.
import { useEffect, useRef } from 'preact/hooks';
import type { RowKey, Selection } from './selection.ts';

/** Selects all rows that are shown, or none. */
export function AllCheck({ selection, rows }: { selection: Selection; rows: number }) {
  const input = useRef<HTMLInputElement>(null);
  const { size } = selection.keys;
  const isAll = rows > 0 && size >= rows;
  useEffect(() => {
    if (input.current) input.current.indeterminate = size > 0 && !isAll;
  }, [size, isAll]);
  return (
    <label class="row-check">
      <input
        ref={input}
        type="checkbox"
        aria-label="Select all rows shown"
        checked={isAll}
        onChange={(event) => selection.setAll(event.currentTarget.checked)}
      />
    </label>
  );
}

interface RowCheckProps {
  selection: Selection;
  rowKey: RowKey;
  /** The name of the row, for screen readers. */
  label: string;
}

/** Space selects the row, arrow keys go to the next one, and with shift they select it, too. */
export function RowCheck({ selection, rowKey, label }: RowCheckProps) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !(event.currentTarget instanceof HTMLInputElement)) return;
    event.preventDefault();
    const table = event.currentTarget.closest('table');
    const all = [...(table?.querySelectorAll<HTMLInputElement>('tbody .row-check input') ?? [])];
    const next = all[all.indexOf(event.currentTarget) + step];
    if (!next) return;
    next.focus();
    if (!event.shiftKey) return;
    if (!selection.keys.has(rowKey)) selection.set(rowKey, true, false);
    selection.set(keyIn(next), true, true);
  };
  return (
    <label class="row-check">
      <input
        type="checkbox"
        aria-label={label}
        value={JSON.stringify(rowKey)}
        checked={selection.keys.has(rowKey)}
        onClick={(event) =>
          selection.set(rowKey, event.currentTarget.checked, event.shiftKey && event.detail > 0)
        }
        onKeyDown={move}
      />
    </label>
  );
}

const keyIn = ({ value }: HTMLInputElement) => JSON.parse(value) as RowKey;
