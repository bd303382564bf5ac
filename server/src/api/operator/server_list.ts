// /admin/servers as a list: whole or in pages, with states and places; many changed at once.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { networkVersion } from '../../changes/changes.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { Integer, Location, Name, Named, OneOf, Strict, Timestamp } from '../../http/fields.ts';
import { nodeCounts, nodeLag } from '../../nodes/nodes.ts';
import {
  changeServers,
  type ExitCounts,
  exitCounts,
  exitFilters,
  listServerPortSchemes,
  listServers,
  nodeStates,
  removeServers,
  type Server,
  serverPageSlices,
  serverPlaces,
  serverSorts,
  services,
  servicesOf,
} from '../../servers/servers.ts';
import { requireCountry } from '../../values/countries.ts';
import { filterIn, listQuery, pageIn, readPage } from '../list_pages.ts';
import { LongReads } from '../long_reads.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';
import { exitCountsOf, serverFields } from './server_fields.ts';

/** Counting stops here: a node with a larger lag takes a while in any case. */
const maxLagCounted = 10_000;

export const listedFields = {
  ...serverFields,
  ip_count: Integer('How many exit IPs it has.'),
  created_at: Timestamp('When it was added.'),
  exits: exitCountsOf('Its exit IPs, by status.'),
  nodes: Strict({
    all: Integer('Nodes that serve it.'),
    live: Integer('Those heard of lately.'),
    drained: Integer('Live ones that take no new connections.'),
    lag: Integer(
      `Changes that a live one has not applied, of the one that is farthest behind; ${maxLagCounted} stands for that many or more.`,
    ),
  }),
};

const paging = listQuery(serverSorts, {
  country: Type.Optional(
    Type.String({ description: 'Only servers of this country, ISO 3166-1 alpha-2.' }),
  ),
  service: Type.Optional(OneOf([...services], 'Only servers that offer it.')),
  port_scheme: Type.Optional(Name('Only servers that listen on it.')),
  nodes: Type.Optional(
    OneOf(
      [...nodeStates],
      'bad: no node is live; drained: all live ones are; warn: one lags, is drained or offline; neutral: no node yet; good: none of these.',
    ),
  ),
  exits: Type.Optional(
    OneOf(
      [...exitFilters],
      'ok: all exit IPs are; misplaced: a geo-IP provider sees one in another country; else: one is.',
    ),
  ),
  places: Type.Optional(
    Type.String({
      description:
        'Only servers at these places: latitude and longitude, as in `50.1155,8.6842;52.37,4.89`, at most 512.',
      maxLength: 25_000,
    }),
  ),
});
const Query = Strict(paging);

const PlaceRecord = Named('ServerPlace', {
  ...Location.properties,
  servers: Integer('How many servers are there.'),
  states: Strict(
    {
      good: Integer('Nodes live and up to date, exit IPs ok.'),
      warn: Integer('A node lags, is drained or offline, or an exit IP is warn.'),
      bad: Integer('No node takes connections, or an exit IP is crit.'),
      neutral: Integer('No node or exit IP yet, or one is unknown.'),
    },
    'How many of each state: the worse of their nodes and their exit IPs.',
  ),
  server: Type.Union([Type.String(), Type.Null()], {
    description: 'The name of the only one; null where there are several.',
  }),
});

const maxAtOnce = 1000;
const servers = Type.Array(Type.String({ description: 'Short name of a server.' }), {
  description: `Which servers, each once: at most ${maxAtOnce}.`,
  minItems: 1,
  maxItems: maxAtOnce,
  uniqueItems: true,
});
const ManyServers = Named('ServerNames', { servers });
const ManyChanges = Named('ManyServerChanges', {
  servers,
  services: Type.Optional(serverFields.services),
  port_schemes: Type.Optional(serverFields.port_schemes),
});
const Done = Named('ManyServers', { servers: Integer('How many servers.') });

interface Standing {
  exits: ExitCounts;
  nodes: { all: number; live: number; drained: number; lag: number };
}

export function presentServer(
  { id: _, applied_revision: __, vpn_generation: ___, ...server }: Server,
  port_schemes: string[],
  { exits, nodes }: Standing,
) {
  const ip_count = exits.ok + exits.warn + exits.crit + exits.unknown;
  return { ...server, services: servicesOf(server), port_schemes, ip_count, exits, nodes };
}

