// POST /node/join and GET /node/echo: the requests that need no node token.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import type { Context } from '../../context.ts';
import { errors, Integer, Strict, Text } from '../../http/fields.ts';
import { sendJson } from '../../http/responses.ts';
import { joinNode } from '../../nodes/nodes.ts';
import { actorOf, tags } from './checks.ts';

const Join = Strict({
  code: Text('The one-time code of an invitation.', 64),
  name: Text("What the operator sees: usually the machine's name.", 128),
  version: Text('Version of the agent.', 64),
});

export function joinRoutes(app: FastifyInstance, ctx: Context): void {
  app.post<{ Body: Static<typeof Join> }>(
    '/node/join',
    {
      schema: {
        summary: 'Join with a one-time code',
        tags,
        security: [],
        body: Join,
        response: {
          201: Type.Object({
            node: Integer('Node id.'),
            server: Type.String(),
            token: Type.String({ description: 'Bearer token of this node; shown only here.' }),
          }),
          ...errors(400, 401),
        },
      },
    },
    async (request, reply) => {
      const { node, server, token } = await ctx.db.write(actorOf(request), (tx) =>
        joinNode(tx, ctx.secrets, request.body),
      );
      return sendJson(reply.code(201), { node: node.id, server: server.name, token });
    },
  );

  app.get(
    '/node/echo',
    {
      schema: {
        summary: 'The address that the request came from',
        description: 'Agents ask through their own ports: is this what the world sees of an exit?',
        tags,
        security: [],
        response: {
          200: Type.Object({ address: Type.String({ description: 'IPv4 or IPv6 address.' }) }),
          ...errors(400),
        },
      },
    },
    async (request, reply) => {
      const address = canonicalAddress(request.ip) ?? request.ip;
      return sendJson(reply.header('cache-control', 'no-store'), { address });
    },
  );
}
