// POST /node/acks: the revision up to which a node has applied every change.
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Context } from '../../context.ts';
import { errors, Integer, NoContent, Strict, Text } from '../../http/fields.ts';
import { sendNothing } from '../../http/responses.ts';
import { acknowledge } from '../../nodes/nodes.ts';
import { actorOf, tags } from './checks.ts';

const Ack = Strict({
  epoch: Text('The history that the revision belongs to.', 64),
  revision: Integer('Every change up to it is applied by all workers of the engine.'),
});

export function acknowledgementRoutes(app: FastifyInstance, ctx: Context): void {
  app.post<{ Body: Static<typeof Ack> }>(
    '/node/acks',
    {
      schema: {
        summary: 'Acknowledge what is applied',
        tags,
        body: Ack,
        response: { 204: NoContent, ...errors(400, 401, 409) },
      },
    },
    async (request, reply) => {
      const { epoch, revision } = request.body;
      await ctx.db.write(actorOf(request), (tx) =>
        acknowledge(tx, request.node.id, epoch, revision),
      );
      return sendNothing(reply);
    },
  );
}
