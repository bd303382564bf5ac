// Contradictions that a database must never hold: each question finds the records that contradict
// one another.
import type { Reader } from '../src/db/database.ts';

/**
 * A list of the account API: its table, the word that the audit log uses, and the changes it logs.
 */
const lists = [
  { table: 'authlist', verb: 'authlist', kind: 'authlist', list: 'authlist' },
  { table: 'overrides', verb: 'override', kind: 'override', list: 'overrides' },
];

/** Both ways round: the rows that only one of the two has. */
const different = (what: string, actual: string, other: string): Array<[string, string]> => [
  [what, `select * from (${actual} except ${other}) a`],
  [what, `select * from (${other} except ${actual}) b`],
];

/** The bytes of the network, the accounts and the servers by hour or day, from the buckets. */
const sumsOf = (unit: 'hour' | 'day', buckets: string) => {
  const at = `${unit} - ${unit} % ${{ hour: 3600, day: 86_400 }[unit]}`;
  const sums = ['0', 'account_id', 'server_id'].map(
    (id, kind) =>
      `select ${kind} as kind, ${at} as ${unit}, ${id} as id, cast(sum(up + down) as bigint) as bytes
       from ${buckets} group by 2, 3`,
  );
  return `select * from (${sums.join(' union all ')}) s`;
};

const questions: Array<[string, string]> = [
  ...lists.flatMap(
    ({ table, verb, kind, list }): Array<[string, string]> => [
      [
        `${table}: an entry without its change`,
        `select account_id, id from ${table} except select account_id, record_id from changes where kind = '${kind}'`,
      ],
      [
        `${table}: an entry without its audit row`,
        `select account_id, '${list}/' || id as target from ${table}
       except select account_id, target from audit where action = '${verb}.create'`,
      ],
      ...different(
        `${table}: changes and audit rows do not go together`,
        `select account_id, count(*) as records from changes where kind = '${kind}' group by account_id`,
        `select account_id, count(*) as records from audit
       where action in ('${verb}.create', '${verb}.change', '${verb}.remove') group by account_id`,
      ),
      ...different(
        `${table}: the count of entries is wrong`,
        `select account_id, last from counters where list = '${list} held' and last <> 0`,
        `select account_id, count(*) as last from ${table} group by account_id`,
      ),
      [
        `${table}: an id that will be given again`,
        `select e.account_id, e.id from ${table} e left join counters c
         on c.account_id = e.account_id and c.list = '${list}' where c.last is null or e.id > c.last`,
      ],
      [
        `${table}: an id that was given twice`,
        `select account_id, target from audit where action = '${verb}.create'
       group by account_id, target having count(*) > 1`,
      ],
    ],
  ),
  [
    'overrides: a revision that no change has',
    `select account_id, server_id, id, revision from overrides
     except select account_id, server_id, record_id, revision from changes where kind = 'override'`,
  ],
  [
    'network: a revision behind its changes',
    `select revision from network where revision < (select max(revision) from changes)
       or revision < (select max(revision) from versions)
       or revision < (select max(usage_revision) from versions)`,
  ],
  [
    'versions: behind the changes of their account',
    `select c.account_id from changes c left join versions s on s.account_id = coalesce(c.account_id, 0)
     group by c.account_id, s.revision having s.revision is null or s.revision < max(c.revision)`,
  ],
  [
    'audit: an id that will be given again',
    `select id from audit where id >
       coalesce((select last from counters where account_id = 0 and list = 'audit'), 0)`,
  ],
  ...different(
    'usage: hours and their sums differ',
    // The hour in which a billing period begins has a bucket for each of its two periods.
    `select account_id, server_id, hour - hour % 3600 as hour, cast(sum(up + down) as bigint) as bytes from usage_hours
     group by account_id, server_id, hour - hour % 3600`,
    'select account_id, server_id, hour, bytes from usage_server_hours',
  ),
  ...different(
    'usage: hours and the sums by hour differ',
    sumsOf('hour', 'usage_hours'),
    'select kind, hour, id, bytes from usage_hour_sums',
  ),
  ...different(
    'usage: days and the sums by day differ',
    sumsOf(
      'day',
      `(select account_id, server_id, hour as day, up, down from usage_hours
        union all select account_id, server_id, day, up, down from usage_days) u`,
    ),
    'select kind, day, id, bytes from usage_day_sums',
  ),
  [
    'usage: the ranks of days and the sums by day differ',
    'select * from usage_day_sums where ranked > bytes or bytes - ranked > ranked / 100',
  ],
  ...different(
    'usage: hours and periods differ',
    `select account_id, server_id, cast(sum(up + down) as bigint) as bytes from
     (select account_id, server_id, up, down from usage_hours
      union all select account_id, server_id, up, down from usage_days) u
     group by account_id, server_id`,
    'select account_id, server_id, cast(sum(bytes) as bigint) as bytes from usage_periods group by account_id, server_id',
  ),
  ...different(
    'usage: the periods of accounts and of users differ',
    'select account_id, period_start, cast(sum(bytes) as bigint) as bytes from usage_periods group by account_id, period_start',
    'select account_id, period_start, cast(sum(bytes) as bigint) as bytes from usage_user_periods group by account_id, period_start',
  ),
];

/**
 * The contradictions, a sentence each; empty when all is well. Only for lists that nothing swept or
 * cleared. `about` leaves only those whose sentence has these words.
 */
export async function contradictions(db: Reader, about = ''): Promise<string[]> {
  const faults: string[] = [];
  for (const [what, sql] of questions.filter(([what]) => what.includes(about))) {
    const rows = await db.all(sql);
    if (rows.length > 0) faults.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`);
  }
  return faults;
}
