// The thirty-ninth and fortieth schema: the usage of the network, of each account and of each server by hour and by day.
import type { Database, Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. `kind`: 0 the network (its id is 0), 1 an account, 2 a server. Sums of one hour or day lie
 * together, since they are written together. `ranked`: the bytes by which the largest of a day are found; they are less than the bytes by
 * at most one percent, so that an index on them seldom changes. `usage_sums_fill`: the bucket up to which the sums are filled.
 */
export function usageSums(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table usage_hour_sums (
      kind smallint not null,
      hour bigint not null,
      id bigint not null,
      bytes bigint not null,
      primary key (kind, hour, id)
    ) ${clustered}`,
    `create table usage_day_sums (
      kind smallint not null,
      day bigint not null,
      id bigint not null,
      bytes bigint not null,
      ranked bigint not null default 0,
      primary key (kind, day, id)
    ) ${clustered}`,
    'create index usage_day_sums_largest on usage_day_sums (kind, day, ranked, id)',
    `create table usage_sums_fill (
      part bigint primary key,
      source text not null,
      account_id bigint not null,
      at bigint not null,
      server_id bigint not null,
      user_id bigint not null
    ) ${clustered}`,
    `insert into usage_sums_fill (part, source, account_id, at, server_id, user_id)
      values (0, 'usage_hours', -1, 0, 0, 0)`,
  ];
}

/** The sums are filled. */
export function usageSumsFilled(): string[] {
  return ['update usage_day_sums set ranked = bytes', 'drop table usage_sums_fill'];
}

interface Place {
  account_id: number;
  at: number;
  server_id: number;
  user_id: number;
}

/** How many buckets one transaction adds to the sums. */
const bucketsOfPart = 50_000;
const start: Place = { account_id: -1, at: 0, server_id: 0, user_id: 0 };
const end: Place = { account_id: Number.MAX_SAFE_INTEGER, at: 0, server_id: 0, user_id: 0 };
/** Where the buckets are, and the sums that each source fills: days have lost their hours. */
const sources = {
  usage_hours: { at: 'hour', sums: ['hour', 'day'] },
  usage_days: { at: 'day', sums: ['day'] },
} as const;
const kinds = ['0', 'account_id', 'server_id'];
const seconds = { hour: 3600, day: 86_400 };

/** The statements that fill the sums from the next buckets; undefined: all are filled. */
export async function fillUsageSums(
  db: Database,
): Promise<{ part: number; statements: string[] } | undefined> {
  const last = await db.one<Place & { part: number; source: keyof typeof sources }>(
    'select * from usage_sums_fill order by part desc limit 1',
  );
  if (!last) return undefined;
  const isOver = last.account_id === end.account_id;
  if (isOver && last.source === 'usage_days') return undefined;
  const source = isOver ? 'usage_days' : last.source;
  const after = isOver ? start : last;
  const { at, sums } = sources[source];
  const place = `(account_id, ${at}, server_id, user_id)`;
  const upTo =
    (await db.one<Place>(
      `select account_id, ${at} as at, server_id, user_id from ${source} where ${place} > ${values(after)}
       order by account_id, ${at}, server_id, user_id limit 1 offset ${bucketsOfPart - 1}`,
    )) ?? end;
  const part = last.part + 1;
  return {
    part,
    statements: [
      // Of two processes that begin the same part, this ends one.
      `insert into usage_sums_fill (part, source, account_id, at, server_id, user_id)
        values (${part}, '${source}', ${[upTo.account_id, upTo.at, upTo.server_id, upTo.user_id]})`,
      ...sums.flatMap((unit) =>
        kinds.map(
          (id, kind) => `insert into usage_${unit}_sums (kind, ${unit}, id, bytes)
            select ${kind}, ${at} - ${at} % ${seconds[unit]}, ${id}, cast(sum(up + down) as bigint) from ${source}
            where ${place} > ${values(after)} and ${place} <= ${values(upTo)} group by 2, 3
            on conflict (kind, ${unit}, id) do update set bytes = usage_${unit}_sums.bytes + excluded.bytes`,
        ),
      ),
    ],
  };
}

const values = ({ account_id, at, server_id, user_id }: Place) =>
  `(${[account_id, at, server_id, user_id]})`;
