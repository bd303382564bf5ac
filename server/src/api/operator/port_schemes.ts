// /admin/port_schemes: the ports that lead to a server's exit IPs, and the service of each.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { Integer, Name, Named, OneOf, Strict } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  createPortScheme,
  findPortScheme,
  listPortSchemes,
  type PortScheme,
  portsPerBase,
} from '../../port_schemes/port_schemes.ts';
import { changePortScheme, dropPortScheme, schemeUses } from '../../servers/servers.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const bases = Type.Array(
  Strict({
    base: Integer(
      'The port of port base 0; its override port is 500 more.',
      1,
      65_536 - portsPerBase,
    ),
    service: OneOf(['proxy', 'proxy-https'], 'What is served there: plain or over TLS.'),
  }),
  { minItems: 1, maxItems: 64, description: 'At least 1000 apart from one another.' },
);
const NewScheme = Named('NewPortScheme', { name: Name('Name of the scheme; it stays.'), bases });
const Scheme = Named('PortScheme', {
  ...NewScheme.properties,
  accounts: Integer('How many accounts have it.'),
  servers: Integer('How many servers listen on it.'),
});
const SchemePath = Type.Object({ name: Type.String({ description: 'Name of the scheme.' }) });
type SchemePath = Static<typeof SchemePath>;

async function presentSchemes(db: Reader, schemes: readonly PortScheme[]) {
  const uses = new Map((await schemeUses(db)).map(({ id, ...counts }) => [id, counts]));
  return schemes.map(({ id, name, bases }) => {
    const { accounts = 0, servers = 0 } = uses.get(id) ?? {};
    return { name, bases, accounts, servers };
  });
}

export function portSchemeRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: port schemes');
  const find = ({ name }: SchemePath) => findPortScheme(ctx.db, name);

  route('GET /admin/port_schemes', {
    summary: 'List port schemes',
    answer: Type.Array(Scheme),
    handle: async () => presentSchemes(ctx.db, await listPortSchemes(ctx.db)),
  });

  route('POST /admin/port_schemes', {
    summary: 'Create a port scheme',
    body: NewScheme,
    created: Scheme,
    errors: [409],
    handle: async (request) => {
      const [scheme] = await operatorWrite(ctx, request, async (tx) =>
        presentSchemes(tx, [await createPortScheme(tx, request.body)]),
      );
      return created('/admin/port_schemes', scheme);
    },
  });

  route('PATCH /admin/port_schemes/:name', {
    find,
    summary: 'Change the ports of a port scheme',
    description: 'The nodes of its servers follow. A base stays while an account has the scheme.',
    params: SchemePath,
    body: Named('PortSchemeChanges', { bases }),
    answer: Scheme,
    statuses: {
      409: 'An account has the scheme and a base would go, or a server has these ports by another scheme.',
    },
    handle: async (request) => {
      const { body, params } = request;
      const [scheme] = await operatorWrite(ctx, request, async (tx) =>
        presentSchemes(tx, [await changePortScheme(tx, params.name, body.bases)]),
      );
      return scheme;
    },
  });

  route('DELETE /admin/port_schemes/:name', {
    find,
    summary: 'Remove a port scheme that no account and no server has',
    params: SchemePath,
    statuses: { 409: 'An account or a server has it; the message says who.' },
    handle: (request) =>
      operatorWrite(ctx, request, (tx) => dropPortScheme(tx, request.params.name)),
  });
}
