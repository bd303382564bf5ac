// /admin/manifests: a part of the network as one document declares it, applied all or nothing.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { Integer, Name, OneOf, Strict } from '../../http/fields.ts';
import { carryOut, planManifest } from '../../manifests/manifests.ts';
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
          Type.Union([Integer('Own limit, bytes in a billing period.'), Type.Null()]),
        ),
      }),
    ),
  ),
});
const Document = Strict({
  servers: Type.Optional(Type.Array(Server)),
  accounts: Type.Optional(Type.Array(Account)),
});
const Path = Type.Object({ manifest: Name('Name of the manifest, under which it owns records.') });
const Query = Strict({
  dry_run: Type.Optional(OneOf(['true', 'false'], 'true: only tells what would change.')),
});
const Plan = Strict({
  dry_run: Type.Boolean({ description: 'Whether nothing was written.' }),
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
    errors: [409],
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
            await carryOut(tx, plan);
            return plan;
          });
      const changes = steps.map(({ action, kind, name, fields }) => ({
        action,
        kind,
        name,
        fields,
      }));
      return { dry_run, changes };
    },
  });
}
