// …/servers: the servers of the contract, all, in pages or one, and adding or removing one or many.
import { type Static, Type } from 'typebox';
import { requireWritable } from '../../accounts/accounts.ts';
import { HourlyCap } from '../../bounds/hourly.ts';
import {
  addContractServers,
  findContractServer,
  listContractServers,
  removeContractServer,
  removeContractServers,
  setContractServer,
} from '../../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../../db/database.ts';
import { forbidden, notFound } from '../../errors.ts';
import { Integer, Location, Named, Strict, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import { nodesOfContract, vpnHealth } from '../../nodes/nodes.ts';
import { listPortSchemes, overrideOffset } from '../../port_schemes/port_schemes.ts';
import { requireServer } from '../../servers/servers.ts';
import {
  ExitIp,
  Geostatus,
  NetworkServer,
  presentContractServer,
  ServerPath,
  Usage,
} from '../account/servers.ts';
import { ExitVpn, presentExitVpn } from '../exit_vpn.ts';
import { pageIn, readPage } from '../list_pages.ts';
import type { Mount } from './mount.ts';
import { networkSlices, ServersQuery } from './network.ts';
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
const { hostname, services } = NetworkServer.properties;
const { ip, port_base, status, status_time } = ExitIp.properties;
const Limit = Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
  description: 'Own limit of the server on this contract; null: the network limit.',
});

const OwnServer = Named('OwnServer', {
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
    Named('OwnExitIp', {
      ...{ ip, port_base, status, status_time },
      ...{ geostatus: Geostatus, ports: Ports, vpn: ExitVpn },
    }),
    { description: 'Exit IP addresses of the server.' },
  ),
});
const Settings = Named('AccountServerSettings', { limit_bytes: Type.Optional(Limit) });
const maxAtOnce = 1000;
const Servers = Named('ChosenServers', {
  servers: Type.Array(Server, {
    description: `Short names of the servers, each once: at most ${maxAtOnce}.`,
    minItems: 1,
    maxItems: maxAtOnce,
    uniqueItems: true,
  }),
});

const everything = { location: true, usage: true, geostatus: true };

/** The servers of a contract, all or by name. */
async function ownServers(
  db: Reader,
  account_id: number,
  health_stale_seconds: number,
  now: number,
  names?: string[],
) {
  const { account, servers } = await listContractServers(db, account_id, names, everything, now);
  const of = { account_id, server_ids: names && servers.map(({ server }) => server.id) };
  const [schemes, counts, vpn] = await Promise.all([
    listPortSchemes(db),
    nodesOfContract(db, of),
    vpnHealth(db, of, health_stale_seconds, now),
  ]);
  const bases = schemes.find(({ id }) => id === account.port_scheme_id)?.bases ?? [];
  const portsOf = (port_base: number) =>
    bases.map(({ base, service }) => {
      const port = base + port_base;
      return { port, override_port: port + overrideOffset, service };
    });
  const nodesOf = new Map(counts.map((row) => [row.server_id, row]));
  return servers.map((contractServer) => {
    const { server } = contractServer;
    const shown = presentContractServer(
      contractServer,
      account,
      everything,
      'current',
      health_stale_seconds,
      now,
    );
    const nodes = nodesOf.get(server.id);
    return {
      ...shown,
      limit_bytes: server.own_limit_bytes,
      over_limit: server.server_over_limit === 1,
      added_at: server.added_at,
      nodes: { all: nodes?.nodes ?? 0, live: nodes?.live_nodes ?? 0 },
      ips: shown.ips.map((exit) => ({
        ...exit,
        ports: portsOf(exit.port_base),
        vpn: presentExitVpn(server, exit.ip, vpn),
      })),
    };
  });
}

