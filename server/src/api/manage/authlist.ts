// /console/authlist: the IP authlist; whole for admins, one's own entries for who has the proxy flag alone.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import {
  type AuthlistEntry,
  type AuthlistRules,
  changeEntry,
  createEntry,
  lastUses,
  listEntries,
  noSuchEntry,
  removeAllEntries,
  removeEntry,
  requireEntry,
  restoreEntries,
} from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import { forbidden } from '../../errors.ts';
import {
  checkExpiry,
  errors,
  IdPath,
  idOf,
  NoContent,
  Removed,
  Strict,
} from '../../http/fields.ts';
import { ownAddress } from '../../http/own_address.ts';
import { requireChange, sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import { Expiry, Ip, NewEntry, User } from '../account/authlist.ts';
import { Entry, presentEntry, Removal, Restored } from './authlist_operator.ts';
import { consoleWrite, type Person } from './checks.ts';

const Changes = Strict({
  ip: Type.Optional(Ip),
  user: Type.Optional(User),
  expiry: Type.Optional(Expiry),
});

/** Errors: 404 for an entry of another user, as if it were not there, but for admins. */
function requireOwn({ flags, user_id }: Person, entry: AuthlistEntry): void {
  if (!flags.admin && entry.user_id !== user_id) throw noSuchEntry();
}

/** Errors: 403 when a person without the admin flag names somebody else. */
function requireSelf({ flags, user_name }: Person, user: string | undefined): void {
  if (user === undefined || flags.admin || user === user_name) return;
  throw forbidden(
    `you may list addresses for yourself alone, ${JSON.stringify(user_name)}; ask an admin of your account.`,
    { field: 'user' },
  );
}

export function authlistConsoleRoutes(
  app: FastifyInstance,
  ctx: Context,
  rules: AuthlistRules,
): void {
  const tags = ['Console: authlist and custom DNS'];
  const mine = { may: ['admin', 'proxy'], record: true } as const;
  const admins = { may: ['admin'], record: true } as const;
  const idIn = (request: FastifyRequest) => idOf((request.params as IdPath).id);
  const find = async ({ person, params }: FastifyRequest) => {
    const id = idOf((params as IdPath).id);
    requireOwn(person, await requireEntry(ctx.db, person.account_id, id, ctx.clock.now()));
  };
  const shown = async (entry: AuthlistEntry) => {
    const uses = await lastUses(ctx.db, entry.account_id);
    return presentEntry(entry, uses.get(entry.id) ?? null);
  };

  app.get(
    '/console/authlist',
    {
      config: { console: { may: mine.may } },
      schema: {
        summary: 'The entries of the IP authlist that hold',
        description: 'Without the admin flag: those of oneself alone.',
        tags,
        response: { 200: Type.Array(Entry), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { account_id, user_name, flags } = request.person;
      const filter = flags.admin ? {} : { users: [user_name] };
      const entries = await listEntries(ctx.db, account_id, filter, ctx.clock.now());
      const uses = await lastUses(ctx.db, account_id);
      return sendJson(
        reply,
        entries.map((entry) => presentEntry(entry, uses.get(entry.id) ?? null)),
      );
    },
  );

  app.post<{ Body: Static<typeof NewEntry> }>(
    '/console/authlist',
    {
      config: { console: mine },
      schema: {
        summary: 'Add an entry',
        tags,
        body: NewEntry,
        response: { 201: Entry, ...errors(400, 401, 403, 409, 429) },
      },
    },
    async (request, reply) => {
      const body = { ...request.body, ip: request.body.ip ?? ownAddress(request) };
      const entry = await consoleWrite(ctx, request, async (tx, person) => {
        requireSelf(person, body.user);
        checkExpiry(body.expiry, tx.now);
        return createEntry(tx, person.account_id, body, rules);
      });
      return sendCreated(reply, `/console/authlist/${entry.id}`, presentEntry(entry, null));
    },
  );

  app.delete(
    '/console/authlist',
    {
      config: { console: admins },
      schema: {
        summary: 'Remove all entries; it can be undone for seven days',
        tags,
        response: { 200: Removed, ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const removed = await consoleWrite(ctx, request, (tx) =>
        removeAllEntries(tx, request.person.account_id, () => {}),
      );
      return sendJson(reply, removed);
    },
  );

  app.post<{ Body: Static<typeof Removal> }>(
    '/console/authlist/restore',
    {
      config: { console: admins },
      schema: {
        summary: 'Undo a removal of all entries',
        tags,
        body: Removal,
        response: { 200: Restored, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) => {
      const outcome = await consoleWrite(ctx, request, async (tx) => {
        const account = await requireWritable(tx, request.person.account_id);
        return restoreEntries(tx, account, request.body.removal_id);
      });
      return sendJson(reply, outcome);
    },
  );

  app.patch<{ Params: IdPath; Body: Static<typeof Changes> }>(
    '/console/authlist/:id',
    {
      config: { console: mine, find },
      schema: {
        summary: 'Change an entry',
        tags,
        params: IdPath,
        body: Changes,
        response: { 200: Entry, ...errors(400, 401, 403, 404, 409, 429) },
      },
    },
    async (request, reply) => {
      const { body } = request;
      requireChange(body);
      const entry = await consoleWrite(ctx, request, async (tx, person) => {
        requireSelf(person, body.user);
        if (body.expiry !== undefined) checkExpiry(body.expiry, tx.now);
        return changeEntry(tx, person.account_id, idIn(request), body, rules, (before) =>
          requireOwn(person, before),
        );
      });
      return sendJson(reply, await shown(entry));
    },
  );

  app.delete<{ Params: IdPath }>(
    '/console/authlist/:id',
    {
      config: { console: mine, find },
      schema: {
        summary: 'Remove an entry',
        tags,
        params: IdPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      await consoleWrite(ctx, request, (tx, person) =>
        removeEntry(tx, person.account_id, idIn(request), (before) => requireOwn(person, before)),
      );
      return sendNothing(reply);
    },
  );
}
