// /admin/servers/{server}/explain: asks a node of the server what it would do with a connection.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { ConnectionQuestion, LoginQuestion } from '../../../../kit/src/node_interface.ts';
import { forOperators } from '../../../../kit/src/refusal_settings.ts';
import { readLogin, vpnServices } from '../../../../kit/src/vpn_password.ts';
import type { Context } from '../../context.ts';
import { conflict, invalidField } from '../../errors.ts';
import { Integer, Named, OneOf, Text } from '../../http/fields.ts';
import { answerOfNodes, answerSeconds } from '../../nodes/nodes.ts';
import { exitIpsOfServer, requireServer } from '../../servers/servers.ts';
import { parseAddress } from '../../values/address.ts';
import { claimsOf, decisionFields, noAnswer, requestFields, withDefaults } from '../decisions.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const Connection = Named('Connection', {
  ...requestFields,
  from: Text('IP address that the connection comes from.', 64),
  user: Type.Optional(Text('Username that the client presents, together with a token.')),
  token: Type.Optional(Text('Proxy access token that it presents as password.', 1024)),
});

const Login = Named('VpnLogin', {
  service: OneOf(vpnServices, 'VPN service that the client logs in to.'),
  login: Text('User name of the VPN: user@account.', 200),
  exit_ip: Type.Optional(Text('Address that it dials; the first exit when omitted.', 64)),
  from: Type.Optional(
    Text('IP address that it comes from; one that the user does not use now when omitted.', 64),
  ),
});

const Verdict = Named('Verdict', {
  ...decisionFields,
  node: Type.String({ description: 'The node that answered.' }),
  revision: Integer('What the node had applied when it answered.'),
});

const ServerPath = Type.Object({ server: Type.String({ description: 'Server short name.' }) });

/** The connection with defaults; a node gets the token's claims, never the token. Errors: 400. */
function questionOf(
  { secrets }: Context,
  { from, token, ...rest }: Static<typeof Connection>,
): ConnectionQuestion {
  if ((rest.user === undefined) !== (token === undefined)) {
    const [missing, given] = rest.user === undefined ? ['user', 'token'] : ['token', 'user'];
    throw invalidField(
      missing,
      `is missing next to \`${given}\`; a client presents both or neither.`,
    );
  }
  return {
    ...withDefaults(rest),
    ...(token === undefined ? {} : { claims: claimsOf(secrets, token) }),
    from: parseAddress('from', from, { addresses: 'any' }),
  };
}

export function explainRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');
  const ask = async (
    request: FastifyRequest,
    server: string,
    question: ConnectionQuestion | LoginQuestion,
  ) =>
    forOperators(
      await answerOfNodes(ctx, (action) => operatorWrite(ctx, request, action), server, question),
    );
  const description = `A live node of the server answers, from what it has applied; within ${answerSeconds} seconds.`;
  route('POST /admin/servers/:server/explain', {
    find: ({ server }) => requireServer(ctx.db, server),
    id: 'explain',
    summary: 'What a node of the server would do with a connection, and by which rule',
    description,
    params: ServerPath,
    body: Connection,
    answer: Verdict,
    statuses: { 503: noAnswer },
    handle: (request) => ask(request, request.params.server, questionOf(ctx, request.body)),
  });
  route('POST /admin/servers/:server/explain-login', {
    find: ({ server }) => requireServer(ctx.db, server),
    id: 'explain_login',
    summary:
      'What a node of the server would do with a login to its VPN that has the right password',
    description,
    params: ServerPath,
    body: Login,
    answer: Verdict,
    statuses: {
      409: 'The server has no exit IP.',
      503: noAnswer,
    },
    handle: async (request) => {
      const { server } = request.params;
      if (readLogin(request.body.login).length === 0) {
        throw invalidField('login', 'is no user name of a VPN; expected user@account.');
      }
      const { id } = await requireServer(ctx.db, server);
      const [first] = await exitIpsOfServer(ctx.db, id);
      const given = request.body.exit_ip;
      const exit_ip =
        given === undefined ? first?.ip : parseAddress('exit_ip', given, { addresses: 'any' });
      if (exit_ip === undefined) throw conflict(`${server} has no exit IP.`, { field: 'exit_ip' });
      const { from, ...login } = request.body;
      const source =
        from === undefined ? {} : { from: parseAddress('from', from, { addresses: 'any' }) };
      return ask(request, server, { ...login, exit_ip, ...source });
    },
  });
}
