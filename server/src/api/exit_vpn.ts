// The VPN services of an exit IP, for pages and operators; /v0 does not show them.
import { isIPv4 } from 'node:net';
import { Type } from 'typebox';
import { OneOf, Strict } from '../http/fields.ts';
import type { VpnHealth } from '../nodes/nodes.ts';
import { type HealthStatus, type Server, servicesOf } from '../servers/servers.ts';
import { ExitIp } from './account/servers.ts';

const { status, status_time } = ExitIp.properties;

export const ExitVpn = Type.Array(
  Strict({
    service: OneOf(['vpn-ikev2', 'vpn-ikev1', 'vpn-l2tp'], 'As clients begin.'),
    status,
    status_time,
  }),
  { description: 'The VPN services of the server at this address; none at one of IPv6.' },
);

/** Each VPN service of the server, also those without a recent report. */
export function presentExitVpn(server: Server, exit_ip: string, health: VpnHealth) {
  if (!isIPv4(exit_ip)) return [];
  const offered = servicesOf(server).filter((service) => service.startsWith('vpn'));
  return offered.map((service) => {
    const unknown = { status: 'unknown' as HealthStatus, status_time: 0 };
    const { status, status_time } = health.find(exit_ip, service) ?? unknown;
    return { service, status, status_time };
  });
}
