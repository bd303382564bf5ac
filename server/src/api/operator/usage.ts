// /admin/usage: how much of its limit each account has used, and who used how much over time.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageOfAccounts, requireAccount } from '../../accounts/accounts.ts';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf, timeIn, wholeIn } from '../../http/paging.ts';
import { findServer } from '../../servers/servers.ts';
import {
  comparedOfDay,
  largestParts,
  nextHour,
  periodUsage,
  sumsOverTime,
} from '../../usage/usage.ts';
import { daySeconds, hourOf, periodAt } from '../../values/periods.ts';
import { LongReads } from '../long_reads.ts';
import { operatorRoute } from './route.ts';

const AccountUsage = Named('AccountUsage', {
  account: Type.String({ description: 'Account name.' }),
  period: Strict({
    start: Timestamp('Start of the running billing period.'),
    end: Timestamp('Its end.'),
  }),
  usage: Integer('Bytes of the whole network in the period.'),
  limit: Integer('Bytes that the contract allows in a period.'),
  over_limit: Type.Boolean({ description: 'Whether the limit is used up.' }),
});

const maxSpanDays = 400;
const maxSpanByHourDays = 8;
const maxParts = 20;

const OverTimeQuery = Strict({
  from: Type.Optional(
    Digits('Epoch seconds, counted from its full hour on; 30 days before `to` when omitted.'),
  ),
  to: Type.Optional(Digits('Epoch seconds; now when omitted.')),
  by: OneOf(['account', 'server'], 'Whose usage the parts are.'),
  each: Type.Optional(OneOf(['hour', 'day'], 'The width of a step; a day (UTC) when omitted.')),
  parts: Type.Optional(
    Digits(
      `How many accounts or servers have parts of their own: 1 to ${maxParts}, 6 when omitted.`,
      1,
      maxParts,
    ),
  ),
});
const UsageOverTime = Named('UsageOverTime', {
  from: Timestamp('Hours from here on are counted.'),
  to: Timestamp('Hours before here are counted.'),
  by: Type.String({ description: 'What the parts are.' }),
  step: Integer('Width of a step in seconds: 3600 or 86400.'),
  parts: Type.Array(
    Strict({
      name: Type.Union([Type.String(), Type.Null()], {
        description: 'Of the account or server, #id of a removed one; null: all others together.',
      }),
      total: Integer('Bytes in both directions.'),
      steps: Type.Array(
        Strict({
          at: Timestamp('Start of the hour or day.'),
          bytes: Integer('Bytes in both directions.'),
        }),
        { description: 'In order of time. Steps without traffic are left out.' },
      ),
    }),
    { description: 'The most usage first; then the others, if there are any.' },
  ),
});

export function networkUsageRoutes(app: FastifyInstance, ctx: Context): void {
  const longReads = new LongReads(ctx.db);
  operatorRoute(app, 'Operator: usage')('GET /admin/usage/over_time', {
    summary: 'Usage over time, split by account or server',
    description: `As it is billed. At most ${maxSpanDays} days, or ${maxSpanByHourDays} by hour. Of days whose hours were rolled up, only whole days are counted. An account or server has a part of its own only if it is among the ${comparedOfDay} with the most usage on a day (UTC) of the time range.`,
    query: OverTimeQuery,
    answer: UsageOverTime,
    handle: async ({ query }) => {
      const { by, each = 'day' } = query;
      const to = timeIn('to', query.to, nextHour(ctx.clock.now()));
      const requestedFrom = timeIn('from', query.from, Math.max(0, to - 30 * daySeconds));
      if (requestedFrom >= to)
        throw invalidField('from', `${requestedFrom} is not before \`to\`, ${to}.`);
      const from = hourOf(requestedFrom);
      const maxDays = each === 'day' ? maxSpanDays : maxSpanByHourDays;
      if (to - from > maxDays * daySeconds) {
        throw invalidField('from', `is more than ${maxDays} days before \`to\`.`);
      }
      const span = { from, to, step: each === 'day' ? daySeconds : 3600 };
      const parts = await longReads.collect(
        networkVersion,
        (db) => sumsOverTime(db, by, span),
        (slices) => largestParts(slices, span, wholeIn('parts', query.parts, 6, 1, maxParts)),
      );
      const named = parts.map(async ({ id, ...part }) => ({
        name: id === null ? null : await nameOf(ctx.db, by, id),
        ...part,
      }));
      return { ...span, by, parts: await Promise.all(named) };
    },
  });
  operatorRoute(app, 'Operator: usage')('GET /admin/usage', {
    summary: 'Usage of all accounts in their running billing periods',
    query: Strict(PageQuery),
    answer: Type.Array(AccountUsage),
    handle: async ({ query }, reply) => {
      const limit = limitIn(query.limit);
      const accounts = await pageOfAccounts(ctx.db, query.after ?? '', limit + 1);
      const page = pageOf(reply, accounts, limit, (last) => ({ after: last.name }));
      const now = ctx.clock.now();
      const rows = page.map(async ({ id, name, start, limit_bytes, over_limit }) => {
        const period = periodAt(start, now);
        const { total } = await periodUsage(ctx.db, id, period.start);
        return {
          account: name,
          period,
          usage: total,
          limit: limit_bytes,
          over_limit: over_limit === 1,
        };
      });
      return Promise.all(rows);
    },
  });
}

async function nameOf(db: Reader, by: 'account' | 'server', id: number): Promise<string> {
  if (by === 'account') return (await requireAccount(db, id)).name;
  return (await findServer(db, id))?.name ?? `#${id}`;
}
