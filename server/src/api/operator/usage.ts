// /admin/usage: how much of its limit each account has used.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageOfAccounts } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { Integer, Named, Strict, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf } from '../../http/paging.ts';
import { periodUsage } from '../../usage/usage.ts';
import { periodAt } from '../../values/periods.ts';
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

export function networkUsageRoutes(app: FastifyInstance, ctx: Context): void {
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
