// …/network: the servers of the network as the account sees them, also in pages, and their places.
import { type Static, Type } from 'typebox';
import { requireAccount } from '../../accounts/accounts.ts';
import {
  keptLimits,
  type PagedServer,
  serverPageSlices,
  serverPlaces,
  serverSorts,
  serverStates,
  serversOfContract,
  serverViews,
} from '../../contract_servers/contract_servers.ts';
import type { Reader } from '../../db/database.ts';
import { Integer, Location, Named, OneOf, Strict, Text, Timestamp } from '../../http/fields.ts';
import type { PageRequest } from '../../lists/list_pages.ts';
import { listServers, serversOnScheme, services } from '../../servers/servers.ts';
import { firstHour } from '../../usage/usage.ts';
import { countriesNamed, requireCountry } from '../../values/countries.ts';
import { periodAt } from '../../values/periods.ts';
import { NetworkServer, presentNetworkServer } from '../account/servers.ts';
import { listQuery, pageIn, readPage } from '../list_pages.ts';
import type { Mount } from './mount.ts';

const query = listQuery(serverSorts, {
  server: Type.Optional(Text('Only the server of this short name.')),
  country: Type.Optional(Text('Only servers of this country, by its code.', 2)),
  service: Type.Optional(
    OneOf([...services, 'vpn'], 'Only servers that offer it; vpn: any kind of VPN.'),
  ),
  state: Type.Optional(
    OneOf(
      [...serverStates],
      'Only servers of the contract that stand so. crit, warn and unknown: those with such an exit IP, however many others they have; misplaced: a geo-IP provider sees an exit IP in another country; over_limit: the own limit of the server is used up.',
    ),
  ),
  places: Type.Optional(
    Text(
      'Only servers of these places, a country and a city each, with a bar between two: `DE Berlin|US San Francisco`.',
      8000,
    ),
  ),
});
/** The query of the servers of the contract. */
export const ServersQuery = Strict(query);
const NetworkQuery = Strict({
  ...query,
  view: Type.Optional(
    OneOf(
      [...serverViews],
      'Which servers the list is of: those on the contract, the others, those that can be added, or, when omitted, all.',
    ),
  ),
});

const Bytes = Type.Union([Integer('Bytes in a billing period.'), Type.Null()]);
const Exits = Integer('Exit IPs in this state.');
const Server = Type.String({ description: 'Server short name.' });
const { hostname, services: Services, ip_count } = NetworkServer.properties;
const AnyServer = Named('AnyServer', {
  server: Server,
  hostname,
  title: Type.String({ description: 'Server title, usually the closest metro area.' }),
  ip_count,
  services: Services,
  location: Location,
  limit_bytes: Type.Union(Bytes.anyOf, {
    description:
      'Own limit that the server had when it was taken off this contract, and has again once it is added; null: none.',
  }),
  on_contract: Type.Boolean({ description: 'Whether it is on the contract.' }),
  can_add: Type.Boolean({
    description:
      "Whether it can be added: it is not on the contract, it listens on the account's port scheme, and the choice is the client's (an admin's where the operator leaves it to accounts, and always an operator's).",
  }),
  own: Type.Optional(
    Strict(
      {
        exits: Strict({ ok: Exits, warn: Exits, crit: Exits, unknown: Exits }),
        nodes: Strict({
          all: Integer('Nodes that serve it.'),
          live: Integer('Those heard of lately.'),
        }),
        current: Integer('Bytes in the current billing period.'),
        last_30_days: Integer('Bytes in the last 30 days.'),
        limit_bytes: Type.Union(Bytes.anyOf, {
          description: 'Own limit of the server on this contract; null: the network limit.',
        }),
        over_limit: Type.Boolean({ description: 'Whether its own limit is used up.' }),
        added_at: Timestamp('When it was added to the contract.'),
      },
      'How it stands on the contract; in pages, of servers on the contract alone.',
    ),
  ),
});

const Place = Named('AccountServerPlace', {
  ...Location.properties,
  servers: Integer('Servers there.', 1),
  states: Strict({
    ok: Integer('Servers of the contract whose exit IPs are all ok.'),
    warn: Integer('Those of which the worst exit IP is warn.'),
    crit: Integer('Those with a crit exit IP.'),
    unknown: Integer('Those of which too little is known.'),
    not_connected: Integer('Those whose nodes are all offline.'),
    no_node: Integer('Those without a node.'),
    others: Integer('Servers that are not on the contract.'),
  }),
  server: Type.Union([Server, Type.Null()], {
    description: 'The short name of the only server there; null where there are more.',
  }),
});

