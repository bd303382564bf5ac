// The connections that charon offers: for each service and exit one, all by the same rules.
import type { ServerValue } from '../policy/records.ts';
import { sharedKey, type VpnService, vpnServices } from '../vpn_password.ts';
import type { ViciMessage } from './vici.ts';

/** Of current clients. Windows needs to be told to offer the first two; 1024-bit groups are never taken. */
const ikeProposals = [
  'aes256gcm16-prfsha384-ecp384',
  'aes256gcm16-prfsha256-ecp256',
  'aes256gcm16-prfsha256-curve25519',
  'aes256-sha256-ecp256',
  'aes256-sha256-modp2048',
];
const espProposals = ['aes256gcm16', 'aes256-sha256'];
const version = { 'vpn-ikev2': '2', 'vpn-ikev1': '1' } as const;

export type ServedService = keyof typeof version;

/** The VPN services of a server that a node serves. */
export function servedServices({ services }: Pick<ServerValue, 'services'>): ServedService[] {
  return vpnServices.filter(
    (one): one is ServedService => one in version && services.includes(one),
  );
}

/** The service that a connection of charon belongs to. */
export function serviceOf(connection: string): VpnService | undefined {
  return vpnServices.find((service) => connection.startsWith(`${service} `));
}

/** The name of the pool from which charon hands out what RADIUS does not tell: name servers, and IPv6 that goes nowhere. */
export const extraPool = 'exitward';

/** The connections that charon is to offer, by name. `certificates`: the node's own in PEM, its chain behind it. */
export function connectionsOf(
  server: ServerValue,
  exits: readonly string[],
  certificates: readonly string[],
): Map<string, ViciMessage> {
  const connections = new Map<string, ViciMessage>();
  for (const service of servedServices(server)) {
    for (const exit of exits) {
      connections.set(`${service} ${exit}`, connectionOf(service, exit, server, certificates));
    }
  }
  return connections;
}

function connectionOf(
  service: ServedService,
  exit: string,
  server: ServerValue,
  certificates: readonly string[],
): ViciMessage {
  const authentication: ViciMessage =
    service === 'vpn-ikev2'
      ? {
          local: { auth: 'pubkey', id: server.hostname, certs: certificates.slice(0, 1) },
          remote: { auth: 'eap-radius', id: '%any', eap_id: '%any' },
        }
      : {
          local: { auth: 'psk', id: server.hostname },
          remote: { auth: 'psk', id: '%any' },
          'remote-2': { auth: 'xauth-radius' },
        };
  return {
    version: version[service],
    local_addrs: [exit],
    remote_addrs: ['%any'],
    proposals: ikeProposals,
    pools: ['radius', extraPool],
    fragmentation: 'yes',
    send_cert: 'always',
    // The same user may have several devices.
    unique: 'never',
    mobike: service === 'vpn-ikev2' ? 'yes' : 'no',
    dpd_delay: '30s',
    rekey_time: '4h',
    ...authentication,
    children: {
      net: {
        local_ts: ['0.0.0.0/0', ...(service === 'vpn-ikev2' ? ['::/0'] : [])],
        esp_proposals: espProposals,
        rekey_time: '1h',
        dpd_action: 'clear',
      },
    },
  };
}

/** The secret ahead of the password, which IKEv1 asks for. */
export function sharedSecret({ vpn_key, hostname }: ServerValue): ViciMessage | undefined {
  if (vpn_key === undefined) return undefined;
  return { id: 'exitward', type: 'ike', data: sharedKey(vpn_key), owners: [hostname] };
}

/** The certificates of a file in PEM, each on its own. */
export function certificatesOf(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}
