// POST /node/join and GET /node/echo: the requests that need no node token.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import type { Context } from '../../context.ts';
import { Integer, Named, Text } from '../../http/fields.ts';
import { sendJson } from '../../http/responses.ts';
import { joinNode } from '../../nodes/nodes.ts';
import { actorOf } from './checks.ts';
import { nodeRoute } from './route.ts';

const Join = Named('NodeJoin', {
  code: Text('The one-time code of an invitation.', 64),
  name: Text("What the operator sees: usually the machine's name.", 128),
  version: Text('Version of the agent.', 64),
});
const Joined = Type.Object(
  {
    node: Integer('Node id.'),
    server: Type.String({ description: 'Short name of the server that it serves.' }),
    token: Type.String({ description: 'Bearer token of this node; shown only here.' }),
  },
  { title: 'JoinedNode' },
);
const Echo = Type.Object(
  { address: Type.String({ description: 'IPv4 or IPv6 address.' }) },
  { title: 'SeenAddress' },
);

export function joinRoutes(app: FastifyInstance, ctx: Context): void {
  const route = nodeRoute(app);

  route('POST /node/join', {
    open: true,
    id: 'join',
    summary: 'Join with a one-time code',
    body: Join,
    created: Joined,
    statuses: {
      201: 'Joined. The token is shown only here.',
      401: 'The code is unknown, used or too old.',
    },
    handle: async (request, reply) => {
      const { node, server, token } = await ctx.db.write(actorOf(request), (tx) =>
        joinNode(tx, ctx.secrets, request.body),
      );
      return sendJson(reply.code(201), { node: node.id, server: server.name, token });
    },
  });

  route('GET /node/echo', {
    open: true,
    id: 'echo',
    summary: 'The address that the request came from',
    description: 'Agents ask through their own ports: is this what the world sees of an exit?',
    answer: Echo,
    handle: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return { address: canonicalAddress(request.ip) ?? request.ip };
    },
  });
}