const location = { location: true, usage: true, geostatus: true };

/** The slices of a page of servers. Errors: 400; 404 for an account that no longer exists. */
export async function networkSlices(
  { ctx, audience }: Mount,
  account_id: number,
  view: (typeof serverViews)[number],
  { search: text, places, ...filter }: Static<typeof ServersQuery>,
  page: PageRequest<(typeof serverSorts)[number]>,
) {
  if (filter.country) requireCountry('country', filter.country);
  const now = ctx.clock.now();
  const account = await requireAccount(ctx.db, account_id);
  const search = text?.trim();
  const of = {
    account_id,
    port_scheme_id: audience.chooses_servers ? account.port_scheme_id : 0,
    fresh_after: now - ctx.config.health_stale_seconds,
    period_start: periodAt(account.start, now).start,
    first_hour: firstHour(now),
  };
  const pageFilter = {
    ...filter,
    search,
    searchedCountries: search ? countriesNamed(search) : [],
    places: places?.split('|'),
  };
  return (db: Reader) => serverPageSlices(db, of, view, pageFilter, page);
}

async function allServers(db: Reader, account_id: number, chooses_servers: boolean) {
  const { port_scheme_id } = await requireAccount(db, account_id);
  const [servers, contractServers, onScheme, limits] = await Promise.all([
    listServers(db),
    serversOfContract(db, account_id),
    serversOnScheme(db, port_scheme_id),
    keptLimits(db, account_id),
  ]);
  const limitOf = new Map(limits.map(({ server_id, limit_bytes }) => [server_id, limit_bytes]));
  const ownIds = new Set(contractServers.map(({ id }) => id));
  const listening = new Set(onScheme.map(({ server_id }) => server_id));
  return servers.map((server) => ({
    server: server.name,
    ...presentNetworkServer(server, location, 'current'),
    limit_bytes: limitOf.get(server.id) ?? null,
    on_contract: ownIds.has(server.id),
    can_add: chooses_servers && !ownIds.has(server.id) && listening.has(server.id),
  }));
}

function presentRow(row: PagedServer) {
  const { ok, warn, crit, unknown, current, last_30_days, added_at } = row;
  const on_contract = added_at !== null;
  return {
    server: row.name,
    ...presentNetworkServer(row, location, 'current'),
    limit_bytes: row.kept_limit_bytes,
    on_contract,
    can_add: row.can_add === 1,
    ...(on_contract && {
      own: {
        exits: { ok, warn, crit, unknown },
        nodes: { all: row.nodes, live: row.live_nodes },
        ...{ current, last_30_days, added_at },
        limit_bytes: row.own_limit_bytes,
        over_limit: row.server_over_limit === 1,
      },
    }),
  };
}

/** Precise enough for a map. */
const rounded = (degrees: number) => Math.round(degrees * 10_000) / 10_000;

export function networkRoutes(mount: Mount): void {
  const { ctx, audience, routesOf } = mount;
  const route = routesOf('servers');
  const readers = ['admin', 'proxy', 'billing'] as const;

  route('GET /network', {
    may: readers,
    summary: 'Every server of the network',
    description: 'With a limit: a page of them, sorted and filtered.',
    query: NetworkQuery,
    answer: Type.Array(AnyServer),
    handle: async ({ scope: { account_id }, query }, reply) => {
      const page = pageIn(query);
      if (!page) return allServers(ctx.db, account_id, audience.chooses_servers);
      const { view = 'all', ...filter } = query;
      const slices = await networkSlices(mount, account_id, view, filter, page);
      return (await readPage(mount, reply, account_id, page, slices)).map(presentRow);
    },
  });

  route('GET /network/places', {
    may: readers,
    summary: 'The places of the servers of the network, and how those of the contract stand',
    answer: Type.Array(Place),
    handle: async ({ scope }) => {
      const freshAfter = ctx.clock.now() - ctx.config.health_stale_seconds;
      const places = await serverPlaces(ctx.db, scope.account_id, freshAfter);
      return places.map(({ city, country, latitude, longitude, servers, name, ...states }) => ({
        ...{ city, country, latitude: rounded(latitude), longitude: rounded(longitude) },
        ...{ servers, states, server: servers === 1 ? name : null },
      }));
    },
  });
}
