// …/servers/{server}/explain: why a connection of the account is let through or rejected, as a node of the server decides.
import { Type } from 'typebox';
import { parseAddress } from '../../address.ts';
import { invalidField } from '../../errors.ts';
import { Strict, Text } from '../../http/fields.ts';
import { ownAddress } from '../../http/own_address.ts';
import { type Answer, answer_seconds, answerOfNodes } from '../../nodes/nodes.ts';
import { claimsOfUser } from '../../users/users.ts';
import { ServerPath } from '../account/servers.ts';
import { asked, claimsOf, decided, withDefaults } from '../decisions.ts';
import type { Mount } from './mount.ts';
import { requireSelf, type Scope } from './scope.ts';

const Connection = Strict({
  ...asked,
  from: Type.Optional(
    Text('IP address that the connection comes from; your own when omitted.', 64),
  ),
  user: Type.Optional(Text('User who presents a proxy access token; omitted: known by address.')),
  token: Type.Optional(Text('That token; a valid one of the user when omitted.', 1024)),
});
const Decision = Strict(decided);

/** The part of an answer that is the client's to know: of a connection that counts as somebody else's, that alone. */
function shownTo({ account_name, only_user }: Scope, answer: Answer) {
  const { revision: _, ...decision } = answer;
  const { account, user } = decision;
  const isOwn = account === account_name && (!only_user || user === only_user.name);
  if (account === undefined || isOwn) return decision;
  const whose = only_user ? `user ${only_user.name}` : `account ${account_name}`;
  return {
    verdict: 'deny',
    status: 407,
    reason: 'not_yours',
    message: `Such a connection does not count as one of ${whose}.`,
  } as const;
}

export function explainRoutes({ ctx, audience, routesOf, write }: Mount): void {
  routesOf('servers')('POST /servers/:server/explain', {
    may: ['admin', 'proxy'],
    summary: 'What a node of the server would do with a connection of the account, and why',
    description: `A live node of the server decides, by what it has applied; within ${answer_seconds} seconds. Without the admin flag: for oneself alone.`,
    params: ServerPath,
    body: Connection,
    answer: Decision,
    errors: [409, 503],
    handle: async (request) => {
      const { user, token, from: given, ...rest } = request.body;
      if (token !== undefined && user === undefined) {
        throw invalidField('user', 'is missing beside token.');
      }
      if (given === undefined && !audience.lists_own_address) {
        throw invalidField('from', 'is missing from the body.');
      }
      const from =
        given === undefined
          ? ownAddress(request)
          : parseAddress('from', given, { addresses: 'any' });
      const connection = { ...withDefaults(rest), from };
      const claims = await write(request, async (tx, scope) => {
        requireSelf(scope, user, 'name');
        if (user === undefined) return undefined;
        return token === undefined
          ? claimsOfUser(tx, scope.account_id, user)
          : claimsOf(ctx.secrets, token);
      });
      const question = {
        ...connection,
        ...(user === undefined ? {} : { user, claims: claims ?? null }),
      };
      const { node: _, ...answer } = await answerOfNodes(
        ctx,
        (action) => write(request, action),
        request.params.server,
        question,
      );
      return shownTo(request.scope, answer);
    },
  });
}
