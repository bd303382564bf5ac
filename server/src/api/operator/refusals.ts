// /admin/refusals: which connections were refused lately, in the whole network.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Strict, Text } from '../../http/fields.ts';
import { wholeIn } from '../../http/paging.ts';
import { requireAnyNode } from '../../nodes/nodes.ts';
import { requireServer } from '../../servers/servers.ts';
import { requireUserNamed } from '../../users/users.ts';
import { aboutRefusals, Refusal, refusalFilters, refusalPage } from '../refusals.ts';
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
  const { db } = ctx;
  operatorRoute(app, 'Operator: nodes')('GET /admin/refusals', {
    id: 'list_refusals',
    summary: 'Which connections were refused lately, newest first',
    description: aboutRefusals,
    query: Query,
    answer: Type.Array(Refusal),
    statuses: { 404: 'There is no such account, user, server or node.' },
    handle: async ({ query }, reply) => {
      const { account, user, server } = query;
      if (user !== undefined && account === undefined) {
        throw invalidField('user', 'is that of an account; expected account as well.');
      }
      const account_id =
        account === undefined ? undefined : (await requireAccountNamed(db, account)).id;
      const user_id =
        account_id === undefined || user === undefined
          ? undefined
          : (await requireUserNamed(db, account_id, user)).id;
      const server_id = server === undefined ? undefined : (await requireServer(db, server)).id;
      const node = wholeIn('node', query.node, null, 1);
      const node_id = node === null ? undefined : (await requireAnyNode(db, node)).id;
      const filter = { account_id, user_id, server_id, node_id };
      return refusalPage(ctx, reply, query, filter, { account_id: 0, is_operator: true });
    },
  });
}
