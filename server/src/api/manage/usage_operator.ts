// /admin/usage and /admin/accounts/{account}/usage: how much traffic was made, when, where, by whom.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Account, pageOfAccounts, requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { errors, Integer, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf, wholeIn } from '../../http/paging.ts';
import { sendJson } from '../../http/responses.ts';
import {
  hourOf,
  nextHour,
  periodAt,
  periodUsage,
  reportUsage,
  safeBytes,
} from '../../usage/usage.ts';
import { AccountPath } from '../operator/checks.ts';

const AccountUsage = Strict({
  account: Type.String({ description: 'Account name.' }),
  period: Strict({
    start: Timestamp('Start of the running billing period.'),
    end: Timestamp('Its end.'),
  }),
  usage: Integer('Bytes of the whole network in the period.'),
  limit: Integer('Bytes that the contract allows in a period.'),
  over_limit: Type.Boolean({ description: 'Whether the limit is used up.' }),
});

const bytes = {
  up: Integer('Bytes from the client.'),
  down: Integer('Bytes to the client.'),
  total: Integer('Both together.'),
};
export const Report = Strict({
  from: Timestamp('Hours from here on are counted.'),
  to: Timestamp('Hours before here are counted.'),
  by: Type.String({ description: 'What the rows are.' }),
  rows: Type.Array(
    Strict({
      hour: Type.Optional(Timestamp('Start of the hour.')),
      day: Type.Optional(Timestamp('Start of the day, UTC.')),
      server: Type.Optional(Type.String({ description: 'Server name; #id of a removed one.' })),
      user: Type.Optional(Type.String({ description: 'User name.' })),
      ...bytes,
    }),
  ),
  ...bytes,
});
export const ReportQuery = Strict({
  from: Type.Optional(
    Type.String({
      description: 'Epoch seconds, counted from its full hour on; the billing period when omitted.',
    }),
  ),
  to: Type.Optional(Type.String({ description: 'Epoch seconds; now when omitted.' })),
  by: Type.Optional(
    OneOf(
      ['hour', 'day', 'server', 'user'],
      'One row for each hour, day (the default), server or user.',
    ),
  ),
  server: Type.Optional(Text('Only of this server, by the name that reports show.')),
  user: Type.Optional(Text('Only of this user, by the name that reports show.')),
});
export type ReportQuery = Static<typeof ReportQuery>;

export function accountUsageAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: usage'];

  app.get<{ Querystring: { after?: string; limit?: string } }>(
    '/admin/usage',
    {
      schema: {
        summary: 'Usage of all accounts in their running billing periods',
        tags,
        querystring: Strict(PageQuery),
        response: { 200: Type.Array(AccountUsage), ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      const limit = limitIn(request.query.limit);
      const found = await pageOfAccounts(ctx.db, request.query.after ?? '', limit + 1);
      const page = pageOf(reply, found, limit, (last) => ({ after: last.name }));
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
      return sendJson(reply, await Promise.all(rows));
    },
  );

  app.get<{ Params: AccountPath; Querystring: ReportQuery }>(
    '/admin/accounts/:account/usage',
    {
      schema: {
        summary: 'Usage of an account by hour, day, server or user',
        tags,
        params: AccountPath,
        querystring: ReportQuery,
        response: { 200: Report, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      return sendJson(reply, await usageReport(ctx.db, account, request.query, ctx.clock.now()));
    },
  );
}

/** What an account used, as it was asked for. Errors: 400 for a span that holds no time. */
export async function usageReport(db: Reader, account: Account, query: ReportQuery, now: number) {
  const asked = wholeIn('from', query.from, null);
  const to = wholeIn('to', query.to, nextHour(now));
  const from = asked === null ? periodStart(account, now) : hourOf(asked);
  if ((asked ?? from) >= to)
    throw invalidField('from', `${asked ?? from} is not before to, ${to}.`);
  const { by = 'day', server, user } = query;
  const found = await reportUsage(db, account.id, from, to, by, { server, user });
  const rows = found.map(({ key, up, down }) => ({ [by]: key, ...inAll([{ up, down }]) }));
  return { from, to, by, rows, ...inAll(rows) };
}

/** From which hour on traffic counts in the running billing period; the first takes the hour it starts in. */
function periodStart(account: Account, now: number): number {
  const { start } = periodAt(account.start, now);
  return start === account.start ? hourOf(start) : start;
}

/** The sums of some rows; never more than JSON can tell exactly. */
function inAll(rows: Array<{ up: number; down: number }>) {
  const up = safeBytes(rows.reduce((sum, row) => sum + row.up, 0));
  const down = safeBytes(rows.reduce((sum, row) => sum + row.down, 0));
  return { up, down, total: safeBytes(up + down) };
}
