// …/servers and …/network: the servers of the contract, and those that could be on it.
import { type Static, Type } from 'typebox';
import { requireAccount, requireWritable } from '../../accounts/accounts.ts';
import {
  findContractServer,
  keptLimits,
  listContractServers,
  removeContractServer,
  serversOfContract,
  setContractServer,
} from '../../contract_servers/contract_servers.ts';
import type { Reader } from '../../db/database.ts';
import { forbidden } from '../../errors.ts';
import { HourlyCap } from '../../hourly.ts';
import { Integer, Location, Strict, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { nodesOfContract, vpnHealth } from '../../nodes/nodes.ts';
import { listPortSchemes, override_offset } from '../../port_schemes/port_schemes.ts';
import { listServers, requireServer, serversOnScheme } from '../../servers/servers.ts';
import {
  ExitIp,
  Geostatus,
  NetworkServer,
  presentContractServer,
  presentNetworkServer,
  ServerPath,
  Usage,
} from '../account/servers.ts';
import { ExitVpn, presentExitVpn } from './exit_vpn.ts';
import type { Mount } from './mount.ts';
import type { Scope } from './scope.ts';

const Ports = Type.Array(
  Strict({
    port: Integer('Leads to this exit IP.', 1, 65_535),
    override_port: Integer('The same with custom DNS.', 1, 65_535),
    service: Type.String({ description: 'What is served there: proxy, or proxy-https over TLS.' }),
  }),
  { description: 'The ports of the account that lead to it.' },
);
const Server = Type.String({ description: 'Server short name.' });
const Title = Type.String({ description: 'Server title, usually the closest metro area.' });
const { hostname, services, ip_count } = NetworkServer.properties;
const { ip, port_base, status, status_time } = ExitIp.properties;
const Limit = Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
  description: 'Own limit of the server on this contract; null: the network limit.',
});

const OwnServer = Strict({
  server: Server,
  hostname,
  title: Title,
  services,
  location: Location,
  usage: Usage,
  limit_bytes: Limit,
  over_limit: Type.Boolean({ description: 'Whether its own limit is used up.' }),
  added_at: Timestamp('When it was added to the contract.'),
  nodes: Strict({
    all: Integer('Nodes that serve it.'),
    live: Integer('Those heard of lately.'),
  }),
  ips: Type.Array(
    Strict({
      ...{ ip, port_base, status, status_time },
      ...{ geostatus: Geostatus, ports: Ports, vpn: ExitVpn },
    }),
    { description: 'Exit IP addresses of the server.' },
  ),
});
const AnyServer = Strict({
  server: Server,
  hostname,
  title: Title,
  ip_count,
  services,
  location: Location,
  limit_bytes: Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
    description:
      'Own limit that the server had when it was taken off this contract, and has again once it is added; null: none.',
  }),
  on_contract: Type.Boolean({ description: 'Whether it is on the contract.' }),
  can_add: Type.Boolean({
    description:
      "Whether it can be added: it is not on the contract, it listens on the account's port scheme, and the choice is the client's (an admin's where the operator leaves it to accounts, and always an operator's).",
  }),
});
const Settings = Strict({ limit_bytes: Type.Optional(Limit) });

const everything = { location: true, usage: true, geostatus: true };

/** The servers of a contract, all or one. */
async function ownServers(
  db: Reader,
  account_id: number,
  health_stale_seconds: number,
  now: number,
  only?: string,
) {
  const names = only === undefined ? undefined : [only];
  const [{ account, servers }, rows, schemes, counts, vpn] = await Promise.all([
    listContractServers(db, account_id, names, everything, now),
    serversOfContract(db, account_id),
    listPortSchemes(db),
    nodesOfContract(db, account_id),
    vpnHealth(db, { account_id }, health_stale_seconds, now),
  ]);
  const bases = schemes.find(({ id }) => id === account.port_scheme_id)?.bases ?? [];
  const portsOf = (port_base: number) =>
    bases.map(({ base, service }) => {
      const port = base + port_base;
      return { port, override_port: port + override_offset, service };
    });
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const nodesOf = new Map(counts.map((row) => [row.server_id, row]));
  return servers.map((one) => {
    const shown = presentContractServer(
      one,
      account,
      everything,
      'current',
      health_stale_seconds,
      now,
    );
    const row = rowOf.get(one.server.id);
    const nodes = nodesOf.get(one.server.id);
    return {
      ...shown,
      limit_bytes: row?.own_limit_bytes ?? null,
      over_limit: row?.server_over_limit === 1,
      added_at: row?.added_at ?? now,
      nodes: { all: nodes?.nodes ?? 0, live: nodes?.live_nodes ?? 0 },
      ips: shown.ips.map((exit) => ({
        ...exit,
        ports: portsOf(exit.port_base),
        vpn: presentExitVpn(one.server, exit.ip, vpn),
      })),
    };
  });
}

