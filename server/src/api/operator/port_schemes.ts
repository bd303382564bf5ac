// /admin/port_schemes: which ports lead to a server's exit IPs, and with which service.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  createPortScheme,
  listPortSchemes,
  type PortScheme,
  ports_per_base,
} from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { errors, Integer, Name, OneOf, Strict } from '../../http/fields.ts';
import { sendCreated, sendJson } from '../../http/responses.ts';
import { operatorWrite } from './checks.ts';

const Scheme = Strict({
  name: Name('Name of the scheme.'),
  bases: Type.Array(
    Strict({
      base: Integer(
        'The port of port base 0; its override port is 500 more.',
        1,
        65_536 - ports_per_base,
      ),
      service: OneOf(['proxy', 'proxy-https'], 'What is served there: plain or over TLS.'),
    }),
    { minItems: 1, maxItems: 64, description: 'At least 1000 apart from one another.' },
  ),
});

function presentScheme({ name, bases }: PortScheme) {
  return { name, bases };
}

export function portSchemeAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: port schemes'];

  app.get(
    '/admin/port_schemes',
    {
      schema: {
        summary: 'List port schemes',
        tags,
        response: { 200: Type.Array(Scheme), ...errors(400, 401) },
      },
    },
    async (_request, reply) => sendJson(reply, (await listPortSchemes(ctx.db)).map(presentScheme)),
  );

  app.post<{ Body: Static<typeof Scheme> }>(
    '/admin/port_schemes',
    {
      schema: {
        summary: 'Create a port scheme',
        tags,
        body: Scheme,
        response: { 201: Scheme, ...errors(400, 401, 409) },
      },
    },
    async (request, reply) => {
      const scheme = await operatorWrite(ctx, request, (tx) => createPortScheme(tx, request.body));
      return sendCreated(reply, '/admin/port_schemes', presentScheme(scheme));
    },
  );
}
