// The forty-fifth and forty-sixth schema: the bytes of each user in each billing period.
import type { Database, Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. `usage_of_users_fill`: the bucket up to which the
 * stored usage is in the sums.
 */
export function usageOfUsers(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table usage_user_periods (
      account_id bigint not null,
      period_start bigint not null,
      user_id bigint not null,
      bytes bigint not null,
      primary key (account_id, period_start, user_id)
    ) ${clustered}`,
    'create index usage_user_periods_by_age on usage_user_periods (period_start)',
    `create table usage_of_users_fill (
      part bigint primary key,
      source text not null,
      account_id bigint not null,
      at bigint not null,
      server_id bigint not null,
      user_id bigint not null
    ) ${clustered}`,
    `insert into usage_of_users_fill (part, source, account_id, at, server_id, user_id)
      values (0, 'usage_hours', -1, 0, 0, 0)`,
  ];
}

/** The sums are filled. */
export function usageOfUsersFilled(): string[] {
  return ['drop table usage_of_users_fill'];
}

interface Place {
  account_id: number;
  at: number;
  server_id: number;
  user_id: number;
}

/** How many buckets one transaction adds to the sums. */
const bucketsOfPart = 50_000;
/** Longer than any billing period: earlier usage counts for no limit. */
const filledSeconds = 62 * 86_400;
const start: Place = { account_id: -1, at: 0, server_id: 0, user_id: 0 };
const end: Place = { account_id: Number.MAX_SAFE_INTEGER, at: 0, server_id: 0, user_id: 0 };
const sources = { usage_hours: 'hour', usage_days: 'day' } as const;
const values = ({ account_id, at, server_id, user_id }: Place) =>
  `(${[account_id, at, server_id, user_id]})`;

/**
 * The statements that fill the sums from the next buckets; undefined: all are filled. The period of
 * a bucket is the last one that begins with it or before, of those that the account has usage in.
 */
export async function fillUsageOfUsers(
  db: Database,
): Promise<{ part: number; statements: string[] } | undefined> {
  const last = await db.one<Place & { part: number; source: keyof typeof sources }>(
    'select * from usage_of_users_fill order by part desc limit 1',
  );
  if (!last) return undefined;
  const isOver = last.account_id === end.account_id;
  if (isOver && last.source === 'usage_days') return undefined;
  const source = isOver ? 'usage_days' : last.source;
  const after = isOver ? start : last;
  const at = sources[source];
  const place = `(account_id, ${at}, server_id, user_id)`;
  const upTo =
    (await db.one<Place>(
      `select account_id, ${at} as at, server_id, user_id from ${source} where ${place} > ${values(after)}
       order by account_id, ${at}, server_id, user_id limit 1 offset ${bucketsOfPart - 1}`,
    )) ?? end;
  const part = last.part + 1;
  const period = (edge: string) =>
    `(select ${edge}(p.period_start) from usage_periods p where p.account_id = u.account_id
      ${edge === 'max' ? `and p.period_start <= u.${at}` : ''})`;
  return {
    part,
    statements: [
      // Of two processes that begin the same part, this ends one.
      `insert into usage_of_users_fill (part, source, account_id, at, server_id, user_id)
        values (${part}, '${source}', ${[upTo.account_id, upTo.at, upTo.server_id, upTo.user_id]})`,
      `insert into usage_user_periods (account_id, period_start, user_id, bytes)
        select account_id, period_start, user_id, cast(sum(bytes) as bigint) from
          (select u.account_id, u.user_id, u.up + u.down as bytes,
             coalesce(${period('max')}, ${period('min')}) as period_start
           from ${source} u where ${place} > ${values(after)} and ${place} <= ${values(upTo)}
             and u.${at} >= (select newest_time - ${filledSeconds} from network)) b
        where period_start is not null group by account_id, period_start, user_id
        on conflict (account_id, period_start, user_id)
        do update set bytes = usage_user_periods.bytes + excluded.bytes`,
    ],
  };
}
