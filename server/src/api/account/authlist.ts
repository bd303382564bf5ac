// /v0/contract/ip-authlist, and the earlier variant's /v0/contract/whitelist: one list, two paths.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  type AuthlistEntry,
  type AuthlistRules,
  type ChangedEntry,
  changeEntry,
  createEntry,
  listEntries,
  removeAllEntries,
  removeEntry,
  requireEntry,
  userIsActive,
} from '../../authlist/authlist.ts';
import { ConflictCap } from '../../authlist/conflicts.ts';
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
import { ownAddress } from '../../http/own_address.ts';
import type { Variant } from './authentication.ts';
import { answer, change, requireMatch } from './responses.ts';

const Entry = Type.Object(
  {
    id: Integer('Unique identifier used to manage the entry.', 1),
    ip: Type.String({ description: 'IP address.' }),
    user: Type.String({ description: 'Username that connections from `ip` are assigned to.' }),
    user_active: Type.Boolean({
      description: 'Whether the associated user is an active proxy user.',
    }),
    expiry: Timestamp('When the entry expires.'),
  },
  { additionalProperties: false },
);

export const Ip = Text('IP address: one IPv4 or IPv6 address.', 64);
export const User = Text('Username that connections from the address are assigned to.');
export const Expiry = Integer(
  'When the entry expires, epoch seconds; at most 10 years from now.',
  0,
);
export const NewEntry = Strict({
  ip: Type.Optional(Text('IP address; the one that the request comes from when omitted.', 64)),
  user: User,
  expiry: Expiry,
});
const Changes = Strict({
  ip: Type.Optional(Ip),
  user: Type.Optional(User),
  expiry: Type.Optional(Expiry),
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  user_active: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
});
const ListQuery = Strict({
  ip: Type.Optional(Text('Full or partial IP address.', 64)),
  user: Type.Optional(Text('Comma-separated usernames of the account.', 8192)),
});

function presentEntry(entry: AuthlistEntry) {
  const { id, ip, user, expiry } = entry;
  return { id, ip, user, user_active: userIsActive(entry), expiry };
}

/** What the settings say of this list, with one count of conflicts for every way to it. */
export function authlistRules({ config }: Context): AuthlistRules {
  return { ...config, conflicts: new ConflictCap(config.conflicts_per_hour) };
}

/** The same routes under each variant's own path. */
export function authlistRoutes(app: FastifyInstance, ctx: Context, rules: AuthlistRules): void {
  addRoutes(app, ctx, rules, 'current', '/contract/ip-authlist', '/v0/contract/whitelist');
  addRoutes(app, ctx, rules, 'earlier', '/contract/whitelist', '/v0/contract/ip-authlist');
}

function addRoutes(
  app: FastifyInstance,
  ctx: Context,
  rules: AuthlistRules,
  variant: Variant,
  path: string,
  counterpart: string,
): void {
  const tags = [variant === 'current' ? 'IP authlist' : 'IP whitelist (earlier variant)'];
  const accountOf = (request: FastifyRequest) => request.session.caller.account_id;
  const idIn = (request: FastifyRequest) => idOf((request.params as IdPath).id);
  const config = { variant, counterpart };
  const ofEntry = {
    ...config,
    find: (request: FastifyRequest) =>
      requireEntry(ctx.db, accountOf(request), idIn(request), ctx.clock.now()),
  };
  /** With `Prefer: wait` the entry is read again once the nodes have it. */
  const shown = (entry: ChangedEntry) => ({
    value: presentEntry(entry),
    whenApplied: async (wait_seconds: number) => {
      await ctx.whenApplied(entry.account_id, null, entry.revision, wait_seconds);
      return presentEntry(entry);
    },
  });

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    `/v0${path}`,
    {
      config,
      schema: {
        summary: 'List entries',
        tags,
        querystring: ListQuery,
        response: { 200: Type.Array(Entry), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const { ip, user } = request.query;
      const filter = { ip, users: words('user', user) };
      const entries = await listEntries(ctx.db, accountOf(request), filter, ctx.clock.now());
      const valid_until = entries.reduce(
        (first, { expiry }) => Math.min(first, expiry),
        Number.MAX_SAFE_INTEGER,
      );
      return answer(ctx, request, reply, entries.map(presentEntry), { valid_until });
    },
  );

  app.post<{ Body: Static<typeof NewEntry> }>(
    `/v0${path}`,
    {
      config,
      schema: {
        summary: 'Add an entry',
        tags,
        body: NewEntry,
        response: { 201: Entry, ...errors(400, 401, 403, 404, 409, 429) },
      },
    },
    async (request, reply) => {
      const body = { ...request.body, ip: request.body.ip ?? ownAddress(request) };
      return change(ctx, request, reply, async (tx) => {
        checkExpiry(body.expiry, tx.now);
        const entry = await createEntry(tx, accountOf(request), body, rules);
        const headers = { location: `${path}/${entry.id}` };
        return { status: 201, headers, ...shown(entry) };
      });
    },
  );

  app.delete(
    `/v0${path}`,
    {
      config,
      schema: {
        summary: 'Remove all entries of the account',
        tags,
        response: { 204: NoContent, ...errors(400, 401, 403, 404, 412) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        await removeAllEntries(tx, accountOf(request), (all) =>
          requireMatch(request, () => all.map(presentEntry)),
        );
        return { status: 204 };
      }),
  );

  app.get<{ Params: IdPath }>(
    `/v0${path}/:id`,
    {
      config,
      schema: {
        summary: 'One entry',
        tags,
        params: IdPath,
        response: { 200: Entry, ...errors(400, 401, 404) },
      },
      attachValidation: true,
    },
    async (request, reply) => {
      const entry = await requireEntry(ctx.db, accountOf(request), idIn(request), ctx.clock.now());
      requireValid(request);
      return answer(ctx, request, reply, presentEntry(entry), { valid_until: entry.expiry });
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
        response: { 200: Entry, ...errors(400, 401, 403, 404, 409, 412, 429) },
      },
    },
    async (request, reply) =>
      change(ctx, request, reply, async (tx) => {
        const { ip, user, expiry } = request.body;
        if (expiry !== undefined) checkExpiry(expiry, tx.now);
        const entry = await changeEntry(
          tx,
          accountOf(request),
          idIn(request),
          { ip, user, expiry },
          rules,
          (before) => requireMatch(request, () => presentEntry(before)),
        );
        return { status: 200, ...shown(entry) };
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
        await removeEntry(tx, accountOf(request), idIn(request), (before) =>
          requireMatch(request, () => presentEntry(before)),
        );
        return { status: 204 };
      }),
  );
}
