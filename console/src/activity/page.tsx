// The audit log of the account: who changed what, when and from where, as sentences.
import '../style/activity.css';
import { useState } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { explain } from '../api/sentences.ts';
import { count, dateTime, fromNow } from '../format.ts';
import { now } from '../now.ts';
import { Button } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Page } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useAuditPages, useLookBack } from './look_back.ts';
import { accountKinds, auditSentence, differences, kindOf } from './sentences.ts';

type Record = Answer<'console_list_audit'>[number];

export function ActivityPage() {
  const reading = useAuditPages();
  const [kind, setKind] = useState('');
  const ofKind = ({ action }: Record) => kind === '' || kindOf(action) === kind;
  const shown = (reading.data ?? []).filter(ofKind);
  const { verb, readOlder } = useLookBack({ ...reading, kind, found: shown.length });
  return (
    <Page title="Activity" note="Everything that was changed in the account, and every sign-in.">
      <Loaded of={reading} what="the activity" explain={explain}>
        {(records) => (
          <>
            <div class="filters">
              <SelectField
                label="Kind"
                name="kind"
                value={kind}
                options={[
                  { value: '', text: 'Everything' },
                  ...accountKinds.map((one) => ({ value: one, text: one })),
                ]}
                onInput={setKind}
              />
            </div>
            <Card>
              {shown.length === 0 ? (
                <Empty title={kind ? 'Nothing of this kind in what was read.' : 'Nothing yet.'}>
                  What anybody changes in the account appears here.
                </Empty>
              ) : (
                <ol class="activity">
                  {shown.map((record) => (
                    <li key={record.id}>
                      <OneRecord record={record} />
                    </li>
                  ))}
                </ol>
              )}
              <Foot
                shown={shown.length}
                loaded={records.length}
                hasOlder={reading.hasOlder}
                isReadingOlder={reading.isReadingOlder}
                verb={verb}
                older={readOlder}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

export function OneRecord({ record }: { record: Record }) {
  const { at, actor_kind, actor, address, action, target, request_id } = record;
  const changed = differences(record);
  return (
    <details>
      <summary>
        <span class="activity-sentence">{auditSentence(record)}</span>
        <span class="note activity-facts">
          <Time at={at} relative={fromNow(at, Math.max(at, now.value))} full={dateTime(at)} />
          <span>{dateTime(at)}</span>
          {address && <span>from {address}</span>}
        </span>
      </summary>
      <div class="stack">
        {changed.length > 0 && (
          <Table
            caption="The record before and after"
            rows={changed}
            keyOf={({ field }) => field}
            columns={[
              { heading: 'Field', cell: ({ field }) => <code>{field}</code>, names: true },
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

interface FootProps {
  shown: number;
  loaded: number;
  hasOlder: boolean;
  isReadingOlder: boolean;
  verb: string;
  older: () => void;
}

function Foot({ shown, loaded, hasOlder, isReadingOlder, verb, older }: FootProps) {
  const all = count(loaded, 'record');
  return (
    <div class="row">
      {hasOlder && (
        <Button busy={isReadingOlder} onClick={older}>
          {verb}
        </Button>
      )}
      <p class="note" role="status">
        {shown < loaded ? `${shown} of the ${all} read so far` : `${all} read so far`}
        {!hasOlder && ': that is all'}.
      </p>
    </div>
  );
}
