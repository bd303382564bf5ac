// The audit log, of an account or of the whole network: its records by kind, the newest first.
import { useState } from 'preact/hooks';
import type { Pages } from '../api/paging.ts';
import type { AccountResponse } from '../api/reading.ts';
import { count } from '../format.ts';
import '../style/activity.css';
import { Button, Card, Empty, Loaded, optionsOf, SelectField } from '../ui/ui.ts';
import { useLookBack } from './look_back.ts';
import { OneRecord } from './record.tsx';
import { kindOf } from './sentences.ts';

export type AuditRecord = AccountResponse<'list_audit'>[number];

interface AuditLogProps<T extends AuditRecord> {
  pages: Pages<T>;
  kinds: readonly string[];
  /** Stands beside each record. */
  beside?: (record: T) => preact.ComponentChildren;
}

export function AuditLog<T extends AuditRecord>({ pages, kinds, beside }: AuditLogProps<T>) {
  const [kind, setKind] = useState('');
  const shown = (pages.rows.data ?? []).filter(
    ({ action }) => kind === '' || kindOf(action) === kind,
  );
  const { verb, readOlder } = useLookBack(pages, kind, shown.length);
  return (
    <Loaded of={pages.rows} what="the activity">
      {(records) => (
        <>
          <div class="filters">
            <SelectField
              label="Kind"
              name="kind"
              value={kind}
              options={optionsOf(kinds, 'Everything')}
              onInput={setKind}
            />
          </div>
          <Card>
            {shown.length === 0 ? (
              <Empty title={kind ? 'Nothing of this kind in what was read.' : 'Nothing yet.'}>
                Every change appears here.
              </Empty>
            ) : (
              <ol class="activity">
                {shown.map((record) => (
                  <li key={record.id} class={beside && 'audit-record'}>
                    <OneRecord record={record} />
                    {beside?.(record)}
                  </li>
                ))}
              </ol>
            )}
            <div class="row">
              {pages.hasMore && (
                <Button busy={pages.isReading} onClick={readOlder}>
                  {verb}
                </Button>
              )}
              <p class="note" role="status">
                {readSoFar(shown.length, records.length)}
                {!pages.hasMore && ': that is all'}.
              </p>
            </div>
          </Card>
        </>
      )}
    </Loaded>
  );
}

function readSoFar(shown: number, read: number): string {
  const all = count(read, 'record');
  return shown < read ? `${shown} of the ${all} read so far` : `${all} read so far`;
}
