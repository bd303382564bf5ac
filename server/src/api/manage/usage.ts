// …/usage: how much traffic an account made, when, on which servers, by which users.
import { type Static, Type } from 'typebox';
import { type Account, requireAccount } from '../../accounts/accounts.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import { timeIn } from '../../http/paging.ts';
import { addUp, nextHour, safeBytes, sumSlices } from '../../usage/usage.ts';
import { hourOf, periodAt } from '../../values/periods.ts';
import { LongReads } from '../long_reads.ts';
import type { Mount } from './mount.ts';

const bytes = {
  up: Integer('Bytes from the client.'),
  down: Integer('Bytes to the client.'),
  total: Integer('Both together.'),
};
const Report = Named('UsageReport', {
  from: Timestamp('Hours from here on are counted.'),
  to: Timestamp('Hours before here are counted.'),
  by: Type.String({ description: 'What the rows are.' }),
  rows: Type.Array(
    Strict({
      hour: Type.Optional(
        Timestamp(
          'Start of the hour. Hours that were rolled up are one row, where their day (UTC) or the billing period within it begins.',
        ),
      ),
      day: Type.Optional(Timestamp('Start of the day, UTC.')),
      server: Type.Optional(Type.String({ description: 'Server name; #id of a removed one.' })),
      user: Type.Optional(Type.String({ description: 'User name.' })),
      ...bytes,
    }),
  ),
  ...bytes,
});
const ReportQuery = Strict({
  from: Type.Optional(
    Digits('Epoch seconds, counted from its full hour on; the billing period when omitted.'),
  ),
  to: Type.Optional(Digits('Epoch seconds; now when omitted.')),
  by: Type.Optional(
    OneOf(
      ['hour', 'day', 'server', 'user'],
      'One row for each hour, day (the default), server or user.',
    ),
  ),
  server: Type.Optional(Text('Only of this server, by the name that reports show.')),
  user: Type.Optional(Text('Only of this user, by the name that reports show.')),
});
type ReportQuery = Static<typeof ReportQuery>;

export function usageRoutes({ ctx, routesOf }: Mount): void {
  const reads = new LongReads(ctx.db);
  const route = routesOf('usage');
  route('GET /usage', {
    may: ['admin', 'billing'],
    summary: 'Usage by hour, day, server or user',
    query: ReportQuery,
    answer: Report,
    handle: async ({ scope, query }) => {
      const account = await requireAccount(ctx.db, scope.account_id);
      return usageReport(reads, account, query, ctx.clock.now());
    },
  });
}

/** The report of an account's usage for a query. Errors: 400 for an empty time span. */
async function usageReport(reads: LongReads, account: Account, query: ReportQuery, now: number) {
  const requestedFrom = timeIn('from', query.from, null);
  const to = timeIn('to', query.to, nextHour(now));
  const from = requestedFrom === null ? periodStart(account, now) : hourOf(requestedFrom);
  if ((requestedFrom ?? from) >= to)
    throw invalidField('from', `${requestedFrom ?? from} is not before \`to\`, ${to}.`);
  const { by = 'day', server, user } = query;
  const read = (db: Reader) => sumSlices(db, account.id, from, to, by, { server, user });
  const sums = await reads.collect(account.id, read, addUp);
  const rows = sums.map(({ key, up, down }) => ({ [by]: key, ...inAll([{ up, down }]) }));
  return { from, to, by, rows, ...inAll(rows) };
}

/** The hour from which the running period counts; the first one includes its starting hour. */
function periodStart(account: Account, now: number): number {
  const { start } = periodAt(account.start, now);
  return start === account.start ? hourOf(start) : start;
}

/** The sums of some rows, limited to numbers that JSON holds exactly. */
function inAll(rows: Array<{ up: number; down: number }>) {
  const up = safeBytes(rows.reduce((sum, row) => sum + row.up, 0));
  const down = safeBytes(rows.reduce((sum, row) => sum + row.down, 0));
  return { up, down, total: safeBytes(up + down) };
}
