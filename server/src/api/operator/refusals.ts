// /admin/refusals: which connections were refused lately, in the whole network.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { Digits, Strict, Text } from '../../http/fields.ts';
import { wholeIn } from '../../http/paging.ts';
import { aboutRefusals, Refusal, refusalFilters, refusalPage } from '../refusals.ts';
import { findNamed } from './named.ts';
import { operatorRoute } from './route.ts';

const Query = Strict({
  account: Type.Optional(
    Text('Only those that name a user of this account, or come from an address of its authlist.'),
  ),
  ...refusalFilters,
  user: Type.Optional(Text('Only those that name this user of the account.')),
  node: Type.Optional(Digits('Only those of this node, by its id.', 1)),
});

export function refusalRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: nodes')('GET /admin/refusals', {
    id: 'list_refusals',
    summary: 'Which connections were refused lately, newest first',
    description: aboutRefusals,
    query: Query,
    answer: Type.Array(Refusal),
    statuses: { 404: 'There is no such account, user, server or node.' },
    handle: async ({ query }, reply) => {
      const node_id = wholeIn('node', query.node, null, 1);
      const { node, ...ids } = await findNamed(ctx.db, { ...query, node_id });
      const filter = { ...ids, node_id: node?.id };
      return refusalPage(ctx, reply, query, filter, { account_id: 0, is_operator: true });
    },
  });
}
