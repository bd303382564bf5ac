// /admin/inventory: the whole network as one JSON or CSV document, imported all or nothing.
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import { badRequest, invalidField } from '../../errors.ts';
import { Integer, largeBodyLimit, Named, OneOf, Strict } from '../../http/fields.ts';
import { sendJson } from '../../http/responses.ts';
import { schemaOf } from '../../http/route.ts';
import { faultsIn } from '../../http/validation.ts';
import { carryOut } from '../../inventory/import.ts';
import { planImport, readNetwork, summaryOf, writtenInventory } from '../../inventory/inventory.ts';
import { operatorRehearsal, operatorWrite } from './checks.ts';
import { inventoryCsv, readInventory } from './inventory_document.ts';
import { operatorRoute } from './route.ts';
import { exitFields, serverFields } from './server_fields.ts';

const path = '/admin/inventory';

const exitIps = Type.Array(Strict(exitFields), { description: 'All of its exit IPs.' });
const WrittenServer = Strict({ ...serverFields, exit_ips: exitIps });
const Inventory = Named('Inventory', {
  servers: Type.Array(
    Strict({
      ...serverFields,
      port_schemes: Type.Optional(serverFields.port_schemes),
      exit_ips: exitIps,
    }),
  ),
  remove_missing: Type.Optional(
    Type.Boolean({ description: 'Whether servers that are not named go; no by default.' }),
  ),
});
const csvType = 'text/csv; charset=UTF-8';
const Csv = Type.String({
  contentMediaType: csvType,
  description:
    'One row for each exit IP, servers repeat: name,hostname,title,city,country,latitude,longitude,services,ip,port_base and optionally port_schemes; services and port_schemes separated by ";".',
});
const Query = Strict({
  dry_run: Type.Optional(OneOf(['true', 'false'], 'true: only says what would change.')),
  remove_missing: Type.Optional(
    OneOf(
      ['true', 'false'],
      'true: servers that are not named go, as the field of that name says.',
    ),
  ),
});
const Summary = Named('InventoryOutcome', {
  dry_run: Type.Boolean({ description: 'Whether nothing was written.' }),
  added: Type.Array(Type.String(), { description: 'New servers.' }),
  changed: Type.Array(
    Strict({
      name: Type.String({ description: 'Name of the server.' }),
      fields: Type.Array(Type.String(), { description: 'The fields that change.' }),
    }),
    { description: 'Servers that changed, and in what.' },
  ),
  removed: Type.Array(Type.String(), { description: 'Servers that went.' }),
  unchanged: Integer('Servers that were as the inventory says.'),
  exit_ips_added: Integer('Exit IPs that a server got.'),
  exit_ips_removed: Integer('Exit IPs that a server lost.'),
});

/** The body is checked by its reader, which names every fault; a schema check names only one. */
function validator({ schema, httpPart }: { schema: TSchema; httpPart?: string }) {
  if (httpPart === 'body') return () => true;
  return (value: unknown) => {
    const [fault] = faultsIn(schema, value);
    if (!fault) return { value };
    const field = fault.instancePath.slice(1) || 'query';
    return {
      error: invalidField(field, `expected dry_run and remove_missing with true or false.`),
    };
  };
}

export function inventoryRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: servers');

  route('GET /admin/inventory', {
    id: 'export_inventory',
    summary: 'The network as an inventory',
    description: 'Its import changes nothing, and makes the same network of an empty one.',
    answer: Named('InventoryDocument', { servers: Type.Array(WrittenServer) }),
    handle: async () => ({ servers: await ctx.db.snapshot(writtenInventory) }),
  });

  route('GET /admin/inventory.csv', {
    id: 'export_inventory_csv',
    summary: 'The network as an inventory in CSV',
    answer: Csv,
    handle: async (_request, reply) =>
      reply.type(csvType).send(inventoryCsv(await ctx.db.snapshot(writtenInventory))),
  });

  const isInventory = ({ routeOptions }: FastifyRequest) => routeOptions.url === path;
  const otherType = (request: FastifyRequest) =>
    badRequest(
      `Content-Type: expected application/json${isInventory(request) ? ' or text/csv' : ''}.`,
    );
  app.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (request, body, done) => {
    if (isInventory(request)) done(null, body);
    else done(otherType(request), undefined);
  });
  app.addContentTypeParser('*', (request, _body, done) => done(otherType(request), undefined));

  app.post<{ Querystring: Static<typeof Query> }>(
    path,
    {
      bodyLimit: largeBodyLimit,
      validatorCompiler: validator as never,
      schema: {
        ...schemaOf(
          {
            id: 'import_inventory',
            summary: 'Import an inventory of servers and exit IPs',
            description:
              'A server that is named gets exactly these fields and exit IPs. It is checked whole: with any fault, all are listed and nothing changes.',
            query: Query,
            answer: Summary,
            errors: [409],
          },
          { tag: 'Operator: servers' },
        ),
        body: {
          content: { 'application/json': { schema: Inventory }, 'text/csv': { schema: Csv } },
        },
      } as FastifySchema,
    },
    async (request, reply) => {
      const dry_run = request.query.dry_run === 'true';
      const inventory = readInventory(request.body, await ctx.db.snapshot(readNetwork));
      if (request.query.remove_missing === 'true') inventory.remove_missing = true;
      const act = async (tx: Transaction) => {
        const made = await planImport(tx, inventory);
        await carryOut(tx, made);
        return made;
      };
      const plan = await (dry_run ? operatorRehearsal : operatorWrite)(ctx, request, act);
      return sendJson(reply, { dry_run, ...summaryOf(plan) });
    },
  );
}
