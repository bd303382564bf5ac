// /admin/servers: a server of the network and its exit IPs.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../context.ts';
import { accountsOfServer } from '../../contract_servers/contract_servers.ts';
import type { Reader } from '../../db/database.ts';
import { geoStatusesOfServer } from '../../geo/geo.ts';
import { Integer, Named, orNull, Strict, Timestamp } from '../../http/fields.ts';
import { requireChange } from '../../http/responses.ts';
import { created } from '../../http/route.ts';
import { vpnHealth } from '../../nodes/nodes.ts';
import {
  changeServer,
  confinementOf,
  createServer,
  exitIpsOfServer,
  portSchemesOfServer,
  removeExitIp,
  removeServer,
  renewVpnKey,
  requireServer,
  type Server,
  setExitIp,
} from '../../servers/servers.ts';
import { presentStatus, ServerPath } from '../account/servers.ts';
import { ExitVpn, presentExitVpn } from '../exit_vpn.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';
import { exitFields, serverFields } from './server_fields.ts';
import { listedFields, presentServer, serverListRoutes, standingOf } from './server_list.ts';

const { name: _, ...changeable } = serverFields;
const NewServerBody = Named('NewServer', {
  ...serverFields,
  port_schemes: Type.Optional(serverFields.port_schemes),
});
const ServerChangesBody = Named('ServerChanges', Type.Partial(Type.Object(changeable)).properties);

const OneServer = Named('ServerDetail', {
  ...listedFields,
  contracts: Integer('How many contracts it is on.'),
  certificate_expiry: Type.Union([Timestamp('By what the nodes say.'), Type.Null()], {
    description:
      'When the first certificate of a node with a VPN ends; null: no node reported one.',
  }),
  exit_ips: Type.Array(
    Strict({
      ...exitFields,
      status: Type.String({ description: 'ok, warn, crit or unknown.' }),
      status_time: Timestamp('Last status check; 0 if there was none.'),
      vpn: ExitVpn,
      confined: orNull(
        Type.String(),
        'Why no connection can leave from this address: a loopback or link-local one is no exit.',
      ),
      geostatus: Type.Array(
        Strict({
          provider: Type.String({ description: 'Third-party geo-IP provider.' }),
          status: Type.String({ description: 'ok, warn or crit.' }),
          status_time: Timestamp('Last location check.'),
          country: Type.Union([Type.String(), Type.Null()], {
            description: 'Where it sees the IP.',
          }),
          distance_km: Type.Union([Type.Number(), Type.Null()], { description: 'How far off.' }),
        }),
      ),
    }),
  ),
});

const ExitPath = Type.Object({
  ...ServerPath.properties,
  ip: Type.String({ description: 'Exit IP address.' }),
});
const ExitBody = Named('ExitIpSettings', { port_base: exitFields.port_base });

/** A server with all its details. */
async function presentWhole(ctx: Context, db: Reader, server: Server, now: number) {
  const { health_stale_seconds } = ctx.config;
  const [schemes, exits, geo, accounts, standing, vpn] = await Promise.all([
    portSchemesOfServer(db, server.id),
    exitIpsOfServer(db, server.id),
    geoStatusesOfServer(db, server.id),
    accountsOfServer(db, server.id),
    standingOf(ctx, db, now, [server.id]),
    vpnHealth(db, { server_id: server.id }, health_stale_seconds, now),
  ]);
  const names = schemes.map((scheme) => scheme.name);
  return {
    ...presentServer(server, names, standing(server)),
    contracts: accounts.length,
    certificate_expiry: vpn.certificate_expiry,
    exit_ips: exits.map((exit) => ({
      ...{ ip: exit.ip, port_base: exit.port_base, status_time: exit.status_time },
      status: presentStatus(exit, health_stale_seconds, now),
      vpn: presentExitVpn(server, exit.ip, vpn),
      confined: confinementOf(exit.ip),
      geostatus: geo.filter(({ ip }) => ip === exit.ip).map(({ ip: _, ...verdict }) => verdict),
    })),
  };
}

export function serverRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: servers');
  const find = ({ server }: ServerPath) => requireServer(ctx.db, server);

  route('POST /admin/servers', {
    summary: 'Add a server to the network',
    body: NewServerBody,
    created: OneServer,
    errors: [409],
    handle: async (request) => {
      const server = await operatorWrite(ctx, request, async (tx) =>
        presentWhole(ctx, tx, await createServer(tx, request.body), tx.now),
      );
      return created(`/admin/servers/${server.name}`, server);
    },
  });

  route('GET /admin/servers/:server', {
    summary: 'One server with its exit IPs, their health and geo-IP status',
    params: ServerPath,
    answer: OneServer,
    handle: async ({ params }) =>
      presentWhole(ctx, ctx.db, await requireServer(ctx.db, params.server), ctx.clock.now()),
  });

  route('PATCH /admin/servers/:server', {
    find,
    summary: 'Change what is known of a server',
    params: ServerPath,
    body: ServerChangesBody,
    answer: OneServer,
    errors: [409],
    handle: async (request) => {
      requireChange(request.body);
      return operatorWrite(ctx, request, async (tx) => {
        const before = await requireServer(tx, request.params.server);
        return presentWhole(ctx, tx, await changeServer(tx, before, request.body), tx.now);
      });
    },
  });

  route('POST /admin/servers/:server/vpn_key', {
    find,
    summary: 'Renew the VPN key of a server',
    description:
      'Its VPN passwords and shared keys become invalid, and tunnels that were opened with them end. Profiles have to be created again. Revoking a node does this, too.',
    params: ServerPath,
    answer: OneServer,
    handle: (request) =>
      operatorWrite(ctx, request, async (tx) => {
        const before = await requireServer(tx, request.params.server);
        return presentWhole(ctx, tx, await renewVpnKey(tx, before), tx.now);
      }),
  });

  route('DELETE /admin/servers/:server', {
    summary: 'Take a server out of the network, with its exit IPs and nodes',
    description: 'It must not be on a contract.',
    params: ServerPath,
    errors: [409],
    handle: (request) =>
      operatorWrite(ctx, request, async (tx) =>
        removeServer(tx, await requireServer(tx, request.params.server)),
      ),
  });
  serverListRoutes(app, ctx);
  exitRoutes(app, ctx);
}

function exitRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: servers');
  const find = ({ server }: ServerPath) => requireServer(ctx.db, server);

  route('PUT /admin/servers/:server/exits/:ip', {
    find,
    summary: 'Add an exit IP to a server, or move it to another port base',
    params: ExitPath,
    body: ExitBody,
    answer: OneServer,
    created: OneServer,
    errors: [409],
    handle: async (request) => {
      const { added, ip, value } = await operatorWrite(ctx, request, async (tx) => {
        const server = await requireServer(tx, request.params.server);
        const exit = { ip: request.params.ip, port_base: request.body.port_base };
        const set = await setExitIp(tx, server, exit);
        return { ...set, value: await presentWhole(ctx, tx, server, tx.now) };
      });
      return added ? created(`/admin/servers/${value.name}/exits/${ip}`, value) : value;
    },
  });

  route('DELETE /admin/servers/:server/exits/:ip', {
    summary: 'Remove an exit IP from a server',
    params: ExitPath,
    handle: (request) =>
      operatorWrite(ctx, request, async (tx) => {
        const { server, ip } = request.params;
        return removeExitIp(tx, await requireServer(tx, server), ip);
      }),
  });
}
