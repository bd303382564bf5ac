// /v0/contract/overrides: custom DNS entries, the same in both variants.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { requireValid } from '../../http/errors.ts';
import {
  checkExpiry,
  errors,
  IdPath,
  Integer,
  idOf,
  NoContent,
  Strict,
  Text,
  Timestamp,
  words,
} from '../../http/fields.ts';
import {
  changeOverride,
  createOverride,
  findOverride,
  listOverrides,
  nextChangeAt,
  type Override,
  removeAllOverrides,
  removeOverride,
  requireOverride,
  statusOf,
} from '../../overrides/overrides.ts';
import { answer, change, requireMatch } from './responses.ts';

const Entry = Type.Object(
  {
    id: Integer('Unique identifier used to manage the entry.', 1),
    server: Type.String({
      description: 'Short name of the proxy server where the entry is active.',
    }),
    hostname: Type.String({ description: 'Hostname that is overridden.' }),
    ip: Type.String({ description: 'IP address the hostname resolves to.' }),
    expiry: Timestamp('When the entry expires.'),
    status: Type.Union(
      ['pending', 'active', 'expiring', 'expired'].map((status) => Type.Literal(status)),
    ),
  },
  { additionalProperties: false },
);

export const Server = Text('Short name of a server that is on the contract.');
export const Hostname = Text('Hostname to override.', 512);
export const Ip = Text('IP address the hostname resolves to.', 64);
export const Expiry = Integer(
  'When the entry expires, epoch seconds; at most 10 years from now.',
  0,
);
export const NewOverride = Strict({ server: Server, hostname: Hostname, ip: Ip, expiry: Expiry });
const Changes = Strict({
  server: Type.Optional(Server),
  hostname: Type.Optional(Hostname),
  ip: Type.Optional(Ip),
  expiry: Type.Optional(Expiry),
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  status: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
});
const ListQuery = Strict({
  ip: Type.Optional(Text('An IP address.', 64)),
  server: Type.Optional(Text('Comma-separated server short names.', 8192)),
});

const path = '/contract/overrides';
const tags = ['Custom DNS entries'];

export function overrideRoutes(app: FastifyInstance, ctx: Context): void {
  const accountOf = (request: FastifyRequest) => request.session.caller.account_id;
  const idIn = (request: FastifyRequest) => idOf((request.params as IdPath).id);
  const present = (override: Override) => {
    const { id, server, hostname, ip, expiry } = override;
    return { id, server, hostname, ip, expiry, status: statusOf(override, ctx.clock.now()) };
  };
  const ofEntry = {
    find: (request: FastifyRequest) =>
      requireOverride(ctx.db, accountOf(request), idIn(request), ctx.clock.now()),
  };
  /** With `Prefer: wait` the entry is read again once the nodes have it, unless it was removed meanwhile. */
  const shown = (override: Override) => {
    const value = present(override);
    return {
      value,
      whenApplied: async (wait_seconds: number) => {
        const { account_id, server_id, id, revision } = override;
        await ctx.whenApplied(account_id, server_id, revision, wait_seconds);
        const reached = await findOverride(ctx.db, account_id, id, ctx.clock.now());
        return reached ? present(reached) : value;
      },
    };
  };

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    `/v0${path}`,
    {
      schema: {
        summary: 'List entries, including expired and expiring ones',
        tags,
        querystring: ListQuery,
        response: { 200: Type.Array(Entry), ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      const now = ctx.clock.now();
      const filter = { ip: request.query.ip, servers: words('server', request.query.server) };
      const overrides = await listOverrides(ctx.db, accountOf(request), filter, now);
      const valid_until = overrides.reduce(
        (first, one) => Math.min(first, nextChangeAt(one, now)),
        Number.MAX_SAFE_INTEGER,
      );
      return answer(ctx, request, reply, overrides.map(present), { valid_until });
    },
  );

  app.post<{ Body: Static<typeof NewOverride> }>(
    `/v0${path}`,
    {
      schema: {
        summary: 'Add an entry',
        tags,
        body: NewOverride,
        response: { 201: Entry, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        checkExpiry(request.body.expiry, tx.now);
        const override = await createOverride(tx, accountOf(request), request.body, ctx.config);
        return { status: 201, headers: { location: `${path}/${override.id}` }, ...shown(override) };
      }),
  );

  app.delete(
    `/v0${path}`,
    {
      schema: {
        summary: 'Remove all entries of the account',
        tags,
        response: { 204: NoContent, ...errors(400, 401, 403, 412) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        await removeAllOverrides(tx, accountOf(request), (all) =>
          requireMatch(request, () => all.map(present)),
        );
        return { status: 204 };
      }),
  );

  app.get<{ Params: IdPath }>(
    `/v0${path}/:id`,
    {
      schema: {
        summary: 'One entry',
        tags,
        params: IdPath,
        response: { 200: Entry, ...errors(400, 401, 404) },
      },
      attachValidation: true,
    },
    async (request, reply) => {
      const now = ctx.clock.now();
      const override = await requireOverride(ctx.db, accountOf(request), idIn(request), now);
      requireValid(request);
      return answer(ctx, request, reply, present(override), {
        valid_until: nextChangeAt(override, now),
      });
    },
  );

  app.patch<{ Params: IdPath; Body: Static<typeof Changes> }>(
    `/v0${path}/:id`,
    {
      config: ofEntry,
      schema: {
        summary: 'Change an entry',
        tags,
        params: IdPath,
        body: Changes,
        response: { 200: Entry, ...errors(400, 401, 403, 404, 409, 412) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        const { server, hostname, ip, expiry } = request.body;
        if (expiry !== undefined) checkExpiry(expiry, tx.now);
        const changes = { server, hostname, ip, expiry };
        const override = await changeOverride(
          tx,
          accountOf(request),
          idIn(request),
          changes,
          ctx.config,
          (before) => requireMatch(request, () => present(before)),
        );
        return { status: 200, ...shown(override) };
      }),
  );

  app.delete<{ Params: IdPath }>(
    `/v0${path}/:id`,
    {
      config: ofEntry,
      schema: {
        summary: 'Remove an entry',
        tags,
        params: IdPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404, 412) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        await removeOverride(tx, accountOf(request), idIn(request), (before) =>
          requireMatch(request, () => present(before)),
        );
        return { status: 204 };
      }),
  );
}
