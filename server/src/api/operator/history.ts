// /admin/history: traffic, lag, faults and more over time, of the network, a server or a node.
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Integer, Named, Strict, Text, Timestamp } from '../../http/fields.ts';
import { timeIn, wholeIn } from '../../http/paging.ts';
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

const maxStepSeconds = 7 * daySeconds;

const HistoryQuery = Strict({
  from: Type.Optional(Digits('Epoch seconds; a day before `to` when omitted.')),
  to: Type.Optional(Digits('Epoch seconds; now when omitted.')),
  server: Type.Optional(Text('Only the nodes of this server.')),
  node: Type.Optional(Digits('Only this node, by its id.', 1)),
  step: Type.Optional(
    Digits(
      'The width of a step, in seconds, as a chart can show it; the narrowest when omitted. It is rounded up to a multiple of that.',
      1,
      maxStepSeconds,
    ),
  ),
});
const orNull = (schema: TSchema, description: string, cause: string) =>
  Type.Union([schema, Type.Null()], { description: `${description}; null: ${cause}.` });
const seen = (schema: TSchema, description: string) =>
  orNull(schema, description, 'no look in the step');
const speed = (description: string) =>
  orNull(
    Integer('Bytes a second.'),
    `Bytes a second ${description} five minutes of the step (an hour where only hours are stored)`,
    'none of them is over',
  );
const History = Named('History', {
  from: Timestamp('Steps from here on.'),
  to: Timestamp('Steps before here.'),
  step: Integer(
    'Width of a step in seconds: a multiple of 300, 3600 or 86400. Steps begin at midnight UTC; those of a week on Mondays.',
  ),
  points: Type.Array(
    Strict({
      at: Timestamp('Start of the step; it may be before `from`.'),
      measured_seconds: Integer('For how many seconds of the step something is stored.'),
      up: Integer('Bytes from clients.'),
      down: Integer('Bytes to clients.'),
      up_min: speed('from clients, in the slowest'),
      up_peak: speed('from clients, in the fastest'),
      down_min: speed('to clients, in the slowest'),
      down_peak: speed('to clients, in the fastest'),
      connections_min: seen(Integer('How many.'), 'Open connections, at least'),
      connections: seen(Integer('How many.'), 'Open connections of live nodes, on average'),
      connections_peak: seen(Integer('How many.'), 'Open connections, at most'),
      lag_peak: seen(Integer('Seconds.'), 'The longest that a change had waited for a live node'),
      faults_peak: seen(Integer('How many.'), 'Faults of live nodes, at most'),
      rejected: Type.Record(Type.String(), Integer('Connections.'), {
        description:
          'Connections that were rejected, by the reason that clients were given; `other`: reasons that this server does not know.',
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
      if (from >= to) throw invalidField('from', `${from} is not before \`to\`, ${to}.`);
      if (to - from > longestHistorySeconds) {
        const days = longestHistorySeconds / daySeconds;
        throw invalidField('from', `is more than ${days} days before \`to\`.`);
      }
      const whose = await whoseOf(ctx, query);
      const wanted = wholeIn('step', query.step, 0, 1, maxStepSeconds);
      const step = stepSeconds(from, to, now, wanted);
      const points = await longReads.collect(
        networkVersion,
        (db) => historySlices(db, whose, { from, to, step, now }),
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

/** Errors: 400 for both, or an id that is none; 404 for one that does not exist. */
async function whoseOf(
  { db }: Context,
  { server, node }: { server?: string | undefined; node?: string | undefined },
): Promise<Whose> {
  if (server !== undefined && node !== undefined) {
    throw invalidField('node', 'only one of `server` and `node` can be given.');
  }
  if (server !== undefined) return { server_id: (await requireServer(db, server)).id };
  const id = wholeIn('node', node, null, 1);
  return id === null ? {} : { node_id: (await requireAnyNode(db, id)).id };
}
