// The records that the filters let through as a file, all of them: read page by page, and handed to the browser as they come.
import { useEffect, useState } from 'preact/hooks';
import type { ResponseOf } from '../api/api.ts';
import { readPage } from '../api/paging.ts';
import { queries } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { csvLines, download } from '../csv.ts';
import { count } from '../format.ts';
import { now } from '../now.ts';
import { Button, notifyError } from '../ui/ui.ts';
import type { Log } from './audit_log.tsx';
import { auditSentence } from './sentences.ts';

type Record = ResponseOf<'admin_list_audit'>[number];

const header = [
  ...['id', 'time', 'who', 'kind', 'from', 'account', 'action', 'target', 'sentence'],
  ...['before', 'after', 'request'],
];
const json = (value: unknown) => (value === null ? '' : JSON.stringify(value));
const cells = (record: Record) => [
  record.id,
  new Date(record.at * 1000).toISOString(),
  ...[record.actor, record.actor_kind, record.address, record.account ?? ''],
  ...[record.action, record.target, auditSentence(record), json(record.before), json(record.after)],
  record.request_id,
];

/** How a file begins, how a page of it is written, and how it ends. */
const formats = {
  csv: {
    type: 'text/csv;charset=utf-8',
    begin: csvLines([header]),
    page: (records: readonly Record[]) => csvLines(records.map(cells)),
    end: '',
  },
  json: {
    type: 'application/json',
    begin: '[',
    page: (records: readonly Record[], isFirst: boolean) =>
      records
        .map((one, at) => `${isFirst && at === 0 ? '' : ','}\n${JSON.stringify(one)}`)
        .join(''),
    end: '\n]\n',
  },
};
type Format = keyof typeof formats;

/**
 * The parts of the file. Each is a Blob, which the browser keeps outside of the page, so that the page holds one page of the
 * log at a time. Errors: ApiError; when it is stopped.
 */
async function partsOf(
  { operation, base }: Log,
  query: object,
  format: Format,
  stop: AbortSignal,
  onRead: (records: number) => void,
): Promise<Blob[]> {
  const { begin, page, end } = formats[format];
  const parts = [new Blob([begin])];
  let read = 0;
  let next: { [name: string]: string } | undefined = {};
  while (next) {
    const place: { [name: string]: string } = next;
    const whole = { ...query, limit: 1000 };
    // The cache keeps nothing of it, but tries again when the server is away.
    const { rows, next: after } = await queries.fetchQuery({
      queryKey: [operation, 'export', whole, place, base],
      queryFn: () => readPage(operation, whole, place, base, stop),
      gcTime: 0,
      staleTime: 0,
    });
    stop.throwIfAborted();
    if (rows.length > 0) parts.push(new Blob([page(rows as Record[], read === 0)]));
    read += rows.length;
    onRead(read);
    next = after;
  }
  return [...parts, new Blob([end])];
}

export function ExportButtons({ log, query }: { log: Log; query: object }) {
  const [running, setRunning] = useState<{ stop: AbortController; read: number }>();
  const stop = running?.stop;
  useEffect(() => () => stop?.abort(), [stop]);
  const begin = async (format: Format) => {
    const controller = new AbortController();
    const { signal } = controller;
    setRunning({ stop: controller, read: 0 });
    try {
      const parts = await partsOf(log, query, format, signal, (read) =>
        setRunning({ stop: controller, read }),
      );
      const day = new Date(now.value * 1000).toISOString().slice(0, 10);
      download(`exitward-audit-${log.name}-${day}.${format}`, parts, formats[format].type);
    } catch (error) {
      if (!signal.aborted) notifyError(`Nothing was exported: ${explain(error).sentence}`);
    } finally {
      if (!signal.aborted) setRunning(undefined);
    }
  };
  if (running) {
    const cancel = () => {
      running.stop.abort();
      setRunning(undefined);
    };
    return (
      <div class="actions row-end">
        <span class="note" role="status">
          Exporting: {count(running.read, 'record')} …
        </span>
        <Button onClick={cancel}>Cancel</Button>
      </div>
    );
  }
  return (
    <div class="actions row-end">
      {(['csv', 'json'] as const).map((format) => (
        <Button key={format} icon="download" onClick={() => void begin(format)}>
          {`Export ${format.toUpperCase()}`}
        </Button>
      ))}
    </div>
  );
}
