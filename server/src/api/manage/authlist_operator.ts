// /admin/authlist, /admin/accounts/{account}/authlist: the operator finds and removes entries, and undoes a "remove all".
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import {
  type AuthlistEntry,
  findClaims,
  lastUses,
  listEntries,
  removeAllEntriesAnyway,
  removeEntryAnyway,
  restoreEntries,
  userIsActive,
} from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import {
  errors,
  IdPath,
  Integer,
  idOf,
  NoContent,
  Strict,
  Text,
  Timestamp,
} from '../../http/fields.ts';
import { sendJson, sendNothing } from '../../http/responses.ts';
import { AccountPath, findAccount, operatorWrite } from '../operator/checks.ts';

export const Entry = Strict({
  id: Integer('Id of the entry on this account.', 1),
  ip: Type.String({ description: 'IP address.' }),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  user_active: Type.Boolean({ description: 'Whether that user is an active proxy user.' }),
  expiry: Timestamp('When the entry expires.'),
  last_used_at: Type.Union([Integer('Epoch seconds.'), Type.Null()], {
    description: 'When it last let a connection in, to the minute; null: no node told of any.',
  }),
});
const Claim = Strict({
  ip: Type.String({ description: 'IP address.' }),
  port_scheme: Type.String({ description: 'Port scheme on which the address is claimed.' }),
  account: Type.String({ description: 'Account that holds it.' }),
  id: Integer('Id of the entry on that account.', 1),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  expiry: Timestamp('When the entry expires.'),
});
const ClaimQuery = Strict({ ip: Text('One IP address, in any spelling.', 64) });
export const Removal = Strict({
  removal_id: Integer('Which removal, from the list of removals.', 1),
});
export const Restored = Strict({
  restored: Integer('Entries that are back, under their old ids.'),
  left_out: Integer('Entries that have expired since, or whose address is taken.'),
});

const EntryPath = Type.Object({ ...AccountPath.properties, ...IdPath.properties });
type EntryPath = Static<typeof EntryPath>;

export function presentEntry(entry: AuthlistEntry, last_used_at: number | null) {
  const { id, ip, user, expiry } = entry;
  return { id, ip, user, user_active: userIsActive(entry), expiry, last_used_at };
}

export function authlistAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: authlist and custom DNS'];

  app.get<{ Querystring: Static<typeof ClaimQuery> }>(
    '/admin/authlist',
    {
      schema: {
        summary: 'Who holds an address: one entry at most for each port scheme',
        tags,
        querystring: ClaimQuery,
        response: { 200: Type.Array(Claim), ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      const claims = await findClaims(ctx.db, request.query.ip, ctx.clock.now());
      return sendJson(
        reply,
        claims.map(({ ip, port_scheme, account, id, user, expiry }) => ({
          ip,
          port_scheme,
          account,
          id,
          user,
          expiry,
        })),
      );
    },
  );

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/authlist',
    {
      schema: {
        summary: 'The IP authlist of an account',
        tags,
        params: AccountPath,
        response: { 200: Type.Array(Entry), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      const entries = await listEntries(ctx.db, account.id, {}, ctx.clock.now());
      const uses = await lastUses(ctx.db, account.id);
      return sendJson(
        reply,
        entries.map((entry) => presentEntry(entry, uses.get(entry.id) ?? null)),
      );
    },
  );

  app.post<{ Params: AccountPath; Body: Static<typeof Removal> }>(
    '/admin/accounts/:account/authlist/restore',
    {
      config: { find: findAccount(ctx) },
      schema: {
        summary: 'Undo a removal of all authlist entries',
        tags,
        params: AccountPath,
        body: Removal,
        response: { 200: Restored, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const outcome = await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        return restoreEntries(tx, account, request.body.removal_id);
      });
      return sendJson(reply, outcome);
    },
  );

  app.delete<{ Params: AccountPath }>(
    '/admin/accounts/:account/authlist',
    {
      schema: {
        summary: 'Remove all authlist entries of an account; it can be undone for seven days',
        description: 'Works on a suspended or expired contract too.',
        tags,
        params: AccountPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeAllEntriesAnyway(tx, account.id);
      });
      return sendNothing(reply);
    },
  );

  app.delete<{ Params: EntryPath }>(
    '/admin/accounts/:account/authlist/:id',
    {
      schema: {
        summary: 'Remove one of the authlist entries of an account',
        description: 'Works on a suspended or expired contract too.',
        tags,
        params: EntryPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeEntryAnyway(tx, account.id, idOf(request.params.id));
      });
      return sendNothing(reply);
    },
  );
}
