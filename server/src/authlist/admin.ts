// /admin/accounts/{account}/authlist: the operator reads an account's authlist, and undoes a "remove all".
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import { AccountPath, findAccount, operatorWrite, sendJson } from '../http/admin.ts';
import { EmptyQuery, errors, Integer, Strict, Timestamp } from '../http/fields.ts';
import { type AuthlistEntry, listEntries, restoreEntries, userIsActive } from './authlist.ts';

const Entry = Strict({
  id: Integer('Id of the entry on this account.', 1),
  ip: Type.String({ description: 'IP address.' }),
  user: Type.String({ description: 'User that its connections are assigned to.' }),
  user_active: Type.Boolean({ description: 'Whether that user is an active proxy user.' }),
  expiry: Timestamp('When the entry expires.'),
});
const Removal = Strict({ removal_id: Integer('Which removal, from the list of removals.', 1) });
const Restored = Strict({
  restored: Integer('Entries that are back, under their old ids.'),
  left_out: Integer('Entries that have expired since, or whose address is taken.'),
});

function presentEntry(entry: AuthlistEntry) {
  const { id, ip, user, expiry } = entry;
  return { id, ip, user, user_active: userIsActive(entry), expiry };
}

export function authlistAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: authlist and custom DNS'];

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/authlist',
    {
      schema: {
        summary: 'The IP authlist of an account',
        tags,
        params: AccountPath,
        querystring: EmptyQuery,
        response: { 200: Type.Array(Entry), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      const entries = await listEntries(ctx.db, account.id, {}, ctx.clock.now());
      return sendJson(reply, entries.map(presentEntry));
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
        querystring: EmptyQuery,
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
}
