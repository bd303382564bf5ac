// GET /node/snapshot: everything that a server needs, as of one revision.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { Snapshots } from '../../nodes/snapshot.ts';
import { nodeRoute } from './route.ts';

const Records = Type.String({
  contentMediaType: 'application/x-ndjson',
  description:
    'One record per line; the first names epoch and revision, the last is {"kind":"end"}.',
});

export function snapshotRoutes(app: FastifyInstance, ctx: Context): void {
  const snapshots = new Snapshots(ctx);

  nodeRoute(app)('GET /node/snapshot', {
    id: 'snapshot',
    summary: 'Everything that this server needs, as of one revision: newline-delimited JSON',
    answer: Records,
    statuses: { 503: 'As many snapshots as may be are under way: try again after `Retry-After`.' },
    handle: async (request, reply) => {
      const lines = snapshots.open(request.node);
      return reply.type('application/x-ndjson').send(lines);
    },
  });
}
