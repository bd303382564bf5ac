// A list as a file, as it is shown: all pages of the present filter and order, as CSV or as JSON. It tells how far it is, and can be stopped.
import { useEffect, useRef, useState } from 'preact/hooks';
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
  const [progress, setProgress] = useState('');
  const running = useRef(new AbortController());
  // A page that is left reads no more.
  useEffect(() => () => running.current.abort(), []);
  const all = async ({ signal }: AbortController) => {
    const rows: T[] = [];
    for (let next: Record<string, string> | undefined = {}; next; ) {
      const page: ListPage<T> = await read(next);
      if (signal.aborted) return undefined;
      rows.push(...page.rows);
      const [done, found] = [rows.length, page.found].map((many) => many.toLocaleString('en'));
      setProgress(`${done} of ${found} read`);
      next = page.next;
    }
    return rows;
  };
  const save = async (format: 'CSV' | 'JSON') => {
    if (busy) return;
    setBusy(format);
    const run = new AbortController();
    running.current = run;
    try {
      const rows = await all(run);
      if (!rows) return;
      if (format === 'CSV') download(`${name}.csv`, csv(header, rows.map(cells)));
      else download(`${name}.json`, `${JSON.stringify(rows, null, 2)}\n`, 'application/json');
    } catch (error) {
      if (!run.signal.aborted) notifyError(`It could not be exported. ${explain(error).sentence}`);
    } finally {
      if (!run.signal.aborted) end();
    }
  };
  const end = () => {
    setBusy('');
    setProgress('');
  };
  // The page that is being read is not waited for.
  const stop = () => {
    running.current.abort();
    end();
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
      <span class="note" role="status">
        {progress}
      </span>
      {busy && (
        <Button kind="quiet" icon="close" onClick={stop}>
          Stop the export
        </Button>
      )}
    </span>
  );
}
