// The offer of charon and the L2TP daemons, and the tunnels that they carry.
import { isIPv4 } from 'node:net';
import { canonicalAddress } from '../../../kit/src/address.ts';
import { certificatesOf } from '../../../kit/src/certificate.ts';
import type { ServerValue } from '../../../kit/src/node_interface.ts';
import type { VpnService } from '../../../kit/src/vpn_password.ts';
import { ownAddresses } from '../address.ts';
import type { Certificate, KeyPair } from '../certificate.ts';
import type { Config, VpnSettings } from '../config.ts';
import type { Charon } from './charon.ts';
import { connectionsOf, ipv6Pool, servedServices, serviceOf, sharedSecret } from './connections.ts';
import type { L2tp } from './l2tp.ts';
import { canCarryIpv6, findLackOfL2tp, isOnlyAddress, type Lack, mayCarryPpp } from './machine.ts';
import type { Tunnel, TunnelClient, TunnelEnds } from './sessions.ts';
import { Refused, type ViciMessage } from './vici.ts';
import { vpnFirewallRules } from './vpn_firewall.ts';

/** Everything that should be served now, and that the machine can serve. */
export interface Offer {
  server: ServerValue | null;
  services: VpnService[];
  /** The IPv4 exits that the machine has. */
  exits: string[];
  l2tp_exits: string[];
  /** Why vpn-l2tp is left out, if it is. */
  lack_of_l2tp: Lack | undefined;
  /** The firewall rules. */
  rules: string;
}

/** SMTP: mail servers refuse mail from such addresses, and operators get complaints. */
const refusedPorts = [25];

export function offerOf(server: ServerValue | null, { vpn, allowed }: Config): Offer {
  const localAddresses = ownAddresses();
  const exits = (server?.exit_ips ?? [])
    .map(({ ip }) => ip)
    .filter((ip) => isIPv4(ip) && localAddresses.has(ip));
  const listed = server ? servedServices(server) : [];
  const lack_of_l2tp = listed.includes('vpn-l2tp') ? findLackOfL2tp(vpn) : undefined;
  const services = lack_of_l2tp ? listed.filter((service) => service !== 'vpn-l2tp') : listed;
  const l2tp_exits = services.includes('vpn-l2tp') ? exits : [];
  const { pool, pool6, ipsec } = vpn;
  const rules = vpnFirewallRules({
    ...{
      pool,
      pool6,
      ipsec,
      has_ppp: mayCarryPpp(vpn),
      allowed,
      refused_ports: refusedPorts,
      l2tp_exits,
    },
  });
  return { server, services, exits, l2tp_exits, lack_of_l2tp, rules };
}

export interface ServingOptions {
  charon: Charon;
  l2tp: L2tp;
  certificate: Certificate;
  vpn: VpnSettings;
  /** Reports a subject's fault; undefined: it has none any more. */
  note: (subject: string, message: string | undefined) => void;
}

export class Serving {
  readonly #options: ServingOptions;
  /** The connections that charon has, by name. */
  readonly #offered = new Map<string, string>();
  /** The secrets that charon has, as JSON. */
  #secrets = '';

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  /** Serves exactly this offer. Errors: charon does not run, or refuses. */
  async offer(offer: Offer): Promise<void> {
    if (await this.#options.charon.start()) {
      this.#offered.clear();
      this.#secrets = '';
    }
    await this.#load(offer);
    await this.#offerL2tp(offer);
  }

