// The export of a list as shown: all pages with the current filters and order, as CSV or JSON. It
// shows its progress, and can be stopped.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListPage } from '../api/api.ts';
import type { Pages } from '../api/paging.ts';
import { queries } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { csvLines, download } from '../csv.ts';
import { isoTime } from '../format.ts';
import { Button, Menu, notifyError } from '../ui/ui.ts';

/** A time for a file, or empty. */
export const timeText = (at: number | null) => (at === null ? '' : isoTime(at));

type Next = Record<string, string>;

/** The columns of a CSV file. */
export interface CsvColumns<T> {
  header: readonly string[];
  cells: (row: T) => Array<string | number>;
}

interface ExportProps<T> extends CsvColumns<T> {
  /** The file name without its extension. */
  name: string;
  pages: Pick<Pages<T>, 'readToSave'>;
}

type Format = 'CSV' | 'JSON';
const types = { CSV: 'text/csv;charset=utf-8', JSON: 'application/json' };

/** Numbers the exports, so that none waits for a page of a stopped one. */
let runs = 0;

/**
 * The parts of the file. Each is a Blob, which the browser stores outside the page, so that the
 * page holds one page of the list at a time. Errors: ApiError; when it is stopped.
 */
async function partsOf<T>(
  { pages, header, cells }: ExportProps<T>,
  format: Format,
  stop: AbortSignal,
  onRead: (rows: number, total: number) => void,
): Promise<Blob[]> {
  runs += 1;
  const run = runs;
  const isCsv = format === 'CSV';
  const parts = [new Blob([isCsv ? csvLines([header]) : '['])];
  let [done, total] = [0, 0];
  for (let next: Next | undefined = {}; next; ) {
    const place: Next = next;
    // The cache stores nothing of it, but retries when the server is offline.
    const page: ListPage<T> = await queries.fetchQuery({
      queryKey: ['export', run, place],
      queryFn: () => pages.readToSave(place, stop),
      gcTime: 0,
      staleTime: 0,
    });
    stop.throwIfAborted();
    const { rows } = page;
    const isFirst = done === 0;
    const text = isCsv
      ? csvLines(rows.map(cells))
      : rows.map((row, at) => `${isFirst && at === 0 ? '' : ','}\n${JSON.stringify(row)}`).join('');
    parts.push(new Blob([text]));
    done += rows.length;
    // The first page has the total, if the list has one.
    total ||= page.found;
    onRead(done, total);
    next = page.next;
  }
  return isCsv ? parts : [...parts, new Blob(['\n]\n'])];
}

const number = (value: number) => value.toLocaleString('en');

export function ExportMenu<T>(props: ExportProps<T>) {
  const [busy, setBusy] = useState(false);
  const [progress, setProgress] = useState('');
  const running = useRef(new AbortController());
  // Leaving the page stops the export.
  useEffect(() => () => running.current.abort(), []);
  const end = () => {
    setBusy(false);
    setProgress('');
  };
  const save = async (format: Format) => {
    if (busy) return;
    setBusy(true);
    running.current = new AbortController();
    const { signal } = running.current;
    try {
      const parts = await partsOf(props, format, signal, (done, total) => {
        if (total > 0) setProgress(`${number(done)} of ${number(total)} read`);
        else setProgress(`${number(done)} read`);
      });
      download(`${props.name}.${format.toLowerCase()}`, parts, types[format]);
    } catch (error) {
      if (!signal.aborted) notifyError(`Export failed. ${explain(error).sentence}`);
    } finally {
      if (!signal.aborted) end();
    }
  };
  const stop = () => {
    running.current.abort();
    end();
  };
  return (
    <span class="actions export">
      <Menu
        isWritten
        label="Export"
        icon="download"
        busy={busy}
        items={(['CSV', 'JSON'] as const).map((format) => ({
          text: format,
          onSelect: () => void save(format),
        }))}
      />
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
