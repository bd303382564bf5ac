// The twenty-first schema: on PostgreSQL the audit log is kept by month, so that an old month goes as a whole.
import type { Engine } from '../database.ts';

/**
 * `audit_before` has what was there, up to the end of its month; `audit_rest` what is of no month that there is, as when
 * the clock jumped. The months themselves are made by a job. SQLite has the log in the order of its ids, as it was.
 */
export function auditByMonth(engine: Engine): string[] {
  if (engine === 'sqlite') return [];
  return [
    'alter table audit rename to audit_before',
    'alter index audit_by_account rename to audit_before_by_account',
    'alter table audit_before drop constraint audit_pkey',
    'alter table audit_before add constraint audit_before_pkey primary key (id, at)',
    'create table audit (like audit_before including defaults) partition by range (at)',
    'alter table audit add constraint audit_pkey primary key (id, at)',
    'create index audit_by_account on audit (account_id, id)',
    `do $$
     declare until bigint;
     begin
       select extract(epoch from date_trunc('month', to_timestamp(coalesce(max(at), 0)) at time zone 'UTC')
                + interval '1 month') into until from audit_before;
       execute format('alter table audit attach partition audit_before for values from (minvalue) to (%s)', until);
     end $$`,
    'create table audit_rest partition of audit default',
  ];
}
