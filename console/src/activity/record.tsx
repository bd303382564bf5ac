// One record of the audit log as a sentence, with its fields before and after.
import type { AccountResponse } from '../api/reading.ts';
import { clockTime } from '../format.ts';
import { Time } from '../relative_time.tsx';
import { Table } from '../ui/ui.ts';
import { auditPieces, differences } from './sentences.ts';

export type AuditRecord = AccountResponse<'list_audit'>[number];

export function OneRecord({ record }: { record: AuditRecord }) {
  const { at, actor_kind, actor, address, action, target, request_id } = record;
  const changed = differences(record);
  return (
    <details>
      <summary>
        <span class="activity-sentence">
          {auditPieces(record).map(({ text, isName }) => (isName ? <b>{text}</b> : text))}
        </span>
        <span class="note activity-facts">
          <Time at={at} text={clockTime(at)} />
          {address && <span>from {address}</span>}
        </span>
      </summary>
      <div class="stack">
        {changed.length > 0 && (
          <Table
            caption="Changes in the record"
            rows={changed}
            keyOf={({ field }) => field}
            columns={[
              { heading: 'Field', cell: ({ field }) => field, names: true },
              { heading: 'Before', cell: ({ before }) => <Value text={before} /> },
              { heading: 'After', cell: ({ after }) => <Value text={after} /> },
            ]}
          />
        )}
        <p class="note wrap-anywhere">
          <code>{action}</code> on <code>{target}</code> by {actor_kind} {actor}
          {request_id && (
            <>
              , request <code>{request_id}</code>
            </>
          )}
        </p>
      </div>
    </details>
  );
}

function Value({ text }: { text: string }) {
  return text === '' ? (
    <>
      <span aria-hidden="true">–</span>
      <span class="visually-hidden">nothing</span>
    </>
  ) : (
    <span class="wrap-anywhere">{text}</span>
  );
}
