// The records that the filters let through as a file, all of them.
import type { ResponseOf } from '../api/api.ts';
import { readPage } from '../api/paging.ts';
import { ExportButtons, timeText } from '../forms/export.tsx';
import { now } from '../now.ts';
import { isoDay } from '../usage/days.ts';
import type { Log } from './audit_log.tsx';
import { auditSentence } from './sentences.ts';

type AnyRecord = ResponseOf<'admin_list_audit'>[number];

const header = [
  ...['id', 'time', 'who', 'kind', 'from', 'account', 'action', 'target', 'sentence'],
  ...['before', 'after', 'request'],
];
const json = (value: unknown) => (value === null ? '' : JSON.stringify(value));
const cells = (record: AnyRecord) => [
  ...[record.id, timeText(record.at)],
  ...[record.actor, record.actor_kind, record.address, record.account ?? ''],
  ...[record.action, record.target, auditSentence(record), json(record.before), json(record.after)],
  record.request_id,
];

export function ExportLog({ log, query }: { log: Log; query: object }) {
  const { operation, base, name } = log;
  return (
    <ExportButtons<AnyRecord>
      name={`exitward-audit-${name}-${isoDay(now.value)}`}
      read={(next, stop) => readPage(operation, { ...query, limit: 1000 }, next, base, stop)}
      header={header}
      cells={cells}
    />
  );
}
