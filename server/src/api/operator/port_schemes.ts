// /admin/port_schemes: which ports lead to a server's exit IPs, and with which service.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { Integer, Name, OneOf, Strict } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  createPortScheme,
  listPortSchemes,
  type PortScheme,
  ports_per_base,
} from '../../port_schemes/port_schemes.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

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

export function portSchemeRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: port schemes');

  route('GET /admin/port_schemes', {
    summary: 'List port schemes',
    answer: Type.Array(Scheme),
    handle: async () => (await listPortSchemes(ctx.db)).map(presentScheme),
  });

  route('POST /admin/port_schemes', {
    summary: 'Create a port scheme',
    body: Scheme,
    created: Scheme,
    errors: [409],
    handle: async (request) => {
      const scheme = await operatorWrite(ctx, request, (tx) => createPortScheme(tx, request.body));
      return created('/admin/port_schemes', presentScheme(scheme));
    },
  });
}
