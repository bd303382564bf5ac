// /console/servers and /console/network: the servers of the contract, and those that could be on it.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  listPortSchemes,
  override_offset,
  requireAccount,
  requireWritable,
} from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { forbidden } from '../../errors.ts';
import { errors, Integer, Location, NoContent, Strict } from '../../http/fields.ts';
import { sendJson, sendNothing } from '../../http/responses.ts';
import {
  findContractServer,
  listContractServers,
  listServers,
  nodesOfContract,
  removeContractServer,
  requireServer,
  serversOfContract,
  serversOnScheme,
  setContractServer,
} from '../../servers/servers.ts';
import {
  ExitIp,
  Geostatus,
  NetworkServer,
  presentContractServer,
  presentNetworkServer,
  ServerPath,
  Usage,
} from '../account/servers.ts';
import { consoleWrite } from './checks.ts';

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

const OwnServer = Strict({
  server: Server,
  hostname,
  title: Title,
  services,
  location: Location,
  usage: Usage,
  nodes: Strict({
    all: Integer('Nodes that serve it.'),
    live: Integer('Those heard of lately.'),
  }),
  ips: Type.Array(
    Strict({ ip, port_base, status, status_time, geostatus: Geostatus, ports: Ports }),
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
  on_contract: Type.Boolean({ description: 'Whether it is on the contract.' }),
  can_add: Type.Boolean({
    description:
      "Whether an admin can add it: it is not on the contract, it listens on the account's port scheme, and the operator leaves that to accounts.",
  }),
});

const everything = { location: true, usage: true, geostatus: true };

export function serverConsoleRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Console: servers'];
  const readers = { may: ['admin', 'proxy', 'billing'] } as const;
  const changers = { may: ['admin'], record: true } as const;
  const pathOf = (request: FastifyRequest) => request.params as ServerPath;

  async function ownServers(account_id: number) {
    const now = ctx.clock.now();
    const [{ account, servers }, schemes, counts] = await Promise.all([
      listContractServers(ctx.db, account_id, undefined, everything, now),
      listPortSchemes(ctx.db),
      nodesOfContract(ctx.db, account_id),
    ]);
    const bases = schemes.find(({ id }) => id === account.port_scheme_id)?.bases ?? [];
    const portsOf = (port_base: number) =>
      bases.map(({ base, service }) => {
        const port = base + port_base;
        return { port, override_port: port + override_offset, service };
      });
    const nodesOf = new Map(counts.map((row) => [row.server_id, row]));
    const { health_stale_seconds } = ctx.config;
    return servers.map((one) => {
      const shown = presentContractServer(
        one,
        account,
        everything,
        'current',
        health_stale_seconds,
        now,
      );
      const nodes = nodesOf.get(one.server.id);
      return {
        ...shown,
        nodes: { all: nodes?.nodes ?? 0, live: nodes?.live_nodes ?? 0 },
        ips: shown.ips.map((exit) => ({ ...exit, ports: portsOf(exit.port_base) })),
      };
    });
  }

  async function allServers(account_id: number) {
    const { port_scheme_id } = await requireAccount(ctx.db, account_id);
    const [servers, own, onScheme] = await Promise.all([
      listServers(ctx.db),
      serversOfContract(ctx.db, account_id),
      serversOnScheme(ctx.db, port_scheme_id),
    ]);
    const ownIds = new Set(own.map(({ id }) => id));
    const listening = new Set(onScheme.map(({ server_id }) => server_id));
    const isOurs = ctx.config.contract_servers === 'account';
    return servers.map((server) => ({
      server: server.name,
      ...presentNetworkServer(server, everything, 'current'),
      on_contract: ownIds.has(server.id),
      can_add: isOurs && !ownIds.has(server.id) && listening.has(server.id),
    }));
  }

  /** Errors: 403 where the operator keeps that for themselves. */
  function requireOurs(): void {
    if (ctx.config.contract_servers === 'account') return;
    throw forbidden('Which servers are on the contract is set by your provider; ask there.');
  }

  app.get(
    '/console/servers',
    {
      config: { console: readers },
      schema: {
        summary: 'The servers on the contract',
        tags,
        response: { 200: Type.Array(OwnServer), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => sendJson(reply, await ownServers(request.person.account_id)),
  );

  app.get(
    '/console/network',
    {
      config: { console: readers },
      schema: {
        summary: 'Every server of the network',
        tags,
        response: { 200: Type.Array(AnyServer), ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => sendJson(reply, await allServers(request.person.account_id)),
  );

  app.put<{ Params: ServerPath }>(
    '/console/servers/:server',
    {
      config: {
        console: changers,
        find: (request) => requireServer(ctx.db, pathOf(request).server),
      },
      schema: {
        summary: 'Add a server of the network to the contract',
        description: 'One that is on it already stays as it is.',
        tags,
        params: ServerPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      requireOurs();
      await consoleWrite(ctx, request, async (tx) => {
        const account = await requireWritable(tx, request.person.account_id);
        const server = await requireServer(tx, request.params.server);
        if (await findContractServer(tx, account.id, server.id)) return;
        await setContractServer(tx, account, server, null);
      });
      return sendNothing(reply);
    },
  );

  app.delete<{ Params: ServerPath }>(
    '/console/servers/:server',
    {
      config: {
        console: changers,
        find: (request) => requireServer(ctx.db, pathOf(request).server),
      },
      schema: {
        summary: 'Take a server off the contract',
        tags,
        params: ServerPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      requireOurs();
      await consoleWrite(ctx, request, async (tx) => {
        const account = await requireWritable(tx, request.person.account_id);
        await removeContractServer(tx, account, await requireServer(tx, request.params.server));
      });
      return sendNothing(reply);
    },
  );
}
