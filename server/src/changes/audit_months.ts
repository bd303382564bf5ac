// The monthly partitions of the audit log on PostgreSQL: created ahead of time, and dropped when
// all of their records are too old.
import type { Database } from '../db/database.ts';

/** A partition of the log, with the time at which it ends in epoch seconds. */
interface Month {
  name: string;
  until: number;
}

const monthsAhead = 2;
/** A long read, such as a dump, blocks changes of partitions, and writers queue up after these. */
const patience = "set local lock_timeout = '500ms'";
const lockNotAvailable = '55P03';
/** The table exists: another process was faster. */
const duplicateTable = '42P07';
const undefinedTable = '42P01';

const nameOf = (from: Date) => `audit_${from.toISOString().slice(0, 7).replace('-', '_')}`;
const startOfMonth = (now: number, ahead = 0) => {
  const date = new Date(now * 1000);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead));
};
const secondsOf = (date: Date) => date.getTime() / 1000;

/** The partitions that have an end. */
async function monthsOf(db: Database): Promise<Month[]> {
  const rows = await db.all<{ name: string; bound: string }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'audit'::regclass order by c.relname`,
  );
  return rows.flatMap(({ name, bound }) => {
    const until = / TO \('?(\d+)'?\)/.exec(bound)?.[1];
    return until === undefined ? [] : [{ name, until: Number(until) }];
  });
}

/**
 * Creates the partitions of this month and the next ones. Records of such a month that were written
 * before move into it. Returns how many were created; one that is blocked is created the next time.
 */
export async function makeAuditMonths(db: Database, now: number): Promise<number> {
  if (db.engine === 'sqlite') return 0;
  const months = await monthsOf(db);
  let created = 0;
  for (let ahead = 0; ahead <= monthsAhead; ahead++) {
    const start = startOfMonth(now, ahead);
    const [from, until] = [secondsOf(start), secondsOf(startOfMonth(now, ahead + 1))];
    const name = nameOf(start);
    const before = months.find((month) => month.name === 'audit_before')?.until ?? 0;
    if (from < before || months.some((month) => month.name === name)) continue;
    const done = await change(db, [
      `create table ${name} (like audit including all)`,
      `with moved as (delete from audit_rest where at >= ${from} and at < ${until} returning *)
       insert into ${name} select * from moved`,
      `alter table audit attach partition ${name} for values from (${from}) to (${until})`,
    ]);
    if (!done) break;
    created += 1;
  }
  return created;
}

/** Drops the months whose records are all older. Returns how many. */
export async function dropAuditMonths(db: Database, older_than: number): Promise<number> {
  if (db.engine === 'sqlite') return 0;
  const past = (await monthsOf(db)).filter(
    ({ name, until }) => name !== 'audit_before' && until <= older_than,
  );
  let dropped = 0;
  for (const { name } of past) {
    if (!(await change(db, [`drop table ${name}`]))) break;
    dropped += 1;
  }
  return dropped;
}

/** False when it was blocked, or was done by another process. */
async function change(db: Database, statements: readonly string[]): Promise<boolean> {
  try {
    await db.script([patience, ...statements]);
    return true;
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if ([lockNotAvailable, duplicateTable, undefinedTable].includes(code)) return false;
    throw error;
  }
}
