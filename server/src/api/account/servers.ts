// GET /v0/servers and /v0/contract/servers: the network, and a contract's servers, per variant.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Account } from '../../accounts/accounts.ts';
import {
  type ContractServer,
  type Detail,
  listContractServers,
  requireContractServer,
} from '../../contract_servers/contract_servers.ts';
import { invalidField } from '../../errors.ts';
import { Integer, Location, Named, Strict, Timestamp, words } from '../../http/fields.ts';
import { type ExitIpRow, listServers, type Server, servicesOf } from '../../servers/servers.ts';
import { earliest, never } from '../lists.ts';
import type { AccountContext } from './context.ts';
import { accountOf, Routes } from './route.ts';
import type { Variant } from './session.ts';

const Hostname = Type.String({ description: 'Fully-qualified domain name of the server.' });
const Title = Type.Optional(
  Type.String({
    description: 'Server title, usually the closest metro area. Current variant only.',
  }),
);
const Services = Type.Array(Type.String(), {
  description:
    'Services available. Current variant: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp. Earlier variant: proxy, vpn.',
});

export const NetworkServer = Named('NetworkServer', {
  hostname: Hostname,
  title: Title,
  ip_count: Integer('Number of exit IP addresses available.'),
  services: Services,
  location: Type.Optional(Location),
});

export const Usage = Named('Usage', {
  limit: Integer(
    'Bytes. Current variant: the limit of this server if detailed server billing applies, otherwise the network limit. Earlier variant: the server limit for the account.',
  ),
  current: Integer('Bytes in the current billing period.'),
  last_30_days: Integer('Bytes in the last 30 days.'),
});

const Checked = Strict({
  status: Type.String({ description: 'ok, warn or crit.' }),
  status_time: Timestamp('Last location check.'),
});

export const Geostatus = Type.Record(Type.String(), Checked, {
  description: 'By third-party geo-IP provider.',
});

export const ExitIp = Named('ExitIp', {
  ip: Type.String({ description: 'Exit IP address.' }),
  port_base: Integer('Value added to the account port scheme to reach this IP.', 0, 499),
  status: Type.Union(
    ['ok', 'warn', 'crit', 'unknown'].map((status) => Type.Literal(status)),
    { description: 'Server availability.' },
  ),
  status_time: Timestamp('Last status check; 0 if there was none.'),
  geostatus: Type.Optional(Geostatus),
});

const ContractServerRecord = Named('ContractServer', {
  server: Type.String({ description: 'Short server name.' }),
  hostname: Hostname,
  title: Title,
  services: Services,
  usage: Type.Optional(Usage),
  location: Type.Optional(Location),
  ips: Type.Array(ExitIp, { description: 'Exit IP addresses of the server.' }),
});

const DetailQuery = Type.Optional(
  Type.String({ description: 'Comma-separated subset of location, geostatus, usage.' }),
);
const ListQuery = Strict({
  detail: DetailQuery,
  server: Type.Optional(Type.String({ description: 'Comma-separated server short names.' })),
});
const OneQuery = Strict({ detail: DetailQuery });
const NetworkQuery = Strict({
  detail: Type.Optional(
    Type.String({ description: '`location` adds the location of each server.' }),
  ),
});
export const ServerPath = Type.Object({
  server: Type.String({ description: 'Server short name.' }),
});
export type ServerPath = Static<typeof ServerPath>;

function parseDetail(text: string | undefined, allowed: ReadonlyArray<keyof Detail>): Detail {
  const details = words('detail', text) ?? [];
  const unknown = details.find((word) => !(allowed as readonly string[]).includes(word));
  if (unknown !== undefined) {
    throw invalidField(
      'detail',
      `${JSON.stringify(unknown)} is not known here; expected ${allowed.join(', ')}.`,
    );
  }
  const has = (word: keyof Detail) => details.includes(word);
  return { location: has('location'), usage: has('usage'), geostatus: has('geostatus') };
}

/** The earlier variant has two services: any proxy, and any VPN. */
function presentServices(server: Server, variant: Variant): string[] {
  const services = servicesOf(server);
  if (variant === 'current') return services;
  return Array.from(
    new Set(services.map((service) => (service.startsWith('vpn') ? 'vpn' : 'proxy'))),
  );
}

function presentLocation({ city, country, latitude, longitude }: Server) {
  return { city, country, latitude, longitude };
}

export function presentNetworkServer(
  server: Server & { ip_count: number },
  detail: Detail,
  variant: Variant,
) {
  return {
    hostname: server.hostname,
    ...(variant === 'current' ? { title: server.title } : {}),
    ip_count: server.ip_count,
    services: presentServices(server, variant),
    ...(detail.location ? { location: presentLocation(server) } : {}),
  };
}

