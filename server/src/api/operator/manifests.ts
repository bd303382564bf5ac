// /admin/manifests: a part of the network as one document declares it, applied all or nothing.
import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { preconditionFailed } from '../../errors.ts';
import { Integer, Name, Named, OneOf, Strict, Text } from '../../http/fields.ts';
import { carryOut, type Planned, planManifest } from '../../manifests/manifests.ts';
import { NewUser } from '../manage/users.ts';
import { NewAccount } from './accounts.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';
import { exitFields, serverFields } from './server_fields.ts';

const Server = Strict({
  ...serverFields,
  port_schemes: Type.Optional(serverFields.port_schemes),
  exit_ips: Type.Optional(Type.Array(Strict(exitFields), { description: 'All of its exit IPs.' })),
});
const User = Strict({
  ...NewUser.properties,
  active: Type.Optional(
    Type.Boolean({ description: 'Whether the user is enabled; yes by default.' }),
  ),
});
const Account = Strict({
  ...NewAccount.properties,
  suspended: Type.Optional(
    Type.Boolean({ description: 'Whether it is suspended; no by default.' }),
  ),
  users: Type.Optional(Type.Array(User)),
  servers: Type.Optional(
    Type.Array(
      Strict({
        name: Name('Server on the contract.'),
        limit_bytes: Type.Optional(
          Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
            description: 'Own limit of the server; null: none.',
          }),
        ),
      }),
    ),
  ),
});
const Document = Named('ManifestSettings', {
  servers: Type.Optional(Type.Array(Server)),
  accounts: Type.Optional(Type.Array(Account)),
});
const Path = Type.Object({ manifest: Name('Name of the manifest, under which it owns records.') });
const Query = Strict({
  dry_run: Type.Optional(OneOf(['true', 'false'], 'true: only tells what would change.')),
  version: Type.Optional(
    Text('Of the plan that was shown: with any other plan by now, 412 and nothing is changed.', 64),
  ),
});
const Plan = Named('Manifest', {
  dry_run: Type.Boolean({ description: 'Whether nothing was written.' }),
  version: Type.String({ description: 'Of this plan: the same changes have the same one.' }),
  changes: Type.Array(
    Strict({
      action: OneOf(
        ['create', 'change', 'adopt', 'remove'],
        'Adopted: as declared already, and owned from now on.',
      ),
      kind: OneOf(['server', 'account', 'user', 'contract_server'], 'What it is.'),
      name: Type.String({ description: 'Its name; account/name inside of an account.' }),
      fields: Type.Array(Type.String(), { description: 'The fields that change.' }),
    }),
  ),
});

/** The plan for display, without its steps. */
function presentPlan(steps: readonly Planned[]) {
  const changes = steps.map(({ action, kind, name, fields }) => ({ action, kind, name, fields }));
  return { version: hash('sha256', JSON.stringify(changes), 'base64url'), changes };
}

/** Errors: 412 when the plan has changed since it was shown. */
function requireShown(steps: readonly Planned[], version: string | undefined): void {
  if (version === undefined || presentPlan(steps).version === version) return;
  throw preconditionFailed('The plan is no longer the one that was shown; nothing was changed.');
}

export function manifestRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: manifests');

  route('PUT /admin/manifests/:manifest', {
    summary:
      'Apply a manifest: the records that it declares become so, those that it owned and has no more go',
    description:
      'Accounts that go are suspended and users made inactive. Records that it does not own and does not name stay as they are.',
    params: Path,
    query: Query,
    body: Document,
    answer: Plan,
    errors: [409, 412],
    handle: async (request) => {
      const dry_run = request.query.dry_run === 'true';
      const document: Static<typeof Document> = request.body;
      const manifest = { name: request.params.manifest, ...document };
      const { api_tokens, max_users } = ctx.config;
      const making = { secrets: ctx.secrets, viewable: api_tokens === 'viewable', max_users };
      const steps = dry_run
        ? await ctx.db.snapshot((db) => planManifest(db, manifest, making))
        : await operatorWrite(ctx, request, async (tx) => {
            const plan = await planManifest(tx, manifest, making);
            requireShown(plan, request.query.version);
            await carryOut(tx, plan);
            return plan;
          });
      return { dry_run, ...presentPlan(steps) };
    },
  });
}
