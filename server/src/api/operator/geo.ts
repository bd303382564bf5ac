// /admin/geo and /admin/geofeed.csv: where geo-IP providers see exit IPs, and the geofeed for them.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import type { Context } from '../../context.ts';
import { conflict, invalidField } from '../../errors.ts';
import { checkGeo, geoStatuses, listGeoStatuses } from '../../geo/geo.ts';
import { geofeedType, writeGeofeed } from '../../geofeed/geofeed.ts';
import { Integer, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { limitIn, PageQuery, pageOf } from '../../http/paging.ts';
import { requireServer } from '../../servers/servers.ts';
import { operatorRoute } from './route.ts';

const GeoStatus = Named('GeoStatus', {
  server: Type.String({ description: 'Server short name.' }),
  ip: Type.String({ description: 'Exit IP address.' }),
  provider: Type.String({ description: 'Third-party geo-IP provider.' }),
  status: OneOf(
    geoStatuses,
    'ok: the country of the server, and not far from it; warn: its country, but more than 250 km off; crit: another country.',
  ),
  country: Type.Union([Type.String(), Type.Null()], { description: 'Where it sees the IP.' }),
  distance_km: Type.Union([Type.Number(), Type.Null()], {
    description: 'How far that is from the server; null where it knows no place.',
  }),
  status_time: Timestamp('When this was computed.'),
});
const ListQuery = Strict({
  server: Type.Optional(Type.String({ description: 'Only the exit IPs of this server.' })),
  status: Type.Optional(OneOf(geoStatuses, 'Only this status.')),
  after: Type.Optional(
    Type.String({
      description: 'Only what comes after this address and provider; the Link of an answer has it.',
    }),
  ),
  limit: PageQuery.limit,
});
const Outcome = Named('GeoCheck', {
  exit_ips: Integer('How many were looked up.'),
  written: Integer('Statuses that were written or taken away.'),
  providers: Type.Array(
    Strict({
      provider: Type.String({ description: 'Third-party geo-IP provider.' }),
      ok: Integer('Exit IPs that it sees where they are.'),
      warn: Integer('Those that it sees in their country, but more than 250 km off.'),
      crit: Integer('Those that it sees in another country.'),
      no_record: Integer('Those that it knows nothing of.'),
      unreadable: Integer('Those whose record is damaged; their status stays.'),
    }),
  ),
});
const Geofeed = Type.String({
  contentMediaType: geofeedType,
  description: 'A line for each exit IP: ip_prefix,alpha2code,region,city,postal_code.',
});

export function geoRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: geo-IP');

  route('GET /admin/geo', {
    id: 'list_geo_statuses',
    summary: 'Where geo-IP providers see the exit IPs',
    query: ListQuery,
    answer: Type.Array(GeoStatus),
    handle: async ({ query }, reply) => {
      const { server, status, after = '0.0.0.0 ' } = query;
      const limit = limitIn(query.limit);
      if (server !== undefined) await requireServer(ctx.db, server);
      const [first = '', provider = ''] = after.split(' ');
      const ip = canonicalAddress(first);
      if (ip === undefined) {
        throw invalidField(
          'after',
          'is no place in the list; expected that of the Link of an answer.',
        );
      }
      const rows = await listGeoStatuses(ctx.db, { server, status }, { ip, provider }, limit + 1);
      return pageOf(reply, rows, limit, (last) => ({ after: `${last.ip} ${last.provider}` }));
    },
  });

  route('POST /admin/geo/check', {
    id: 'check_geo',
    summary: 'Look all exit IPs up now',
    description:
      'This happens by itself when a file or the inventory changes. A file that has changed is taken first.',
    answer: Outcome,
    statuses: { 409: 'No geo-IP database is set.' },
    handle: async () => {
      if (ctx.geoip.providers.length === 0) {
        throw conflict('There is no geo-IP database to look them up in; set EXITWARD_GEOIP.');
      }
      await ctx.geoip.refresh({ at_once: true });
      return checkGeo(ctx.db, ctx.geoip, ctx.clock.now());
    },
  });

  route('GET /admin/geofeed.csv', {
    id: 'get_geofeed',
    summary: 'The geofeed of the network (RFC 8805)',
    answer: Geofeed,
    handle: async (_request, reply) =>
      reply.type(geofeedType).send(await writeGeofeed(ctx.db, ctx.log)),
  });
}