/** The state of each server; `only`: just these ids. */
export async function standingOf(
  ctx: Context,
  db: Reader,
  now: number,
  only?: readonly number[],
): Promise<(server: Pick<Server, 'id'>) => Standing> {
  const [exits, nodes] = await Promise.all([
    exitCounts(db, now - ctx.config.health_stale_seconds, only),
    nodeCounts(db, only),
  ]);
  const exitsOf = new Map(exits.map(({ server_id, ...counts }) => [server_id, counts]));
  const lags = nodes.map(async ({ server_id, nodes, live_nodes, drained_nodes, ...counts }) => {
    const { applied_revision: applied } = counts;
    const lag = applied === null ? 0 : await nodeLag(db, server_id, applied, maxLagCounted);
    return [server_id, { all: nodes, live: live_nodes, drained: drained_nodes, lag }] as const;
  });
  const nodesOf = new Map(await Promise.all(lags));
  return ({ id }) => ({
    exits: exitsOf.get(id) ?? { ok: 0, warn: 0, crit: 0, unknown: 0 },
    nodes: nodesOf.get(id) ?? { all: 0, live: 0, drained: 0, lag: 0 },
  });
}

async function presentServers(ctx: Context, servers: readonly Server[], only?: readonly number[]) {
  const [schemes, standing] = await Promise.all([
    listServerPortSchemes(ctx.db, only),
    standingOf(ctx, ctx.db, ctx.clock.now(), only),
  ]);
  const namesOf = Map.groupBy(schemes, ({ server_id }) => server_id);
  return servers.map((server) => {
    const names = (namesOf.get(server.id) ?? []).map(({ name }) => name);
    return presentServer(server, names, standing(server));
  });
}

/** Latitude and longitude of each place. Errors: 400. */
function placesIn(text: string | undefined): Array<readonly [number, number]> {
  if (!text) return [];
  const places = text.split(';').map((place) => {
    const [, latitude, longitude] =
      /^(-?\d{1,3}(?:\.\d{1,17})?),(-?\d{1,3}(?:\.\d{1,17})?)$/.exec(place) ?? [];
    if (latitude === undefined) {
      throw invalidField('places', `${JSON.stringify(place)}: expected latitude,longitude.`);
    }
    return [Number(latitude), Number(longitude)] as const;
  });
  if (places.length > 512) throw invalidField('places', 'expected 512 places at most.');
  return places;
}

export function serverListRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: servers');
  const longReads = new LongReads(ctx.db);
  const freshAfter = () => ctx.clock.now() - ctx.config.health_stale_seconds;

  route('GET /admin/servers', {
    summary: 'List the servers of the network',
    description: 'With a limit: a page of them, sorted and filtered; else all of them, by name.',
    query: Query,
    answer: Type.Array(Named('Server', listedFields)),
    handle: async ({ query }, reply) => {
      const page = pageIn(query);
      if (!page) return presentServers(ctx, await listServers(ctx.db));
      if (query.country) requireCountry('country', query.country);
      const { limit: _, after: __, sort: ___, order: ____, places, ...filter } = query;
      const pageFilter = { ...filter, search: filterIn(query).search, places: placesIn(places) };
      const slices = (db: Reader) => serverPageSlices(db, pageFilter, page, freshAfter());
      const rows = await readPage({ longReads }, reply, networkVersion, page, slices);
      const plain = rows.map(({ sort_key: _, ...server }) => server);
      return presentServers(
        ctx,
        plain,
        plain.map(({ id }) => id),
      );
    },
  });

  route('GET /admin/servers/places', {
    summary: 'The places where servers are, with how many of each state',
    answer: Type.Array(PlaceRecord),
    handle: () => serverPlaces(ctx.db, freshAfter()),
  });

  route('PATCH /admin/servers', {
    id: 'change_servers',
    summary: 'Give servers other services or port schemes, all or none',
    body: ManyChanges,
    answer: Done,
    statuses: {
      404: 'There is no server of a name.',
      409: 'No such port scheme, two share ports, or a contract uses one that would go.',
    },
    handle: async (request) => {
      const { servers, ...changes } = request.body;
      if (!changes.services && !changes.port_schemes) {
        throw invalidField('services', 'is missing from the body, as are port_schemes.');
      }
      await operatorWrite(ctx, request, (tx) => changeServers(tx, servers, changes));
      return { servers: servers.length };
    },
  });

  route('POST /admin/servers/remove', {
    id: 'remove_servers',
    summary: 'Take servers out of the network, with their exit IPs and nodes, all or none',
    description: 'None of them may be on a contract.',
    body: ManyServers,
    answer: Done,
    statuses: {
      404: 'There is no server of a name.',
      409: 'One is on a contract, or usage of its nodes is held.',
    },
    handle: async (request) => {
      const { servers } = request.body;
      await operatorWrite(ctx, request, (tx) => removeServers(tx, servers));
      return { servers: servers.length };
    },
  });
}
