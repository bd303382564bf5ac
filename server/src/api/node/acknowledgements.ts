// POST /node/acks: the revision up to which a node has applied every change.
import type { FastifyInstance } from 'fastify';
import type { Context } from '../../context.ts';
import { Integer, Named, Text } from '../../http/fields.ts';
import { acknowledge } from '../../nodes/nodes.ts';
import { actorOf, agentHeaders } from './checks.ts';
import type { Pace } from './pace.ts';
import { nodeRoute, tooOften } from './route.ts';

const Ack = Named('NodeAcknowledgement', {
  epoch: Text('The history that the revision belongs to.', 64),
  revision: Integer('Every change up to it is applied by all workers of the engine.'),
});

export function acknowledgementRoutes(app: FastifyInstance, ctx: Context, pace: Pace): void {
  nodeRoute(app)('POST /node/acks', {
    id: 'acknowledge',
    summary: 'Acknowledge what is applied',
    body: Ack,
    statuses: {
      409: 'The epoch is not the one that runs: take a new snapshot.',
      429: tooOften,
    },
    handle: async (request) => {
      const { epoch, revision } = request.body;
      if (revision < request.node.applied_revision) pace.take(request.node.id, 'back');
      await ctx.db.write(actorOf(request), (tx) =>
        acknowledge(tx, request.node.id, epoch, revision, agentHeaders(request)),
      );
    },
  });
}
