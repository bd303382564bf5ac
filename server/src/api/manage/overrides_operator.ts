// /admin/accounts/{account}/overrides: the operator reads and removes custom DNS entries, and undoes a "remove all".
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import {
  errors,
  IdPath,
  Integer,
  idOf,
  NoContent,
  OneOf,
  Strict,
  Timestamp,
} from '../../http/fields.ts';
import { sendJson, sendNothing } from '../../http/responses.ts';
import {
  listOverrides,
  type Override,
  removeAllOverridesAnyway,
  removeOverrideAnyway,
  restoreOverrides,
  statusOf,
} from '../../overrides/overrides.ts';
import { AccountPath, findAccount, operatorWrite } from '../operator/checks.ts';

export const Entry = Strict({
  id: Integer('Id of the entry on this account.', 1),
  server: Type.String({ description: 'Short name of the server where the entry is active.' }),
  hostname: Type.String({ description: 'Hostname that is overridden.' }),
  ip: Type.String({ description: 'IP address the hostname resolves to.' }),
  expiry: Timestamp('When the entry expires.'),
  status: OneOf(['pending', 'active', 'expiring', 'expired'], 'Its state.'),
});
export const Removal = Strict({
  removal_id: Integer('Which removal, from the list of removals.', 1),
});
export const Restored = Strict({
  restored: Integer('Entries that are back, under their old ids.'),
  left_out: Integer(
    'Entries that have expired since, whose server is gone, or whose hostname is overridden anew.',
  ),
});

const EntryPath = Type.Object({ ...AccountPath.properties, ...IdPath.properties });
type EntryPath = Static<typeof EntryPath>;

export function presentEntry(entry: Override, now: number) {
  const { id, server, hostname, ip, expiry } = entry;
  return { id, server, hostname, ip, expiry, status: statusOf(entry, now) };
}

export function overrideAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: authlist and custom DNS'];

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/overrides',
    {
      schema: {
        summary: 'The custom DNS entries of an account, including expired and expiring ones',
        tags,
        params: AccountPath,
        response: { 200: Type.Array(Entry), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const now = ctx.clock.now();
      const account = await requireAccountNamed(ctx.db, request.params.account);
      const entries = await listOverrides(ctx.db, account.id, {}, now);
      return sendJson(
        reply,
        entries.map((entry) => presentEntry(entry, now)),
      );
    },
  );

  app.post<{ Params: AccountPath; Body: Static<typeof Removal> }>(
    '/admin/accounts/:account/overrides/restore',
    {
      config: { find: findAccount(ctx) },
      schema: {
        summary: 'Undo a removal of all custom DNS entries',
        tags,
        params: AccountPath,
        body: Removal,
        response: { 200: Restored, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const outcome = await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        return restoreOverrides(tx, account, request.body.removal_id);
      });
      return sendJson(reply, outcome);
    },
  );

  app.delete<{ Params: AccountPath }>(
    '/admin/accounts/:account/overrides',
    {
      schema: {
        summary: 'Remove all custom DNS entries of an account; it can be undone for seven days',
        description: 'Works on a suspended or expired contract too.',
        tags,
        params: AccountPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeAllOverridesAnyway(tx, account.id);
      });
      return sendNothing(reply);
    },
  );

  app.delete<{ Params: EntryPath }>(
    '/admin/accounts/:account/overrides/:id',
    {
      schema: {
        summary: 'Remove one of the custom DNS entries of an account',
        description: 'Works on a suspended or expired contract too.',
        tags,
        params: EntryPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeOverrideAnyway(tx, account.id, idOf(request.params.id));
      });
      return sendNothing(reply);
    },
  );
}
