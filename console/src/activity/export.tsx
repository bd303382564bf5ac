// The export of all records that match the filters.
import type { ResponseOf } from '../api/api.ts';
import type { Pages } from '../api/paging.ts';
import { isoDay } from '../charts/days.ts';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { now } from '../now.ts';
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

interface ExportLogProps {
  /** The name of the account, or of the network. */
  name: string;
  pages: Pages<AnyRecord>;
}

export function ExportLog({ name, pages }: ExportLogProps) {
  return (
    <ExportMenu<AnyRecord>
      name={`exitward-audit-${name}-${isoDay(now.value)}`}
      {...{ pages, header, cells }}
    />
  );
}
