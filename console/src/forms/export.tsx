// A list as a file, as it is shown: all pages of the present filter and order, as CSV or as JSON. It tells how far it is, and can be stopped.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListPage } from '../api/api.ts';
import type { Pages } from '../api/paging.ts';
import { queries } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { csvLines, download } from '../csv.ts';
import { Button, notifyError } from '../ui/ui.ts';

/** A time as a file has it, or nothing. */
export const timeText = (at: number | null) =>
  at === null ? '' : new Date(at * 1000).toISOString();

type Next = Record<string, string>;

interface ExportProps<T> {
  /** Of the file, without its ending. */
  name: string;
  of: Pages<T>;
  header: readonly string[];
  cells: (row: T) => Array<string | number>;
}

type Format = 'CSV' | 'JSON';
const types = { CSV: 'text/csv;charset=utf-8', JSON: 'application/json' };

/** So that none waits for a page of one that was stopped. */
let runs = 0;

/**
 * The parts of the file. Each is a Blob, which the browser keeps outside of the page, so that this holds one page of the list
 * at a time. Errors: ApiError; when it is stopped.
 */
async function partsOf<T>(
  { of, header, cells }: ExportProps<T>,
  format: Format,
  stop: AbortSignal,
  onRead: (rows: number, found: number) => void,
): Promise<Blob[]> {
  runs += 1;
  const run = runs;
  const isCsv = format === 'CSV';
  const parts = [new Blob([isCsv ? csvLines([header]) : '['])];
  let [done, found] = [0, 0];
  for (let next: Next | undefined = {}; next; ) {
    const place: Next = next;
    // The cache keeps nothing of it, but tries again when the server is away.
    const page: ListPage<T> = await queries.fetchQuery({
      queryKey: ['export', run, place],
      queryFn: () => of.readToSave(place, stop),
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
    // Of lists that tell, the first page tells it.
    found ||= page.found;
    onRead(done, found);
    next = page.next;
  }
  return isCsv ? parts : [...parts, new Blob(['\n]\n'])];
}

const number = (value: number) => value.toLocaleString('en');

export function ExportButtons<T>(props: ExportProps<T>) {
  const [busy, setBusy] = useState<Format>();
  const [progress, setProgress] = useState('');
  const running = useRef(new AbortController());
  // A page that is left reads no more.
  useEffect(() => () => running.current.abort(), []);
  const end = () => {
    setBusy(undefined);
    setProgress('');
  };
  const save = async (format: Format) => {
    if (busy) return;
    setBusy(format);
    running.current = new AbortController();
    const { signal } = running.current;
    try {
      const parts = await partsOf(props, format, signal, (done, found) => {
        if (found > 0) setProgress(`${number(done)} of ${number(found)} read`);
        else setProgress(`${number(done)} read`);
      });
      download(`${props.name}.${format.toLowerCase()}`, parts, types[format]);
    } catch (error) {
      if (!signal.aborted) notifyError(`It could not be exported. ${explain(error).sentence}`);
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
