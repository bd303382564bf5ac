// A list as a file, as it is shown: all pages of the present filter and order, as CSV or as JSON.
import { useState } from 'preact/hooks';
import type { ListPage } from '../api/api.ts';
import { explain } from '../api/sentences.ts';
import { csv, download } from '../csv.ts';
import { Button, notifyError } from '../ui/ui.ts';

/** A time as a file has it, or nothing. */
export const timeText = (at: number | null) =>
  at === null ? '' : new Date(at * 1000).toISOString();

interface ExportProps<T> {
  /** Of the file, without its ending. */
  name: string;
  /** Reads a page: the first one by {}, then as the one before says. */
  read: (next: Record<string, string>) => Promise<ListPage<T>>;
  header: readonly string[];
  cells: (row: T) => Array<string | number>;
}

export function ExportButtons<T>({ name, read, header, cells }: ExportProps<T>) {
  const [busy, setBusy] = useState('');
  const all = async () => {
    const rows: T[] = [];
    for (let next: Record<string, string> | undefined = {}; next; ) {
      const page: ListPage<T> = await read(next);
      rows.push(...page.rows);
      next = page.next;
    }
    return rows;
  };
  const save = async (format: 'CSV' | 'JSON') => {
    if (busy) return;
    setBusy(format);
    try {
      const rows = await all();
      if (format === 'CSV') download(`${name}.csv`, csv(header, rows.map(cells)));
      else download(`${name}.json`, `${JSON.stringify(rows, null, 2)}\n`, 'application/json');
    } catch (error) {
      notifyError(`It could not be exported. ${explain(error).sentence}`);
    } finally {
      setBusy('');
    }
  };
  return (
    <span class="actions export">
      {(['CSV', 'JSON'] as const).map((format) => (
        <Button
          key={format}
          kind="quiet"
          icon="download"
          busy={busy === format}
          aria-label={`Export what is shown as ${format}`}
          onClick={() => void save(format)}
        >
          {format}
        </Button>
      ))}
    </span>
  );
}
