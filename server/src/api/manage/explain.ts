// …/servers/{server}/explain: a node's decision about a connection of the account, and its reason.
import { type Static, Type } from 'typebox';
import type { ConnectionQuestion } from '../../../../kit/src/node_interface.ts';
import { forOperators } from '../../../../kit/src/refusal_settings.ts';
import { invalidField } from '../../errors.ts';
import { Named, Text } from '../../http/fields.ts';
import { ownAddress } from '../../http/own_address.ts';
import { answerOfNodes, answerSeconds } from '../../nodes/nodes.ts';
import { claimsOfUser } from '../../users/users.ts';
import { parseAddress } from '../../values/address.ts';
import { ServerPath } from '../account/servers.ts';
import { claimsOf, decisionFields, noAnswer, requestFields, withDefaults } from '../decisions.ts';
import type { Mount } from './mount.ts';
import { onlyOneself, requireSelf, type Scope } from './scope.ts';

const Connection = Named('OwnConnection', {
  ...requestFields,
  from: Type.Optional(
    Text('IP address that the connection comes from; your own when omitted.', 64),
  ),
  user: Type.Optional(Text('User who presents a proxy access token; omitted: known by address.')),
  token: Type.Optional(Text('That token; a valid one of the user when omitted.', 1024)),
});
const Decision = Named('ConnectionDecision', decisionFields);
type Decision = Static<typeof Decision>;

/** The sentences of nodes for unknown clients: the same ones, whichever node answers. */
const sentences = {
  unknown_address:
    'this address is not on an IP authlist; add it, or give your user name and a proxy access token',
  bad_token: 'the user name and the proxy access token do not fit; check both',
};

/** Shows another account's connection like an unknown one: its list entries must stay secret. */
function shownTo(
  { account_name, only_user }: Scope,
  answer: Decision,
  nobodys: keyof typeof sentences,
): Decision {
  const { account, user, reason } = answer;
  const isOwn = account === account_name && (!only_user || user === only_user.name);
  if (isOwn || (account === undefined && reason !== nobodys)) return answer;
  return { verdict: 'challenge', status: 407, reason: nobodys, message: sentences[nobodys] };
}

/** Checks the exit for the client's own connections only: the time taken would reveal others. */
const ofOwn = ({
  account_name: account,
  only_user,
}: Scope): Pick<ConnectionQuestion, 'check_exit_of'> => ({
  check_exit_of: { account, ...(only_user && { user: only_user.name }) },
});

export function explainRoutes({ ctx, audience, routesOf, write }: Mount): void {
  routesOf('servers')('POST /servers/:server/explain', {
    may: ['admin', 'proxy'],
    id: 'explain_connection',
    summary: 'What a node of the server would do with a connection of the account, and why',
    description: `A live node of the server decides, by what it has applied; within ${answerSeconds} seconds. Without the admin flag: for oneself alone.`,
    params: ServerPath,
    body: Connection,
    answer: Decision,
    statuses: {
      403: onlyOneself,
      409: 'The account has no such user.',
      503: noAnswer,
    },
    handle: async (request) => {
      const { user, token, from: given, ...rest } = request.body;
      if (token !== undefined && user === undefined) {
        throw invalidField('user', 'is missing next to `token`.');
      }
      if (given === undefined && !audience.lists_own_address) {
        throw invalidField('from', 'is missing from the body.');
      }
      const from =
        given === undefined
          ? ownAddress(request)
          : parseAddress('from', given, { addresses: 'any' });
      const { check_exit, ...connection } = { ...withDefaults(rest), from };
      const { scope, claims } = await write(request, async (tx, scope) => {
        requireSelf(scope, user, 'name');
        if (user === undefined) return { scope };
        const claims = await (token === undefined
          ? claimsOfUser(tx, scope.account_id, user)
          : claimsOf(ctx.secrets, token));
        return { scope, claims };
      });
      const { server } = request.params;
      const decision = await answerOfNodes(ctx, (action) => write(request, action), server, {
        ...connection,
        ...(user === undefined ? {} : { user, claims: claims ?? null }),
        ...(check_exit && (audience.is_operator ? { check_exit } : ofOwn(scope))),
      });
      const { revision: _, node: __, ...answer } = decision;
      if (audience.is_operator) return forOperators(answer);
      return shownTo(scope, answer, user === undefined ? 'unknown_address' : 'bad_token');
    },
  });
}