/** Current: the server's own limit under detailed billing. Earlier: its own. Else the network's. */
function usageLimit(account: Account, own_limit_bytes: number | null, variant: Variant): number {
  if (variant === 'current' && !account.detailed_billing) return account.limit_bytes;
  return own_limit_bytes ?? account.limit_bytes;
}

/** An old report says nothing about now. */
export function presentStatus(exit: ExitIpRow, stale_seconds: number, now: number): string {
  return now >= exit.status_time + stale_seconds ? 'unknown' : exit.status;
}

export function presentContractServer(
  { server, exit_ips, geo_statuses, usage }: ContractServer,
  account: Account,
  detail: Detail,
  variant: Variant,
  stale_seconds: number,
  now: number,
) {
  const { own_limit_bytes, current, last_30_days } = usage;
  const geostatus = (ip: string) =>
    Object.fromEntries(
      geo_statuses
        .filter((row) => row.ip === ip)
        .map(({ provider, status, status_time }) => [provider, { status, status_time }]),
    );
  return {
    server: server.name,
    hostname: server.hostname,
    ...(variant === 'current' ? { title: server.title } : {}),
    services: presentServices(server, variant),
    ...(detail.usage
      ? { usage: { limit: usageLimit(account, own_limit_bytes, variant), current, last_30_days } }
      : {}),
    ...(detail.location ? { location: presentLocation(server) } : {}),
    ips: exit_ips.map((exit) => ({
      ip: exit.ip,
      port_base: exit.port_base,
      status: presentStatus(exit, stale_seconds, now),
      status_time: exit.status_time,
      ...(detail.geostatus ? { geostatus: geostatus(exit.ip) } : {}),
    })),
  };
}

/** When the first fresh status of these becomes `unknown`. */
function firstStale(servers: ContractServer[], stale_seconds: number, now: number): number {
  const stale = servers.flatMap(({ exit_ips }) =>
    exit_ips.map(({ status_time }) => status_time + stale_seconds),
  );
  return earliest(stale.filter((time) => time > now));
}

export function serverRoutes(app: FastifyInstance, ctx: AccountContext): void {
  const routes = new Routes(app, ctx);
  const stale_seconds = ctx.config.health_stale_seconds;

  async function contractServers(
    request: FastifyRequest,
    names: string[] | undefined,
    detail: Detail,
  ) {
    const { account_id, variant } = request.session.principal;
    const now = ctx.clock.now();
    const { account, servers, valid_until } = await listContractServers(
      ctx.db,
      account_id,
      names,
      detail,
      now,
    );
    return {
      records: servers.map((server) =>
        presentContractServer(server, account, detail, variant, stale_seconds, now),
      ),
      freshness: {
        network: true,
        usage: detail.usage,
        valid_until: Math.min(valid_until ?? never, firstStale(servers, stale_seconds, now)),
      },
    };
  }

  routes.read('GET /v0/servers', {
    summary: 'Every server of the network',
    description: '`title` is shown in the current variant only.',
    tag: 'Network servers',
    query: NetworkQuery,
    answer: Type.Array(NetworkServer),
    handle: async (request) => {
      const detail = parseDetail(request.query.detail, ['location']);
      const servers = await listServers(ctx.db);
      const { variant } = request.session.principal;
      return {
        value: servers.map((server) => presentNetworkServer(server, detail, variant)),
        network: true,
      };
    },
  });

  routes.read('GET /v0/contract/servers', {
    summary: 'The servers added to the contract',
    description:
      '`usage`, `location` and `geostatus` are there when `detail` asks for them; `title` in the current variant only. A name in `server` that is not on the contract matches nothing.',
    tag: 'Contract servers',
    query: ListQuery,
    answer: Type.Array(ContractServerRecord),
    handle: async (request) => {
      const detail = parseDetail(request.query.detail, ['location', 'geostatus', 'usage']);
      const names = words('server', request.query.server);
      const { records, freshness } = await contractServers(request, names, detail);
      return { value: records, ...freshness };
    },
  });

  routes.read('GET /v0/contract/servers/:server', {
    find: (request) => {
      const { server } = request.params as ServerPath;
      return requireContractServer(ctx.db, accountOf(request), server);
    },
    summary: 'One server of the contract',
    tag: 'Contract servers',
    params: ServerPath,
    query: OneQuery,
    answer: ContractServerRecord,
    statuses: { 403: 'The server is in the network, but not on the contract.' },
    handle: async (request) => {
      const detail = parseDetail(request.query.detail, ['location', 'geostatus', 'usage']);
      const { server } = request.params;
      const { records, freshness } = await contractServers(request, [server], detail);
      return { value: records[0], ...freshness };
    },
  });
}
