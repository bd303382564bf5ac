// /admin/status, /admin/maintenance and /admin/events: the network as a whole.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { acmeCodes } from '../../../../kit/src/acme/problems.ts';
import type { Context } from '../../context.ts';
import { Events, maxPerOwner, sendEvents, streamsOf } from '../../http/event_streams.ts';
import { Integer, Named, OneOf, orNull, Strict, Timestamp } from '../../http/fields.ts';
import {
  findToken,
  isInMaintenance,
  networkStatus,
  setMaintenance,
} from '../../operators/operators.ts';
import { allExitCounts } from '../../servers/servers.ts';
import { newsOfNetwork } from '../news.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';
import { exitCountsOf } from './server_fields.ts';

const Certificate = Strict({
  source: OneOf(
    ['file', 'acme', 'self_signed'],
    'Where it is from; `self_signed` until the first by ACME is there.',
  ),
  names: Type.Array(Type.String(), { description: 'The names that it is for.' }),
  not_after: Timestamp('When it ends.'),
  renewal_due: Timestamp(
    'From then on it ends soon: 14 days before its end, or in the last sixth of a shorter life.',
  ),
  rejection: Type.Union([Type.String(), Type.Null()], {
    description: 'Why clients that verify it reject it, in a sentence; null when they accept it.',
  }),
  last_error: Type.Union([Type.String(), Type.Null()], {
    description: 'Why no newer one is there, in a sentence; null when all is well.',
  }),
  last_error_code: Type.Union([OneOf([...acmeCodes], 'Of ACME.'), Type.Null()], {
    description: 'The same by ACME for programs: docs/tls.md.',
  }),
  next_try: Type.Union([Timestamp('By ACME.'), Type.Null()], {
    description: 'When the certificate authority is asked next; null without ACME.',
  }),
});

const Backups = Strict({
  folder: Type.String({ description: 'Folder of this server that they are written to.' }),
  every_seconds: Integer('Interval of the schedule, in seconds.'),
  keep: Integer('How many are kept.'),
  verify: Type.Boolean({ description: 'Whether each is verified.' }),
  last: orNull(
    Strict({
      file: Type.String({ description: 'The file.' }),
      at: Timestamp('When it was made.'),
      bytes: Integer('Its size.'),
    }),
    'The newest; null before the first.',
  ),
  last_verified: orNull(
    Strict({
      file: Type.String({ description: 'The file.' }),
      at: Timestamp('When it was made.'),
      verified_at: Timestamp('When it was restored to a scratch folder and compared.'),
    }),
    'The newest that verified well; null when none has.',
  ),
  fault: orNull(
    Type.String(),
    'Why the last attempt, or the verification of the newest, failed; null when all is well.',
  ),
  late: Type.Boolean({
    description: 'Whether there was no good one for longer than twice the interval.',
  }),
});

