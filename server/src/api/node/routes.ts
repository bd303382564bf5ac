// /node: what agents call. Join once, then snapshot, change stream, acknowledgements, reports, answers.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { canonicalAddress } from '../../address.ts';
import type { Context } from '../../context.ts';
import type { Actor } from '../../db/database.ts';
import { badRequest, conflict, methodNotAllowed } from '../../errors.ts';
import { jsonType } from '../../http/caching.ts';
import {
  errors,
  Integer,
  largeBodyLimit,
  NoContent,
  OneOf,
  Strict,
  Text,
} from '../../http/fields.ts';
import { isUnder, rejectNul } from '../../http/routing.ts';
import { Feed } from '../../nodes/feed.ts';
import {
  type Answer,
  acknowledge,
  answerQuestion,
  authenticateNode,
  joinNode,
  type Node,
  reportHealth,
  reportUsage,
  reportUses,
  type UsageReport,
} from '../../nodes/nodes.ts';
import { Snapshots } from '../../nodes/snapshot.ts';
import type { HealthStatus } from '../../servers/servers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    node: Node;
  }
}

const Join = Strict({
  code: Text('The one-time code of an invitation.', 64),
  name: Text("What the operator sees: usually the machine's name.", 128),
  version: Text('Version of the agent.', 64),
});
const Ack = Strict({
  epoch: Text('The history that the revision belongs to.', 64),
  revision: Integer('Every change up to it is applied by all workers of the engine.'),
});
const UsageBatch = Strict({
  boot: Text("One run of the agent's journal.", 64),
  seq: Integer('Number of the batch in that run; above that of the one before.'),
  rows: Type.Array(
    Strict({
      account: Integer('Account id.', 1),
      user: Integer('User id.', 1),
      at: Integer('When the traffic was, epoch seconds.', 1),
      up: Integer('Bytes from the client.', 0, 2 ** 50),
      down: Integer('Bytes to the client.', 0, 2 ** 50),
    }),
    { maxItems: 20_000 },
  ),
});
const UsesReport = Strict({
  uses: Type.Array(
    Strict({
      account: Integer('Account id.', 1),
      entry: Integer('Id of the authlist entry.', 1),
      at: Integer('When it last let a connection in, epoch seconds.', 1),
    }),
    { maxItems: 5000 },
  ),
});
const Health = Strict({
  exit_ips: Type.Array(
    Strict({
      ip: Text('Exit IP address of this server.', 64),
      status: Type.Union(['ok', 'warn', 'crit', 'unknown'].map((status) => Type.Literal(status))),
      checked_at: Integer('Epoch seconds of the check.', 1),
    }),
    { maxItems: 1000 },
  ),
});
const Answered = Strict({
  id: Integer('Id of the question, from its record.', 1),
  answer: Strict({
    verdict: OneOf(
      ['allow', 'challenge', 'deny'],
      'Let through, asked for credentials, or turned away.',
    ),
    status: Integer('The HTTP status that the client would get.', 100, 599),
    reason: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,63}$',
      description: 'One word: how the user was known (`authlist`, `token`), or why not.',
    }),
    message: Text('What the client would be told.', 1000),
    rule: Type.Optional(Text('The record or rule that decided.', 1000)),
    account: Type.Optional(Text('Name of the account that the connection belongs to.')),
    user: Type.Optional(Text('Name of its user.')),
    exit_ip: Type.Optional(Text('The address that it would leave from.', 64)),
    dial: Type.Optional(Text('What it would connect to.', 300)),
    revision: Integer('What the node has applied.'),
  }),
});
const FromQuery = Strict({
  since: Type.Optional(
    Text('`EPOCH:REVISION` to resume after; the Last-Event-ID header wins.', 100),
  ),
});

const tags = ['Nodes'];
/** A code is the credential of the one, and the other tells callers only what they are seen as. */
const withoutToken = ['/node/join', '/node/echo'];

