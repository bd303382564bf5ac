// /admin/accounts/{account}/overrides/{id}: one custom DNS entry, and which nodes have applied it.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { errors, IdPath, Integer, idOf, OneOf, Timestamp } from '../../http/fields.ts';
import { sendJson } from '../../http/responses.ts';
import { nodesOfServer } from '../../nodes/nodes.ts';
import { lastChangeOf, requireOverride, statusOf } from '../../overrides/overrides.ts';
import { AccountPath } from '../operator/checks.ts';

const EntryOnNodes = Type.Object({
  id: Integer('Id of the entry on this account.', 1),
  server: Type.String({ description: 'Short name of its server.' }),
  hostname: Type.String({ description: 'Hostname that is overridden.' }),
  ip: Type.String({ description: 'IP address the hostname resolves to.' }),
  expiry: Timestamp('When the entry expires.'),
  status: OneOf(['pending', 'active', 'expiring', 'expired'], 'Its state.'),
  on_contract: Type.Boolean({ description: 'Whether its server is on the contract.' }),
  nodes: Type.Array(
    Type.Object({
      id: Integer('Id of the node.', 1),
      name: Type.String({ description: 'What the machine calls itself.' }),
      live: Type.Boolean({
        description: 'Whether it acknowledged lately. The live nodes count; where none is, all do.',
      }),
      applied_revision: Integer('Every change up to it is applied.'),
      applied: Type.Boolean({ description: "Whether it has applied the entry's last change." }),
    }),
    { description: 'The nodes of its server.' },
  ),
});

const EntryPath = Type.Object({ ...AccountPath.properties, ...IdPath.properties });

export function overrideNodesAdminRoutes(app: FastifyInstance, ctx: Context): void {
  app.get<{ Params: Static<typeof EntryPath> }>(
    '/admin/accounts/:account/overrides/:id',
    {
      schema: {
        summary: 'One custom DNS entry of an account, and which nodes have applied it',
        tags: ['Operator: authlist and custom DNS'],
        params: EntryPath,
        response: { 200: EntryOnNodes, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const now = ctx.clock.now();
      const account = await requireAccountNamed(ctx.db, request.params.account);
      const entry = await requireOverride(ctx.db, account.id, idOf(request.params.id), now);
      const nodes = await nodesOfServer(ctx.db, entry.server_id);
      const wanted = lastChangeOf(entry, now) ?? Number.POSITIVE_INFINITY;
      const { id, server, hostname, ip, expiry, contract_revision } = entry;
      return sendJson(reply, {
        id,
        server,
        hostname,
        ip,
        expiry,
        status: statusOf(entry, now),
        on_contract: contract_revision !== null,
        nodes: nodes.map((node) => ({
          id: node.id,
          name: node.name,
          live: node.live === 1,
          applied_revision: node.applied_revision,
          applied: node.applied_revision >= wanted,
        })),
      });
    },
  );
}
