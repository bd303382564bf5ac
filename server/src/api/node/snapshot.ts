// GET /node/snapshot: everything that a server needs, as of one revision.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { errors } from '../../http/fields.ts';
import { Snapshots } from '../../nodes/snapshot.ts';
import { tags } from './checks.ts';

export function snapshotRoutes(app: FastifyInstance, ctx: Context): void {
  const snapshots = new Snapshots(ctx);

  app.get(
    '/node/snapshot',
    {
      schema: {
        summary: 'Everything that this server needs, as of one revision: newline-delimited JSON',
        tags,
        response: {
          200: Type.String({
            description:
              'One record per line; the first names epoch and revision, the last is {"kind":"end"}.',
          }),
          ...errors(400, 401, 503),
        },
      },
    },
    async (request, reply) => {
      const lines = snapshots.open(request.node);
      return reply.type('application/x-ndjson').send(lines);
    },
  );
}
