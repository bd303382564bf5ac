// /admin/manifests: a part of the network as one document declares it, applied all or nothing.
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { preconditionFailed } from '../../errors.ts';
import { requireValid } from '../../http/errors.ts';
import { Integer, largeBodyLimit, Name, Named, OneOf, Strict, Text } from '../../http/fields.ts';
import { faultsIn } from '../../http/validation.ts';
import { carryOut, type Planned, planManifest, rejectEmpty } from '../../manifests/manifests.ts';
import { NewUser } from '../user_fields.ts';
import { NewAccount } from './accounts.ts';
import { operatorRehearsal, operatorWrite } from './checks.ts';
import { readRecords } from './manifest_document.ts';
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
    Type.Boolean({ description: 'Whether the user is enabled; a new user is by default.' }),
  ),
});
const ContractServer = Strict({
  name: Name('Server on the contract.'),
  limit_bytes: Type.Optional(
    Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
      description: 'Own limit of the server; null: none.',
    }),
  ),
});
const Account = Strict({
  ...NewAccount.properties,
  suspended: Type.Optional(
    Type.Boolean({ description: 'Whether it is suspended; a new account is not by default.' }),
  ),
  users: Type.Optional(Type.Array(User)),
  servers: Type.Optional(Type.Array(ContractServer)),
});
const schemas = { server: Server, account: Account, user: User, contract_server: ContractServer };
/** The part of the document around its records. */
const Outline = Strict({
  servers: Type.Optional(Type.Array(Type.Unknown())),
  accounts: Type.Optional(Type.Array(Type.Unknown())),
});
const Document = Named('ManifestSettings', {
  servers: Type.Optional(Type.Array(Server)),
  accounts: Type.Optional(Type.Array(Account)),
});
const Path = Type.Object({ manifest: Name('Name of the manifest, under which it owns records.') });
const Query = Strict({
  dry_run: Type.Optional(
    OneOf(['true', 'false'], 'true: changes nothing, and reports what would change or be refused.'),
  ),
  remove_all: Type.Optional(
    OneOf(['true', 'false'], 'true: a manifest without records may remove all that it owns.'),
  ),
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
      differences: Type.Array(
        Type.Object({
          field: Type.String({ description: 'The field.' }),
          before: Type.Unknown({ description: 'Its value now.' }),
          after: Type.Unknown({ description: 'Its value by the manifest.' }),
        }),
        { description: 'How these fields change.' },
      ),
    }),
  ),
});

/** The plan for display, without its steps. */
function presentPlan(steps: readonly Planned[]) {
  const changes = steps.map(({ action, kind, name, differences }) => {
    const fields = differences.map(({ field }) => field);
    return { action, kind, name, fields, differences };
  });
  return { version: hash('sha256', JSON.stringify(changes), 'base64url'), changes };
}

/** Errors: 412 when the plan has changed since it was shown. */
function requireShown(steps: readonly Planned[], version: string | undefined): void {
  if (version === undefined || presentPlan(steps).version === version) return;
  throw preconditionFailed('The plan is no longer the one that was shown; nothing was changed.');
}

/**
 * The document, and the faults of those records in it that don't fit the schema. Errors: 400 when
 * the fault is around the records.
 */
function documentOf(request: FastifyRequest) {
  const { validationError } = request;
  const { body } = request;
  if (validationError?.validationContext !== 'body' || faultsIn(Outline, body).length > 0) {
    requireValid(request);
    return { document: body as Static<typeof Document>, unreadable: new Map() };
  }
  return readRecords(body as Static<typeof Outline>, schemas);
}

export function manifestRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: manifests');

  route('PUT /admin/manifests/:manifest', {
    bodyLimit: largeBodyLimit,
    summary:
      'Apply a manifest: the records that it declares become so, those that it owned and has no more go',
    description:
      'Accounts that go are suspended and users made inactive. Records that it does not own and does not name stay as they are.',
    params: Path,
    query: Query,
    body: Document,
    answer: Plan,
    attachValidation: true,
    errors: [409, 412],
    handle: async (request) => {
      const dry_run = request.query.dry_run === 'true';
      const { document, unreadable } = documentOf(request);
      const manifest = { name: request.params.manifest, ...document };
      const { api_tokens, max_users } = ctx.config;
      const making = { secrets: ctx.secrets, viewable: api_tokens === 'viewable', max_users };
      const act = async (tx: Transaction) => {
        const plan = await planManifest(tx, manifest, making, unreadable);
        requireShown(plan, request.query.version);
        if (request.query.remove_all !== 'true') rejectEmpty(manifest, plan);
        await carryOut(tx, plan);
        return plan;
      };
      const run = dry_run ? operatorRehearsal : operatorWrite;
      const steps = await run(ctx, request, act);
      return { dry_run, ...presentPlan(steps) };
    },
  });
}
