// POST /node/acks: the revision up to which a node has applied every change.
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Context } from '../../context.ts';
import { errors, Integer, NoContent, Strict, Text } from '../../http/fields.ts';
import { sendNothing } from '../../http/responses.ts';
import { acknowledge } from '../../nodes/nodes.ts';
import { actorOf, tags, toldByAgent } from './checks.ts';
import type { Pace } from './pace.ts';

const Ack = Strict({
  epoch: Text('The history that the revision belongs to.', 64),
  revision: Integer('Every change up to it is applied by all workers of the engine.'),
});

export function acknowledgementRoutes(app: FastifyInstance, ctx: Context, pace: Pace): void {
  app.post<{ Body: Static<typeof Ack> }>(
    '/node/acks',
    {
      schema: {
        summary: 'Acknowledge what is applied',
        tags,
        body: Ack,
        response: { 204: NoContent, ...errors(400, 401, 409, 429) },
      },
    },
    async (request, reply) => {
      const { epoch, revision } = request.body;
      if (revision < request.node.applied_revision) pace.take(request.node.id, 'back');
      await ctx.db.write(actorOf(request), (tx) =>
        acknowledge(tx, request.node.id, epoch, revision, toldByAgent(request)),
      );
      return sendNothing(reply);
    },
  );
}