const Status = Named('NetworkStatus', {
  version: Type.String({ description: 'Version of this server.' }),
  now: Timestamp('The time of this server.'),
  maintenance: Type.Boolean({ description: 'Whether /v0 answers 503 for maintenance.' }),
  database: Strict({
    engine: OneOf(['sqlite', 'postgres'], 'Which database it is.'),
    schema: Integer('Number of the newest migration.'),
    epoch: Type.String({
      description: 'Names the history of revisions; a restore begins a new one.',
    }),
    revision: Integer('Number of the last change.'),
    answers: Type.Boolean({ description: 'Always true: else this answer is a 503.' }),
    fault: orNull(Type.String(), 'Why changes are refused; null when all is well.'),
  }),
  operator: Type.String({ description: 'Who asks: the holder of the operator token.' }),
  may_find_connections: Type.Boolean({ description: 'Whether they may ask who used an exit.' }),
  accounts: Integer('How many there are.'),
  servers: Integer('How many there are.'),
  nodes: Strict({
    all: Integer('Nodes that joined and were not revoked.'),
    live: Integer('Those heard of lately.'),
    lagging: Integer('Those that have not applied every change that concerns their server.'),
  }),
  exits: exitCountsOf('The exit IPs of all servers, by status.'),
  has_users: Type.Boolean({ description: 'Whether any account has a user.' }),
  has_usage: Type.Boolean({ description: 'Whether any traffic was ever counted.' }),
  geoip: Type.Array(
    Strict({
      provider: Type.String({ description: 'Third-party geo-IP provider.' }),
      file: Type.String({ description: 'Its file on this server.' }),
      type: Type.String({ description: 'What the file calls itself.' }),
      built_at: Timestamp('When the provider built it.'),
      fault: Type.Union([Type.String(), Type.Null()], {
        description: 'Why the last good one stays in use; null when all is well.',
      }),
    }),
    { description: 'The geo-IP databases of this server.' },
  ),
  geofeed: orNull(Type.String(), 'The URL of the published geofeed; null: it is not published.'),
  tls: Type.Union([Certificate, Type.Null()], {
    description: 'The certificate of this server; null when it speaks no TLS.',
  }),
  backups: orNull(Backups, 'The backups that this server makes by itself; null: it makes none.'),
  joining: Strict(
    {
      url: Type.String({ description: 'Where nodes connect.' }),
      obstacles: Type.Array(
        Strict({
          message: Type.String({ description: 'What is in the way, in a sentence.' }),
          remedy: Type.String({ description: 'The setting or file that is missing.' }),
        }),
        { description: 'Why the line of an invitation fails on another machine; empty: it works.' },
      ),
    },
    'What machines need to join.',
  ),
});

const Maintenance = Named('Maintenance', {
  on: Type.Boolean({ description: 'Whether /v0 answers 503.' }),
});

export function networkRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: network');

  route('GET /admin/status', {
    summary: 'How the network and this server stand',
    answer: Status,
    handle: async (request) => {
      const now = ctx.clock.now();
      const { geofeed, public_url, node_url, health_stale_seconds } = ctx.config;
      const [status, exits] = await Promise.all([
        networkStatus(ctx.db, now),
        allExitCounts(ctx.db, now - health_stale_seconds),
      ]);
      return {
        ...status,
        exits,
        operator: request.operator.name,
        may_find_connections: request.operator.may_find_connections === 1,
        geoip: ctx.geoip.files(),
        geofeed: geofeed === 'public' ? `${public_url}/geofeed.csv` : null,
        tls: ctx.certificate(),
        backups: ctx.backups?.status() ?? null,
        joining: { url: node_url, obstacles: await ctx.install.obstacles() },
      };
    },
  });

  route('GET /admin/maintenance', {
    summary: 'Whether the service is down for maintenance',
    answer: Maintenance,
    handle: async () => ({ on: await isInMaintenance(ctx.db) }),
  });

  route('PUT /admin/maintenance', {
    summary: 'Turn maintenance on or off',
    description: 'While it is on, every path under /v0 answers 503; nodes go on serving.',
    body: Maintenance,
    answer: Maintenance,
    handle: async (request) => {
      const { on } = request.body;
      await operatorWrite(ctx, request, (tx) => setMaintenance(tx, on));
      return { on };
    },
  });

  const streams = streamsOf(app, ctx);
  route('GET /admin/events', {
    id: 'events',
    summary: 'Hear when something has changed, as server-sent events',
    description:
      '`network` moves with servers, exit IPs and health, `revision` with any change of any record, `nodes` when one joins, leaves, goes offline, comes back or has applied a change; by name `authlist`, `overrides`, `users`, `contract` and `usage` with those of any account. Read again what shows it, where `exitward-as-of` of its response has another number.',
    answer: Events(
      '`{"network": REVISION, "revision": REVISION, "nodes": NUMBER, "authlist": REVISION, …}`',
    ),
    statuses: { 503: 'Too many streams are open, with this token or of all.' },
    handle: async (request, reply) => {
      const { id } = request.operator;
      return sendEvents(streams, request, reply, {
        topic: 'network',
        read: () => newsOfNetwork(ctx),
        pause_ms: 500,
        owners: [{ name: `operator ${id}`, max: maxPerOwner }],
        holds: async () => (await findToken(ctx.db, id)) !== undefined,
      });
    },
  });
}
