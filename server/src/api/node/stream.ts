// GET /node/changes: the change stream of a node, as server-sent events.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { badRequest, conflict } from '../../errors.ts';
import { Strict, Text } from '../../http/fields.ts';
import { Feed } from '../../nodes/feed.ts';
import { acknowledge, requireHistory } from '../../nodes/nodes.ts';
import { actorOf, agentHeaders } from './checks.ts';
import type { Pace } from './pace.ts';
import { nodeRoute, tooOften } from './route.ts';

const FromQuery = Strict({
  since: Type.Optional(
    Text('`EPOCH:REVISION` to resume after; the Last-Event-ID header wins.', 100),
  ),
});
const Changes = Type.String({
  contentMediaType: 'text/event-stream',
  description:
    '`change` events with an array of records, and `position` events; ids are EPOCH:REVISION.',
});

export function streamRoutes(app: FastifyInstance, ctx: Context, pace: Pace): void {
  const feed = new Feed(ctx);
  ctx.metrics.countStreams(() => feed.size);
  app.addHook('preClose', async () => feed.close());

  nodeRoute(app)('GET /node/changes', {
    id: 'changes',
    summary: 'The ordered stream of changes, as server-sent events',
    query: FromQuery,
    answer: Changes,
    statuses: {
      409: 'The log of changes no longer reaches back that far: take a new snapshot.',
      429: tooOften,
    },
    handle: async (request, reply) => {
      const from = String(request.headers['last-event-id'] ?? request.query.since ?? '');
      const match = /^([\w-]{1,64}):(\d{1,16})$/.exec(from);
      if (!match?.[1])
        throw badRequest(
          'Last-Event-ID: expected EPOCH:REVISION, as in the snapshot and in event ids.',
        );
      const [epoch, revision] = [match[1], Number(match[2])];
      // A node whose disk cannot store the changes it follows must not count as having them.
      if (request.headers['exitward-acknowledges'] === 'false') {
        await requireHistory(ctx.db, epoch, revision);
      } else {
        if (revision < request.node.applied_revision) pace.take(request.node.id, 'back');
        await ctx.db.write(actorOf(request), (tx) =>
          acknowledge(tx, request.node.id, epoch, revision, agentHeaders(request)),
        );
      }
      reply.raw.setTimeout(0);
      request.raw.socket.setNoDelay(true);
      const headers = {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-request-id': request.id,
        'x-accel-buffering': 'no',
      };
      if (!(await feed.reaches(epoch, revision))) {
        throw conflict(
          'The log of changes does not reach back to this revision, or has too many changes since; take a new snapshot.',
          { code: 'snapshot_needed' },
        );
      }
      reply.hijack();
      reply.raw.writeHead(200, headers);
      reply.raw.flushHeaders();
      feed.open(request.node, reply.raw, epoch, revision);
      return reply;
    },
  });
}
