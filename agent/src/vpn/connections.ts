// The connections that charon offers, one for each service and exit.

import type { ServerValue } from '../../../kit/src/node_interface.ts';
import { sharedKey, type VpnService, vpnServices } from '../../../kit/src/vpn_password.ts';
import { negotiation } from '../../../kit/src/vpn_proposals.ts';
import type { ViciMessage } from './vici.ts';

const { proposals, lifetimes } = negotiation.node;
const version = { 'vpn-ikev2': '2', 'vpn-ikev1': '1', 'vpn-l2tp': '1' } as const;

/** The VPN services of a server. */
export function servedServices({ services }: Pick<ServerValue, 'services'>): VpnService[] {
  return vpnServices.filter((service) => services.includes(service));
}

/** The version of IKE that a service speaks. */
export const ikeVersionOf = (service: VpnService) => version[service];

/** The service of one of charon's connections. */
export function serviceOf(connection: string): VpnService | undefined {
  return vpnServices.find((service) => connection.startsWith(`${service} `));
}

/** The properties of the machine that connections depend on. */
export interface Machine {
  /** The node's own in PEM, followed by its chain. */
  certificates: readonly string[];
  /** Tunnels may carry IPv6. */
  hasIpv6: boolean;
  /** Whether an exit is the only address that other machines reach. */
  isOnlyAddress: (exit: string) => boolean;
}

/** The pool of charon's IPv6 addresses, which are not routed. RADIUS assigns IPv4 addresses. */
export const ipv6Pool = 'exitward';

/** The connections that charon should offer, by name. */
export function connectionsOf(
  server: ServerValue,
  services: readonly VpnService[],
  exits: readonly string[],
  machine: Machine,
): Map<string, ViciMessage> {
  const connections = new Map<string, ViciMessage>();
  for (const service of services) {
    for (const exit of exits) {
      connections.set(`${service} ${exit}`, connectionOf(service, exit, server, machine));
    }
  }
  return connections;
}

function connectionOf(
  service: VpnService,
  exit: string,
  server: ServerValue,
  { certificates, hasIpv6, isOnlyAddress }: Machine,
): ViciMessage {
  const isL2tp = service === 'vpn-l2tp';
  const isOld = version[service] === '1';
  return {
    version: version[service],
    local_addrs: [exit],
    remote_addrs: ['%any'],
    proposals: proposals[service].ike,
    fragmentation: 'yes',
    send_cert: 'always',
    // A user may have several devices.
    unique: 'never',
    // With MOBIKE, charon sends clients all other addresses of the machine.
    mobike: service === 'vpn-ikev2' && isOnlyAddress(exit) ? 'yes' : 'no',
    dpd_delay: '30s',
    rekey_time: isOld ? '0' : `${lifetimes.ike}m`,
    ...authenticationOf(service, server, certificates),
    ...(isL2tp ? {} : { pools: hasIpv6 ? ['radius', ipv6Pool] : ['radius'] }),
    children: {
      net: {
        ...selectorsOf(service, hasIpv6),
        esp_proposals: proposals[service].esp,
        rekey_time: isOld ? '0' : `${lifetimes.esp}m`,
        dpd_action: 'clear',
      },
    },
  };
}

function authenticationOf(
  service: VpnService,
  { hostname }: ServerValue,
  certificates: readonly string[],
): ViciMessage {
  if (service === 'vpn-ikev2') {
    return {
      local: { auth: 'pubkey', id: hostname, certs: certificates.slice(0, 1) },
      remote: { auth: 'eap-radius', id: '%any', eap_id: '%any' },
    };
  }
  return {
    local: { auth: 'psk', id: hostname },
    remote: { auth: 'psk', id: '%any' },
    // L2TP asks for the password itself.
    ...(service === 'vpn-ikev1' ? { 'remote-2': { auth: 'xauth-radius' } } : {}),
  };
}

function selectorsOf(service: VpnService, hasIpv6: boolean): ViciMessage {
  if (service === 'vpn-l2tp') {
    return { mode: 'transport', local_ts: ['dynamic[udp/1701]'], remote_ts: ['dynamic[udp]'] };
  }
  return { local_ts: ['0.0.0.0/0', ...(service === 'vpn-ikev2' && hasIpv6 ? ['::/0'] : [])] };
}

/** The shared secret that IKEv1 needs before the password, alone and for L2TP. */
export function sharedSecret({ vpn_key, hostname }: ServerValue): ViciMessage | undefined {
  if (vpn_key === undefined) return undefined;
  return { id: 'exitward', type: 'ike', data: sharedKey(vpn_key), owners: [hostname] };
}
