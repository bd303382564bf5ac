// /admin/servers/{server}/explain: asks a node of the server what it would do with a connection.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { parseAddress } from '../../address.ts';
import type { Context } from '../../context.ts';
import { conflict, invalidField, unavailable } from '../../errors.ts';
import { Integer, OneOf, Strict, Text } from '../../http/fields.ts';
import {
  answer_seconds,
  askNodes,
  awaitAnswer,
  forgetQuestion,
  type LoginQuestion,
  type Question,
} from '../../nodes/nodes.ts';
import type { Secrets } from '../../secrets.ts';
import { exitIpsOfServer, requireServer } from '../../servers/servers.ts';
import { readLogin, vpnServices } from '../../vpn_password.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const Connection = Strict({
  from: Text('IP address that the connection comes from.', 64),
  port: Integer('Port of the proxy that it comes in on.', 1, 65_535),
  host: Type.String({
    pattern: '^[^\\s/@?#]{1,255}$',
    description: 'Hostname or IP address that the client asks for.',
  }),
  destination_port: Type.Optional(
    Integer('Port that the client asks for; 443 for CONNECT and 80 otherwise.', 1, 65_535),
  ),
  method: Type.Optional(
    Type.String({ pattern: '^[A-Z-]{1,32}$', description: 'HTTP method; CONNECT when omitted.' }),
  ),
  user: Type.Optional(Text('Username that the client presents, together with a token.')),
  token: Type.Optional(Text('Proxy access token that it presents as password.', 1024)),
});

const Login = Strict({
  service: OneOf(vpnServices, 'VPN service that the client logs in to.'),
  login: Text('User name of the VPN: user@account.', 200),
  exit_ip: Type.Optional(Text('Address that it dials; the first exit when omitted.', 64)),
});

const Verdict = Strict({
  node: Type.String({ description: 'The node that answered.' }),
  verdict: OneOf(
    ['allow', 'challenge', 'deny'],
    'Let through, asked for credentials, or turned away.',
  ),
  status: Integer('The HTTP status that the client would get.', 100, 599),
  reason: Type.String({ description: 'How the user was known, or why not, in one word.' }),
  message: Type.String({ description: 'What the client would be told.' }),
  rule: Type.Optional(Type.String({ description: 'The record or rule that decided.' })),
  account: Type.Optional(Type.String({ description: 'Account that the connection belongs to.' })),
  user: Type.Optional(Type.String({ description: 'Its user.' })),
  exit_ip: Type.Optional(Type.String({ description: 'The address that it would leave from.' })),
  dial: Type.Optional(Type.String({ description: 'What it would connect to.' })),
  revision: Integer('What the node had applied when it answered.'),
});

const ServerPath = Type.Object({ server: Type.String({ description: 'Server short name.' }) });

/** The connection with what was left out; a node is told what the token says, and never the token. Errors: 400. */
function questionOf(
  { secrets }: Context,
  { from, method = 'CONNECT', token, ...rest }: Static<typeof Connection>,
): Question {
  if ((rest.user === undefined) !== (token === undefined)) {
    const [missing, given] = rest.user === undefined ? ['user', 'token'] : ['token', 'user'];
    throw invalidField(missing, `is missing beside ${given}; a client presents both or neither.`);
  }
  const destination_port = rest.destination_port ?? (method === 'CONNECT' ? 443 : 80);
  return {
    ...rest,
    ...(token === undefined ? {} : { claims: claimsOf(secrets.readProxyToken(token)) }),
    from: parseAddress('from', from, { addresses: 'any' }),
    method,
    destination_port,
  };
}

function claimsOf(read: ReturnType<Secrets['readProxyToken']>): Question['claims'] {
  if (!read) return null;
  const { kid, account_id: account, user_id: user, token_version, expiry } = read;
  return { kid, account, user, token_version, expiry };
}

/** Asks the live nodes of a server. Errors: 503 without one that answers. */
async function ask(
  ctx: Context,
  request: FastifyRequest,
  server: string,
  question: Question | LoginQuestion,
) {
  const id = await operatorWrite(ctx, request, async (tx) =>
    askNodes(tx, ctx.secrets, await requireServer(tx, server), question),
  );
  const answered = await awaitAnswer(ctx.db, () => ctx.clock.steady(), id);
  await operatorWrite(ctx, request, (tx) => forgetQuestion(tx, id));
  if (!answered) {
    throw unavailable(
      `No node of ${server} answered within ${answer_seconds} seconds; look at their lag and at the version of their agents.`,
    );
  }
  return { node: answered.node, ...answered.answer };
}

export function explainRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');
  const description = `A live node of the server answers, from what it has applied; within ${answer_seconds} seconds.`;
  route('POST /admin/servers/:server/explain', {
    find: ({ server }) => requireServer(ctx.db, server),
    summary: 'What a node of the server would do with a connection, and by which rule',
    description,
    params: ServerPath,
    body: Connection,
    answer: Verdict,
    errors: [503],
    handle: (request) => ask(ctx, request, request.params.server, questionOf(ctx, request.body)),
  });
  route('POST /admin/servers/:server/explain-login', {
    find: ({ server }) => requireServer(ctx.db, server),
    summary:
      'What a node of the server would do with a login to its VPN that has the right password',
    description,
    params: ServerPath,
    body: Login,
    answer: Verdict,
    errors: [409, 503],
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
      return ask(ctx, request, server, { ...request.body, exit_ip });
    },
  });
}