export function nodeRoutes(app: FastifyInstance, ctx: Context): void {
  const feed = new Feed(ctx);
  const snapshots = new Snapshots(ctx);
  ctx.metrics.countStreams(() => feed.size);
  app.addHook('preClose', async () => feed.close());
  app.decorateRequest('node', null as never);
  app.addHook('onRequest', async (request) => {
    if (!isUnder('/node', request)) return;
    if (withoutToken.includes(request.routeOptions.url ?? '')) return;
    const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    request.node = await authenticateNode(ctx.db, ctx.secrets, token);
    const { allow } = request.routeOptions.config;
    rejectNul(request, 'path');
    if (allow) throw methodNotAllowed(request.method, allow);
    rejectNul(request, 'query');
  });
  const actorOf = (request: FastifyRequest): Actor => ({
    kind: 'node',
    name: request.node?.name ?? 'joining',
    address: request.ip,
    request_id: request.id,
  });

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
      return reply
        .code(201)
        .type(jsonType)
        .send(JSON.stringify({ node: node.id, server: server.name, token }));
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
      return reply
        .type(jsonType)
        .header('cache-control', 'no-store')
        .send(JSON.stringify({ address }));
    },
  );

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
      const lines = snapshots.open(request.node.server_id);
      return reply.type('application/x-ndjson').send(lines);
    },
  );

  app.get<{ Querystring: Static<typeof FromQuery> }>(
    '/node/changes',
    {
      schema: {
        summary: 'The ordered stream of changes, as server-sent events',
        tags,
        querystring: FromQuery,
        response: {
          200: Type.String({
            description:
              '`change` events with an array of records, and `position` events; ids are EPOCH:REVISION.',
          }),
          ...errors(400, 401, 409),
        },
      },
    },
    async (request, reply) => {
      const from = String(request.headers['last-event-id'] ?? request.query.since ?? '');
      const match = /^([\w-]{1,64}):(\d{1,16})$/.exec(from);
      if (!match?.[1])
        throw badRequest(
          'Last-Event-ID: expected EPOCH:REVISION, as in the snapshot and in event ids.',
        );
      const [epoch, revision] = [match[1], Number(match[2])];
      await ctx.db.write(actorOf(request), (tx) =>
        acknowledge(tx, request.node.id, epoch, revision),
      );
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
          'The log of changes does not reach back to this revision, or tells too much since; take a new snapshot.',
        );
      }
      reply.hijack();
      reply.raw.writeHead(200, headers);
      reply.raw.flushHeaders();
      feed.open(request.node, reply.raw, epoch, revision);
      return reply;
    },
  );

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
      return reply.code(204).send();
    },
  );

  app.post<{ Body: UsageReport }>(
    '/node/usage',
    {
      bodyLimit: largeBodyLimit,
      schema: {
        summary: 'Report a batch of usage; sending it again counts nothing twice',
        tags,
        body: UsageBatch,
        response: {
          200: Type.Object({
            counted: Type.Boolean({
              description: 'False when this batch, or a later one of its run, was counted before.',
            }),
            left_out: Type.Array(
              Integer('Index of a row whose account or user this server does not serve.'),
            ),
          }),
          ...errors(400, 401),
        },
      },
    },
    async (request, reply) => {
      const outcome = await ctx.db.write(actorOf(request), (tx) =>
        reportUsage(tx, request.node.id, request.body),
      );
      return reply.type(jsonType).send(JSON.stringify(outcome));
    },
  );

  app.post<{ Body: Static<typeof UsesReport> }>(
    '/node/uses',
    {
      bodyLimit: largeBodyLimit,
      schema: {
        summary: 'Report when authlist entries last let a connection in',
        tags,
        body: UsesReport,
        response: { 204: NoContent, ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      await ctx.db.write(actorOf(request), (tx) =>
        reportUses(tx, request.node.id, request.body.uses),
      );
      return reply.code(204).send();
    },
  );

  app.post<{ Body: Static<typeof Health> }>(
    '/node/health',
    {
      schema: {
        summary: 'Report the health of exit IPs',
        tags,
        body: Health,
        response: {
          200: Type.Object({ known: Integer("How many of the exit IPs are this server's.") }),
          ...errors(400, 401),
        },
      },
    },
    async (request, reply) => {
      const known = await ctx.db.write(actorOf(request), (tx) => {
        const reports = request.body.exit_ips.map(({ ip, status, checked_at }) => ({
          ip: canonicalAddress(ip) ?? ip,
          status: status as HealthStatus,
          status_time: Math.min(checked_at, tx.now),
        }));
        return reportHealth(tx, request.node, reports, ctx.config.health_stale_seconds);
      });
      return reply.type(jsonType).send(JSON.stringify({ known }));
    },
  );

  app.post<{ Body: { id: number; answer: Answer } }>(
    '/node/answers',
    {
      schema: {
        summary: "Answer an operator's question; the first answer counts",
        tags,
        body: Answered,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const { id, answer } = request.body;
      await ctx.db.write(actorOf(request), (tx) => answerQuestion(tx, request.node.id, id, answer));
      return reply.code(204).send();
    },
  );
}
