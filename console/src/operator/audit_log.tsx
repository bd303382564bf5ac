// The audit log, of the whole network or of one account: who changed what, as sentences, the newest first.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useLookBack } from '../activity/look_back.ts';
import { OneRecord } from '../activity/page.tsx';
import { accountKinds, kindOf, networkKinds } from '../activity/sentences.ts';
import { usePages } from '../api/paging.ts';
import { explain } from '../api/sentences.ts';
import { paths } from '../paths.ts';
import { Card, Empty } from '../ui/card.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { MoreRows } from '../ui/more_rows.tsx';

const everything = '';

/** `account`: only its records; empty: all, each with its account. */
export function AuditLog({ account }: { account: string }) {
  const [kind, setKind] = useState(everything);
  const pages = usePages('admin_list_audit', {
    query: account ? { account } : {},
    after: ({ id }) => ({ before: id }),
    limit: 100,
  });
  const shown = (pages.rows.data ?? []).filter(
    ({ action }) => kind === everything || kindOf(action) === kind,
  );
  const { verb, readOlder } = useLookBack({
    kind,
    found: shown.length,
    error: pages.rows.error,
    hasOlder: pages.hasMore,
    isReadingOlder: pages.isReading,
    older: pages.readMore,
  });
  return (
    <Card>
      <Loaded of={pages.rows} what="the audit log" explain={explain}>
        {() => (
          <>
            <div class="filters">
              <SelectField
                label="Kind"
                name="kind"
                value={kind}
                onInput={setKind}
                options={[
                  { value: everything, text: 'Everything' },
                  ...(account ? accountKinds : networkKinds).map((one) => ({
                    value: one,
                    text: one,
                  })),
                ]}
              />
            </div>
            {shown.length === 0 ? (
              <Empty title="Nothing of this in what was read." />
            ) : (
              <ol class="activity">
                {shown.map((record) => (
                  <li key={record.id} class="audit-record">
                    <OneRecord record={record} />
                    {!account && record.account !== null && (
                      <Link href={paths.operator.account(record.account)}>{record.account}</Link>
                    )}
                  </li>
                ))}
              </ol>
            )}
            <MoreRows of={{ ...pages, readMore: readOlder }} many="records" verb={verb} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
