// /admin/status, /admin/maintenance, /admin/audit and /admin/tokens: the network as a whole.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import {
  errors,
  Integer,
  idOf,
  Name,
  NoContent,
  OneOf,
  Strict,
  Timestamp,
} from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf, wholeIn } from '../../http/paging.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  createOperatorToken,
  isInMaintenance,
  listAuditLog,
  listOperatorTokens,
  type NamedAuditRecord,
  networkStatus,
  removeOperatorToken,
  setMaintenance,
  withoutHash,
} from '../../operators/operators.ts';
import { operatorWrite } from './checks.ts';

const Status = Strict({
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
  }),
  accounts: Integer('How many there are.'),
  servers: Integer('How many there are.'),
  nodes: Strict({
    all: Integer('Nodes that joined and were not revoked.'),
    live: Integer('Those heard of lately.'),
    lagging: Integer('Those that have not applied every change that concerns their server.'),
  }),
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
});

const Maintenance = Strict({ on: Type.Boolean({ description: 'Whether /v0 answers 503.' }) });

export const AuditEntry = Strict({
  id: Integer('Number of the entry.', 1),
  at: Timestamp('When.'),
  actor_kind: Type.String({
    description: 'account (an API token), user (in the console), operator, node or system.',
  }),
  actor: Type.String({
    description: 'Who: account and API token, account and user, operator token, node or job.',
  }),
  address: Type.String({
    description: 'From where; empty for a job, and where the account is not to know.',
  }),
  request_id: Type.String({ description: 'The x-request-id of the answer.' }),
  account: Type.Union([Type.String(), Type.Null()], { description: 'Account, if it is of one.' }),
  action: Type.String({ description: 'What was done, such as override.create.' }),
  target: Type.String({ description: 'To what, such as overrides/12.' }),
  before: Type.Unknown({ description: 'The record before; null if there was none.' }),
  after: Type.Unknown({ description: 'The record after; null if there is none.' }),
});
export const AuditQuery = Strict({
  account: Type.Optional(Type.String({ description: 'Only what concerns this account.' })),
  before: Type.Optional(Type.String({ description: 'Only entries with a lower id.' })),
  limit: PageQuery.limit,
});

const tokenFields = {
  id: Integer('Names it in paths.', 1),
  name: Type.String({ description: 'Who holds it; the actor in the audit log.' }),
  created_at: Timestamp('When it was created.'),
  last_used_at: Type.Union([Integer('Epoch seconds.'), Type.Null()], {
    description: 'Its last use, to the minute; null before the first.',
  }),
};
const Token = Strict(tokenFields);
const CreatedToken = Strict({
  ...tokenFields,
  admin_token: Type.String({ description: 'The token (ewo_…), shown only here.' }),
});
const NewToken = Strict({ name: Name('Who will hold it.') });

export function presentAudit({ account_id: _, before, after, ...entry }: NamedAuditRecord) {
  const read = (text: string | null) => (text === null ? null : (JSON.parse(text) as unknown));
  return { ...entry, before: read(before), after: read(after) };
}

export function operatorRoutes(app: FastifyInstance, ctx: Context): void {
  addNetworkRoutes(app, ctx);
  addTokenRoutes(app, ctx);
}

function addNetworkRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: network'];

  app.get(
    '/admin/status',
    {
      schema: {
        summary: 'How the network and this server stand',
        tags,
        response: { 200: Status, ...errors(400, 401) },
      },
    },
    async (_request, reply) => {
      const status = await networkStatus(ctx.db, ctx.clock.now());
      return sendJson(reply, { ...status, geoip: ctx.geoip.files() });
    },
  );

  app.get(
    '/admin/maintenance',
    {
      schema: {
        summary: 'Whether the service is down for maintenance',
        tags,
        response: { 200: Maintenance, ...errors(400, 401) },
      },
    },
    async (_request, reply) => sendJson(reply, { on: await isInMaintenance(ctx.db) }),
  );

  app.put<{ Body: Static<typeof Maintenance> }>(
    '/admin/maintenance',
    {
      schema: {
        summary: 'Turn maintenance on or off',
        description: 'While it is on, every path under /v0 answers 503; nodes go on serving.',
        tags,
        body: Maintenance,
        response: { 200: Maintenance, ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, (tx) => setMaintenance(tx, request.body.on));
      return sendJson(reply, { on: request.body.on });
    },
  );

  app.get<{ Querystring: Static<typeof AuditQuery> }>(
    '/admin/audit',
    {
      schema: {
        summary: 'The audit log, newest first',
        tags,
        querystring: AuditQuery,
        response: { 200: Type.Array(AuditEntry), ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      const limit = limitIn(request.query.limit);
      const before = wholeIn('before', request.query.before, Number.MAX_SAFE_INTEGER, 1);
      const found = await listAuditLog(ctx.db, request.query.account ?? null, before, limit + 1);
      const page = pageOf(reply, found, limit, (last) => ({ before: last.id }));
      return sendJson(reply, page.map(presentAudit));
    },
  );
}

function addTokenRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: operator tokens'];

  app.get(
    '/admin/tokens',
    {
      schema: {
        summary: 'List operator tokens',
        tags,
        response: { 200: Type.Array(Token), ...errors(400, 401) },
      },
    },
    async (_request, reply) => sendJson(reply, (await listOperatorTokens(ctx.db)).map(withoutHash)),
  );

  app.post<{ Body: Static<typeof NewToken> }>(
    '/admin/tokens',
    {
      schema: {
        summary: 'Create an operator token',
        tags,
        body: NewToken,
        response: { 201: CreatedToken, ...errors(400, 401, 409) },
      },
    },
    async (request, reply) => {
      const { token, text } = await operatorWrite(ctx, request, (tx) =>
        createOperatorToken(tx, ctx.secrets, request.body.name),
      );
      const value = { ...withoutHash(token), admin_token: text };
      return sendCreated(reply, `/admin/tokens/${token.id}`, value);
    },
  );

  app.delete<{ Params: { id: string } }>(
    '/admin/tokens/:id',
    {
      schema: {
        summary: 'Revoke an operator token',
        description: 'The last one cannot be revoked.',
        tags,
        params: Type.Object({ id: Type.String({ description: 'Id of the operator token.' }) }),
        response: { 204: NoContent, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, (tx) => removeOperatorToken(tx, idOf(request.params.id)));
      return sendNothing(reply);
    },
  );
}
