// …/refusals: which connections of one account were refused lately; without the admin flag those
// that name oneself.
import { Type } from 'typebox';
import { invalidField } from '../../errors.ts';
import { OneOf, Strict } from '../../http/fields.ts';
import { ownAddress } from '../../http/own_address.ts';
import { requireUserNamed } from '../../users/users.ts';
import { aboutRefusals, Refusal, refusalFilters, refusalPage } from '../refusals.ts';
import type { Mount } from './mount.ts';
import { requireFilterServer, requireSelf } from './scope.ts';

const ofPeople = {
  own_address: Type.Optional(
    OneOf(
      ['true'],
      'Those from the address that you call from, also where they concern no account.',
    ),
  ),
};

export function refusalRoutes({ ctx, audience, routesOf }: Mount): void {
  const { db } = ctx;
  const { is_operator } = audience;
  routesOf('account')('GET /refusals', {
    may: ['admin', 'proxy'],
    summary: 'Which connections were refused lately, newest first',
    description: `${aboutRefusals} Those that name a user of the account, and those from addresses that were on its authlist then or shortly before. Without the admin flag: those that name oneself.`,
    query: Strict(is_operator ? refusalFilters : { ...refusalFilters, ...ofPeople }),
    answer: Type.Array(Refusal),
    statuses: {
      403: 'Without the admin flag: a user other than oneself; or the server is not on the contract.',
      404: 'There is no such user or server.',
    },
    handle: async (request, reply) => {
      const { scope } = request;
      const query = request.query as typeof request.query & { own_address?: 'true' };
      const { account_id, only_user } = scope;
      requireSelf(scope, query.user, 'name');
      const user =
        query.user === undefined
          ? undefined
          : (only_user ?? (await requireUserNamed(db, account_id, query.user)));
      const server_id =
        query.server === undefined
          ? undefined
          : (await requireFilterServer(audience, db, account_id, query.server)).id;
      const isOwn = query.own_address === 'true';
      if (isOwn && query.address !== undefined) {
        throw invalidField('address', 'is not for `own_address`; send one of them.');
      }
      const whose = isOwn
        ? {
            ...{ source: ownAddress(request), user_id: user?.id },
            seen_by: { account_id, user_id: only_user?.id },
          }
        : { account_id, user_id: (only_user ?? user)?.id };
      const seenBy = { account_id, is_operator, user_id: only_user?.id };
      return refusalPage(ctx, reply, query, { ...whose, server_id }, seenBy);
    },
  });
}