async function allServers(db: Reader, account_id: number, chooses_servers: boolean) {
  const { port_scheme_id } = await requireAccount(db, account_id);
  const [servers, own, onScheme, kept] = await Promise.all([
    listServers(db),
    serversOfContract(db, account_id),
    serversOnScheme(db, port_scheme_id),
    keptLimits(db, account_id),
  ]);
  const limitOf = new Map(kept.map(({ server_id, limit_bytes }) => [server_id, limit_bytes]));
  const ownIds = new Set(own.map(({ id }) => id));
  const listening = new Set(onScheme.map(({ server_id }) => server_id));
  return servers.map((server) => ({
    server: server.name,
    ...presentNetworkServer(server, everything, 'current'),
    limit_bytes: limitOf.get(server.id) ?? null,
    on_contract: ownIds.has(server.id),
    can_add: chooses_servers && !ownIds.has(server.id) && listening.has(server.id),
  }));
}

export function contractServerRoutes({ ctx, audience, routesOf, write }: Mount): void {
  const route = routesOf('servers');
  const { chooses_servers, sets_limits } = audience;
  const { any_contract } = audience.rules;
  const { health_stale_seconds } = ctx.config;
  const readers = ['admin', 'proxy', 'billing'] as const;
  const admins = ['admin'] as const;
  const find = (_: Scope, { server }: ServerPath) => requireServer(ctx.db, server);

  /** Errors: 403 where the operator keeps that for themselves. */
  function requireChoice(): void {
    if (chooses_servers) return;
    throw forbidden('Which servers are on the contract is set by your provider; ask there.');
  }

  const additions = new HourlyCap(
    ctx.config.server_additions_per_hour,
    'The account added too many servers to the contract',
  );
  /** Errors: 429 for people who have added too many servers; each takes all entries to its nodes. */
  function countAddition(account_id: number, now: number): void {
    if (audience.is_operator) return;
    additions.rejectTooMany(account_id, now);
    additions.count(account_id, now);
  }

  route('GET /servers', {
    may: readers,
    summary: 'The servers on the contract',
    answer: Type.Array(OwnServer),
    handle: ({ scope }) =>
      ownServers(ctx.db, scope.account_id, health_stale_seconds, ctx.clock.now()),
  });

  route('GET /network', {
    may: readers,
    summary: 'Every server of the network',
    answer: Type.Array(AnyServer),
    handle: ({ scope }) => allServers(ctx.db, scope.account_id, chooses_servers),
  });

  route('PUT /servers/:server', {
    may: admins,
    record: true,
    find,
    summary: sets_limits
      ? 'Add a server to the contract, or change its own limit there'
      : 'Add a server of the network to the contract',
    description: sets_limits
      ? 'Own limits count on contracts with detailed server billing. Left out, the limit stays; a server that is added has the one that it had when it was taken off, if any.'
      : 'One that is on it already stays as it is.',
    params: ServerPath,
    ...(sets_limits ? { body: Settings } : {}),
    answer: OwnServer,
    created: OwnServer,
    errors: audience.is_operator ? [409] : [409, 429],
    handle: async (request) => {
      requireChoice();
      const { server: name } = request.params;
      const settings = (sets_limits ? request.body : {}) as Static<typeof Settings>;
      const { isNew, value } = await write(request, async (tx, { account_id }) => {
        const account = await requireWritable(tx, account_id, any_contract);
        const server = await requireServer(tx, name);
        const before = await findContractServer(tx, account.id, server.id);
        if (!before) countAddition(account.id, tx.now);
        if (!before || sets_limits) {
          await setContractServer(tx, account, server, settings.limit_bytes);
        }
        const [value] = await ownServers(tx, account.id, health_stale_seconds, tx.now, server.name);
        return { isNew: !before, value };
      });
      return isNew ? created(`${request.scope.path}/servers/${name}`, value) : value;
    },
  });

  route('DELETE /servers/:server', {
    may: admins,
    record: true,
    find,
    summary: 'Take a server off the contract',
    params: ServerPath,
    handle: async (request) => {
      requireChoice();
      await write(request, async (tx, { account_id }) => {
        const account = await requireWritable(tx, account_id, any_contract);
        await removeContractServer(tx, account, await requireServer(tx, request.params.server));
      });
    },
  });
}