  /**
   * All tunnels, by the client's address inside. `expected`: the addresses that had one. If one is
   * missing, the list is read again: new keys of IKE move a tunnel within charon's list while it is
   * read.
   */
  async tunnels(expected: readonly string[]): Promise<Map<string, Tunnel>> {
    const tunnels = await this.#listTunnels();
    if (expected.every((address) => tunnels.has(address))) return tunnels;
    return new Map([...tunnels, ...(await this.#listTunnels())]);
  }

  async #listTunnels(): Promise<Map<string, Tunnel>> {
    const { charon, l2tp } = this.#options;
    const tunnels = new Map<string, Tunnel>();
    for (const { address, exit_ip, source, pppd } of l2tp.links()) {
      const ends = { service: 'vpn-l2tp', exit_ip, address: source } as const;
      tunnels.set(address, { pppd, ends });
    }
    for (const event of await charon.list('list-sas', 'list-sa')) {
      for (const [connection, tunnel] of Object.entries(event) as Array<[string, ViciMessage]>) {
        const { uniqueid, 'remote-vips': addresses = [] } = tunnel;
        const address = (addresses as string[]).find((ip) => isIPv4(ip));
        if (address === undefined) continue;
        const client = clientIn(connection, tunnel);
        tunnels.set(address, { ike: String(uniqueid), client, ends: endsOf(connection, tunnel) });
      }
    }
    return tunnels;
  }

  /** Ends a tunnel, which informs its client; it may be gone. Errors: charon is silent. */
  async end(tunnel: Tunnel): Promise<void> {
    try {
      if ('pppd' in tunnel) process.kill(tunnel.pppd, 'SIGTERM');
      else {
        const tunnelOfIke = { 'ike-id': tunnel.ike, force: 'yes', timeout: '-1' };
        await this.#options.charon.command('terminate', tunnelOfIke);
      }
    } catch (error) {
      const isGone = error instanceof Refused || (error as NodeJS.ErrnoException).code === 'ESRCH';
      if (!isGone) throw error;
    }
  }

  /** Stops the daemons, and with them their tunnels. */
  async stop(): Promise<void> {
    const { charon, l2tp } = this.#options;
    await Promise.all([charon.stop(), l2tp.stop()]);
  }

  /** Disconnects from the daemons, which keep running. */
  close(): void {
    const { charon, l2tp } = this.#options;
    charon.close();
    l2tp.close();
  }

  /** Gives charon missing certificates, secrets and connections, and removes old ones. */
  async #load({ server, services, exits }: Offer): Promise<void> {
    const { charon, certificate, vpn, note } = this.#options;
    await certificate.renew();
    const { current, fault } = certificate;
    const isMissing = services.length > 0 && !current;
    note('certificate', isMissing ? `The VPN has no certificate: ${fault}` : undefined);
    const certificates = certificatesOf(current?.cert ?? '');
    const wanted: Map<string, ViciMessage> =
      server && current
        ? connectionsOf(server, services, exits, {
            ...{ certificates, isOnlyAddress },
            hasIpv6: canCarryIpv6(vpn),
          })
        : new Map();
    const secrets = JSON.stringify([server?.vpn_key, server?.hostname, current?.cert]);
    if (current && server && secrets !== this.#secrets) {
      await this.#giveSecrets(server, current);
      this.#offered.clear();
      this.#secrets = secrets;
    }
    // Has connections of an earlier agent; those that something else removed are added again.
    const { conns = [] } = await charon.command('get-conns');
    for (const [name, connection] of wanted) {
      const text = JSON.stringify(connection);
      if ((conns as string[]).includes(name) && this.#offered.get(name) === text) continue;
      await charon.command('load-conn', { [name]: connection });
      this.#offered.set(name, text);
    }
    for (const name of conns as string[]) {
      if (wanted.has(name)) continue;
      await charon.command('unload-conn', { name });
      this.#offered.delete(name);
    }
  }

  async #giveSecrets(server: ServerValue, { cert, key }: KeyPair): Promise<void> {
    const { charon, vpn } = this.#options;
    await charon.command('clear-creds');
    for (const data of certificatesOf(cert)) {
      await charon.command('load-cert', { type: 'X509', flag: 'NONE', data });
    }
    await charon.command('load-key', { type: 'any', data: key });
    const shared = sharedSecret(server);
    if (shared) await charon.command('load-shared', shared);
    await charon.command('load-pool', { [ipv6Pool]: { addrs: vpn.pool6 } });
  }

  /** A fault of L2TP does not affect the other services. */
  async #offerL2tp({ l2tp_exits, lack_of_l2tp: lack }: Offer): Promise<void> {
    const { l2tp, note } = this.#options;
    let fault = lack && `${lack.sentence}: ${lack.remedy}`;
    try {
      await l2tp.offer(l2tp_exits);
    } catch (error) {
      fault = (error as Error).message;
    }
    note('vpn-l2tp', fault && `vpn-l2tp is not served: ${fault}.`);
  }
}

function endsOf(connection: string, tunnel: ViciMessage): TunnelEnds | undefined {
  const service = serviceOf(connection);
  const address = canonicalAddress(String(tunnel['remote-host'] ?? ''));
  if (!service || address === undefined) return undefined;
  return { service, exit_ip: connection.slice(service.length + 1), address };
}

/** Undefined: its connection has no XAuth login, or is about to end. */
function clientIn(connection: string, tunnel: ViciMessage): TunnelClient | undefined {
  const login = tunnel['remote-xauth-id'];
  if (tunnel.state !== 'ESTABLISHED' || typeof login !== 'string') return undefined;
  const [source, source_port] = [String(tunnel['remote-host']), String(tunnel['remote-port'])];
  return { connection, login, source, source_port };
}
