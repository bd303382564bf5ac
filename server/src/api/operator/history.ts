// /admin/history: traffic, lag, faults and more over time, of the network, a server or a node.
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, idOf, Named, Strict, Text, Timestamp } from '../../http/fields.ts';
import { timeIn } from '../../http/paging.ts';
import {
  type HistoryPoint,
  historySlices,
  longestHistorySeconds,
  requireAnyNode,
  stepSeconds,
  type Whose,
} from '../../nodes/nodes.ts';
import { requireServer } from '../../servers/servers.ts';
import { LongReads } from '../long_reads.ts';
import { operatorRoute } from './route.ts';

const daySeconds = 86_400;

const HistoryQuery = Strict({
  from: Type.Optional(Digits('Epoch seconds; a day before `to` when omitted.')),
  to: Type.Optional(Digits('Epoch seconds; now when omitted.')),
  server: Type.Optional(Text('Only the nodes of this server.')),
  node: Type.Optional(Text('Only this node, by its id.')),
});
const seen = (schema: TSchema, description: string) =>
  Type.Union([schema, Type.Null()], { description: `${description}; null: no look in the step.` });
const History = Named('History', {
  from: Timestamp('Steps from here on.'),
  to: Timestamp('Steps before here.'),
  step: Integer('Width of a step in seconds: 300, 3600 or, from midnight UTC on, 86400.'),
  points: Type.Array(
    Strict({
      at: Timestamp('Start of the step.'),
      up: Integer('Bytes from clients.'),
      down: Integer('Bytes to clients.'),
      connections: seen(Integer('How many.'), 'Open connections of live nodes, on average'),
      connections_peak: seen(Integer('How many.'), 'Open connections, at most'),
      lag_peak: seen(Integer('Seconds.'), 'The longest that a change had waited for a live node'),
      faults_peak: seen(Integer('How many.'), 'Faults of live nodes, at most'),
      rejected: Type.Record(Type.String(), Integer('Connections.'), {
        description:
          'Connections that were rejected, by the reason that clients were told; `other`: reasons that this server does not know.',
      }),
    }),
    { description: 'In order of time. Steps in which nothing was are left out.' },
  ),
});

export function historyRoutes(app: FastifyInstance, ctx: Context): void {
  const longReads = new LongReads(ctx.db);
  operatorRoute(app, 'Operator: network')('GET /admin/history', {
    summary: 'Traffic, connections, rejections, lag and faults over time',
    description:
      'Of the whole network, or of a server or node. Steps of five minutes are kept for two days, hours for 35 days, those of the network for 400.',
    query: HistoryQuery,
    answer: History,
    handle: async ({ query }) => {
      const now = ctx.clock.now();
      const to = timeIn('to', query.to, now);
      const from = timeIn('from', query.from, Math.max(0, to - daySeconds));
      if (from >= to) throw invalidField('from', `${from} is not before to, ${to}.`);
      if (to - from > longestHistorySeconds) {
        const days = longestHistorySeconds / daySeconds;
        throw invalidField('from', `is more than ${days} days before to.`);
      }
      const whose = await whoseOf(ctx, query);
      const step = stepSeconds(from, to, now);
      const points = await longReads.collect(
        networkVersion,
        (db) => historySlices(db, whose, { from, to, step }),
        async (slices) => {
          const all: HistoryPoint[] = [];
          for await (const slice of slices) all.push(...slice.points);
          return all;
        },
      );
      return { from, to, step, points };
    },
  });
}

/** Errors: 400 for both, 404 for one that does not exist. */
async function whoseOf(
  { db }: Context,
  { server, node }: { server?: string | undefined; node?: string | undefined },
): Promise<Whose> {
  if (server !== undefined && node !== undefined) {
    throw invalidField('node', 'only one of server and node can be given.');
  }
  if (server !== undefined) return { server_id: (await requireServer(db, server)).id };
  if (node === undefined) return {};
  return { node_id: (await requireAnyNode(db, idOf(node) ?? 0)).id };
}
