// /console/overrides: custom DNS entries, and which nodes have applied them, for the admins of an account.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import {
  checkExpiry,
  errors,
  IdPath,
  idOf,
  NoContent,
  Removed,
  Strict,
} from '../../http/fields.ts';
import { requireChange, sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  changeOverride,
  createOverride,
  lastChangeOf,
  listOverrides,
  nodesOfOverride,
  nodesOfOverrides,
  type Override,
  removeAllOverrides,
  removeOverride,
  requireOverride,
  restoreOverrides,
  type ServerNode,
} from '../../overrides/overrides.ts';
import { Expiry, Hostname, Ip, NewOverride, Server } from '../account/overrides.ts';
import { consoleWrite } from './checks.ts';
import { Entry, presentEntry, Removal, Restored } from './overrides_operator.ts';

const EntryOnNodes = Strict({
  ...Entry.properties,
  on_contract: Type.Boolean({ description: 'Whether its server is on the contract.' }),
  nodes: Type.Array(
    Strict({
      name: Type.String({ description: 'What the machine calls itself.' }),
      live: Type.Boolean({ description: 'Whether it was heard of lately.' }),
      applied: Type.Boolean({ description: "Whether it has applied the entry's last change." }),
    }),
    {
      description:
        'The nodes of its server while the entry waits for them: pending, or expiring. Else none.',
    },
  ),
});
const Changes = Strict({
  server: Type.Optional(Server),
  hostname: Type.Optional(Hostname),
  ip: Type.Optional(Ip),
  expiry: Type.Optional(Expiry),
});

/** A long list holds few entries that wait: it does not repeat the nodes for the others. */
function presentOnNodes(entry: Override, nodes: ServerNode[], now: number) {
  const wanted = lastChangeOf(entry, now) ?? Number.POSITIVE_INFINITY;
  const shown = presentEntry(entry, now);
  const waits = shown.status === 'pending' || shown.status === 'expiring';
  return {
    ...shown,
    on_contract: entry.contract_revision !== null,
    nodes: (waits ? nodes : []).map(({ name, live, applied_revision }) => ({
      name,
      live: live === 1,
      applied: applied_revision >= wanted,
    })),
  };
}

export function overrideConsoleRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Console: authlist and custom DNS'];
  const admins = { may: ['admin'], record: true } as const;
  const idIn = (request: FastifyRequest) => idOf((request.params as IdPath).id);
  const find = (request: FastifyRequest) =>
    requireOverride(ctx.db, request.person.account_id, idIn(request), ctx.clock.now());
  const shown = async (entry: Override) =>
    presentOnNodes(entry, await nodesOfOverride(ctx.db, entry.server_id), ctx.clock.now());

  app.get(
    '/console/overrides',
    {
      config: { console: { may: ['admin'] } },
      schema: {
        summary: 'The custom DNS entries, including expired and expiring ones',
        tags,
        response: { 200: Type.Array(EntryOnNodes), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { account_id } = request.person;
      const now = ctx.clock.now();
      // Nodes first: one that applies an entry meanwhile is shown behind it, never ahead.
      const nodes = Map.groupBy(
        await nodesOfOverrides(ctx.db, account_id),
        ({ server_id }) => server_id,
      );
      const entries = await listOverrides(ctx.db, account_id, {}, now);
      return sendJson(
        reply,
        entries.map((entry) => presentOnNodes(entry, nodes.get(entry.server_id) ?? [], now)),
      );
    },
  );

  app.post<{ Body: Static<typeof NewOverride> }>(
    '/console/overrides',
    {
      config: { console: admins },
      schema: {
        summary: 'Add an entry',
        tags,
        body: NewOverride,
        response: { 201: EntryOnNodes, ...errors(400, 401, 403, 409) },
      },
    },
    async (request, reply) => {
      const entry = await consoleWrite(ctx, request, async (tx) => {
        checkExpiry(request.body.expiry, tx.now);
        return createOverride(tx, request.person.account_id, request.body, ctx.config);
      });
      return sendCreated(reply, `/console/overrides/${entry.id}`, await shown(entry));
    },
  );

  app.delete(
    '/console/overrides',
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
        removeAllOverrides(tx, request.person.account_id, () => {}),
      );
      return sendJson(reply, removed);
    },
  );

  app.post<{ Body: Static<typeof Removal> }>(
    '/console/overrides/restore',
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
        return restoreOverrides(tx, account, request.body.removal_id);
      });
      return sendJson(reply, outcome);
    },
  );

  app.patch<{ Params: IdPath; Body: Static<typeof Changes> }>(
    '/console/overrides/:id',
    {
      config: { console: admins, find },
      schema: {
        summary:
          'Change an entry: it is pending again, and an expired one revives with a new expiry',
        tags,
        params: IdPath,
        body: Changes,
        response: { 200: EntryOnNodes, ...errors(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { person, body } = request;
      requireChange(body);
      const entry = await consoleWrite(ctx, request, async (tx) => {
        if (body.expiry !== undefined) checkExpiry(body.expiry, tx.now);
        return changeOverride(tx, person.account_id, idIn(request), body, ctx.config, () => {});
      });
      return sendJson(reply, await shown(entry));
    },
  );

  app.delete<{ Params: IdPath }>(
    '/console/overrides/:id',
    {
      config: { console: admins, find },
      schema: {
        summary: 'Remove an entry',
        tags,
        params: IdPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      await consoleWrite(ctx, request, (tx) =>
        removeOverride(tx, request.person.account_id, idIn(request), () => {}),
      );
      return sendNothing(reply);
    },
  );
}
