// The audit log of an account or of the whole network: the records that match, newest first.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { dayHeading, ownName } from '../format.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import '../style/activity.css';
import { Card } from '../ui/ui.ts';
import { ExportLog } from './export.tsx';
import { AuditFilters, useAuditFilters } from './filters.tsx';
import { LookBack } from './look_back.tsx';
import { type AuditRecord, OneRecord } from './record.tsx';
import { accountKinds, networkKinds } from './sentences.ts';

export interface Log {
  operation: 'console_list_audit' | 'admin_list_audit';
  base?: string;
  /** Part of the file name: the account's name, or the network's. */
  name: string;
}

/** The records by day, newest first. */
function daysOf(records: readonly AuditRecord[]): Array<[day: string, AuditRecord[]]> {
  const byDay = Map.groupBy(records, ({ at }) => dayHeading(at, now.value));
  return [...byDay];
}

/** `children`: the filter by account, in the log of all accounts. */
export function AuditLog({ children, ...log }: Log & { children?: ComponentChildren }) {
  const filters = useAuditFilters();
  const { query, isFiltering } = filters;
  const { operation, base } = log;
  const pages = usePages(operation, { query, limit: 50, base });
  const records: readonly AuditRecord[] = pages.rows.data ?? [];
  const ofAll = children !== undefined && !query.account;
  return (
    <Card>
      <div class="list-head">
        <AuditFilters
          filters={filters}
          kinds={ofAll ? networkKinds : accountKinds}
          actors={[...new Set(records.map(({ actor }) => (ofAll ? actor : ownName(actor))))]}
        >
          {children}
        </AuditFilters>
      </div>
      <LookBack
        {...{ pages, isFiltering }}
        search={JSON.stringify(query)}
        name="the activity"
        noun="record"
        onClear={filters.clear}
        exporter={<ExportLog name={log.name} pages={pages} />}
        empty={{
          title: 'No activity yet',
          text: 'Every change appears here.',
          noMatch: 'No record matches.',
        }}
      >
        {daysOf(records).map(([day, ofDay]) => (
          <section key={day}>
            <h2 class="activity-day">{day}</h2>
            <ol class="activity">
              {ofDay.map((record) => (
                <li key={record.id} class={ofAll ? 'audit-record' : undefined}>
                  <OneRecord record={record} />
                  {ofAll && record.account && (
                    <Link href={paths.operator.account(record.account)}>{record.account}</Link>
                  )}
                </li>
              ))}
            </ol>
          </section>
        ))}
      </LookBack>
    </Card>
  );
}