export function contractServerRoutes(mount: Mount): void {
  const { ctx, audience, routesOf, write } = mount;
  const route = routesOf('servers');
  const { chooses_servers, sets_limits } = audience;
  const { any_contract } = audience.rules;
  const { health_stale_seconds } = ctx.config;
  const readers = ['admin', 'proxy', 'billing'] as const;
  const admins = ['admin'] as const;
  const find = (_: Scope, { server }: ServerPath) => requireServer(ctx.db, server);

  /** Errors: 403 when only the operator may choose servers. */
  function requireChoice(): void {
    if (chooses_servers) return;
    throw forbidden('Which servers are on the contract is set by your provider; ask there.');
  }
  const findToChange = async (scope: Scope, names: ServerPath) => {
    await find(scope, names);
    requireChoice();
  };

  const additions = new HourlyCap(
    ctx.config.server_additions_per_hour,
    'The account added too many servers to the contract',
  );
  /** Errors: 429 for people who add too many servers; each one sends all entries to its nodes. */
  function countAdditions(tx: Transaction, account_id: number, amount: number): void {
    if (audience.is_operator) return;
    additions.rejectTooMany(tx, account_id, amount);
    additions.count(tx, account_id, amount);
  }

  route('GET /servers', {
    may: readers,
    summary: 'The servers on the contract',
    description: 'With a limit: a page of them, sorted and filtered.',
    query: ServersQuery,
    answer: Type.Array(OwnServer),
    handle: async ({ scope: { account_id }, query }, reply) => {
      const now = ctx.clock.now();
      const page = pageIn(query);
      if (!page) return ownServers(ctx.db, account_id, health_stale_seconds, now);
      const slices = await networkSlices(mount, account_id, 'contract', query, page);
      const rows = await readPage(mount, reply, account_id, page, slices);
      const names = rows.map(({ name }) => name);
      const servers = await ownServers(ctx.db, account_id, health_stale_seconds, now, names);
      const byName = new Map(servers.map((record) => [record.server, record]));
      return names.flatMap((name) => byName.get(name) ?? []);
    },
  });

  route('GET /servers/:server', {
    may: readers,
    find,
    summary: 'One server on the contract',
    params: ServerPath,
    answer: OwnServer,
    handle: async ({ scope: { account_id, account_name }, params: { server } }) => {
      const now = ctx.clock.now();
      const [record] = await ownServers(ctx.db, account_id, health_stale_seconds, now, [server]);
      if (record) return record;
      throw notFound(`${server} is not on the contract of ${account_name}.`);
    },
  });

  route('PUT /servers/:server', {
    may: admins,
    record: true,
    find: findToChange,
    ...(audience.is_operator ? {} : { id: 'add_server' }),
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
    statuses: {
      403: 'The person does not have the admin flag, the contract takes no changes, or the operator alone changes contracts.',
      409: "The server does not listen on the account's port scheme.",
    },
    handle: async (request) => {
      const { server: name } = request.params;
      const settings = (sets_limits ? request.body : {}) as Static<typeof Settings>;
      const { isNew, value } = await write(request, async (tx, { account_id }) => {
        const account = await requireWritable(tx, account_id, any_contract);
        const server = await requireServer(tx, name);
        const before = await findContractServer(tx, account.id, server.id);
        if (!before) countAdditions(tx, account.id, 1);
        if (!before || sets_limits) {
          await setContractServer(tx, account, server, settings.limit_bytes);
        }
        const [value] = await ownServers(tx, account.id, health_stale_seconds, tx.now, [name]);
        return { isNew: !before, value };
      });
      return isNew ? created(`${request.scope.path}/servers/${name}`, value) : value;
    },
  });

  route('DELETE /servers/:server', {
    may: admins,
    record: true,
    find: findToChange,
    summary: 'Take a server off the contract',
    params: ServerPath,
    handle: async (request) => {
      await write(request, async (tx, { account_id }) => {
        const account = await requireWritable(tx, account_id, any_contract);
        await removeContractServer(tx, account, await requireServer(tx, request.params.server));
      });
    },
  });

  route('POST /servers/add', {
    may: admins,
    record: true,
    find: requireChoice,
    id: 'add_servers',
    summary: 'Add servers of the network to the contract, all or none',
    description:
      'Those that are on it already stay as they are. One that was on it before has the own limit that it had then.',
    body: Servers,
    answer: Named('AddedServers', { added: Integer('How many are new on the contract.') }),
    errors: [429],
    statuses: {
      409: "One of them is not in the network, or does not listen on the account's port scheme.",
    },
    handle: async (request) => {
      const { servers } = request.body;
      const add = async (tx: Transaction, { account_id }: Scope) => {
        const account = await requireWritable(tx, account_id, any_contract);
        return addContractServers(tx, account, servers, (amount) =>
          countAdditions(tx, account_id, amount),
        );
      };
      return { added: await write(request, add, servers.length) };
    },
  });

  route('POST /servers/remove', {
    may: admins,
    record: true,
    find: requireChoice,
    id: 'remove_servers',
    summary: 'Take servers off the contract, all or none',
    body: Servers,
    answer: Named('RemovedServers', { removed: Integer('How many are off the contract.') }),
    statuses: { 409: 'One of them is not on the contract.' },
    handle: async (request) => {
      const { servers } = request.body;
      const remove = async (tx: Transaction, { account_id }: Scope) => {
        const account = await requireWritable(tx, account_id, any_contract);
        await removeContractServers(tx, account, servers);
      };
      await write(request, remove, servers.length);
      return { removed: servers.length };
    },
  });
}
