// Checks each VPN service at each exit with a client's first message, and the certificate of the
// node.
import type { Logger } from 'pino';
import type {
  HealthStatus,
  VpnHealthReport,
  VpnServiceHealth,
} from '../../../kit/src/node_interface.ts';
import type { VpnService } from '../../../kit/src/vpn_password.ts';
import type { Clock } from '../clock.ts';
import type { OfferedVpn, VpnOffer } from '../engine.ts';
import type { Fault } from '../faults.ts';
import { askIke } from './ike.ts';

export interface VpnHealthOptions {
  /** Returns the VPN that should be served; undefined: none. */
  offer: () => VpnOffer | undefined;
  clock: Clock;
  log: Logger;
}

const maxAtOnce = 32;

interface Checked extends VpnServiceHealth {
  /** Why it does not respond. */
  reason: string | undefined;
}

const nameOf = ({ service, ip }: Pick<OfferedVpn, 'service' | 'ip'>) => `${service} ${ip}`;

export class VpnHealth {
  readonly #options: VpnHealthOptions;
  #services = new Map<string, Checked>();
  #isServed = false;
  #certificateExpiry: number | null = null;

  constructor(options: VpnHealthOptions) {
    this.#options = options;
  }

  /** Undefined: no VPN is served, or nothing has been checked yet. */
  report(): VpnHealthReport | undefined {
    if (!this.#isServed) return undefined;
    const services = Array.from(this.#services.values(), ({ reason: _, ...health }) => health);
    return { services, certificate_expiry: this.#certificateExpiry };
  }

  /** Services that do not respond. Faults of the certificate are reported where it is read. */
  faults(): Fault[] {
    return Array.from(this.#services).flatMap(([subject, { service, ip, reason }]) => {
      if (reason === undefined) return [];
      const message = `The service ${service} at ${ip} fails: ${reason}.`;
      return [{ kind: 'vpn' as const, subject, message }];
    });
  }

  /** One round. Returns whether the result differs from the last one. */
  async check(signal: AbortSignal): Promise<boolean> {
    const waiting = [...(this.#options.offer()?.services ?? [])];
    const reasons = new Map<string, string | undefined>();
    const work = async () => {
      for (let service = waiting.shift(); service && !signal.aborted; service = waiting.shift()) {
        reasons.set(nameOf(service), await this.#ask(service, signal));
      }
    };
    await Promise.all(Array.from({ length: maxAtOnce }, work));
    if (signal.aborted) return false;
    // The offer is read again: the certificate or the services may have changed during the checks.
    return this.#note(this.#options.offer(), reasons);
  }

  /** Why it does not respond; undefined if it does. */
  async #ask(
    { ip, version, isLacking }: OfferedVpn,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    // charon would respond for vpn-ikev1, which begins in the same way.
    if (isLacking) return 'see the other faults of the VPN';
    try {
      await askIke(ip, version, this.#options.clock, signal);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #note(offer: VpnOffer | undefined, reasons: ReadonlyMap<string, string | undefined>): boolean {
    const { clock, log } = this.#options;
    const before = this.#services;
    const expiry = offer?.certificate?.expiry ?? null;
    let isNews = this.#isServed !== (offer !== undefined) || this.#certificateExpiry !== expiry;
    this.#isServed = offer !== undefined;
    this.#certificateExpiry = expiry;
    this.#services = new Map();
    const now = clock.now();
    for (const { service, ip } of offer?.services ?? []) {
      const name = nameOf({ service, ip });
      if (!reasons.has(name)) continue;
      const reason = reasons.get(name);
      const status = reason === undefined ? this.#byCertificate(service, offer) : 'crit';
      const { status: was = 'unknown' } = before.get(name) ?? {};
      if (status !== was) {
        isNews = true;
        log.info({ service, exit_ip: ip, before: was, status, reason }, 'health of a VPN service');
      }
      this.#services.set(name, { service, ip, status, checked_at: now, reason });
    }
    return isNews || before.size !== this.#services.size;
  }

  /** The status of a service that responds. Only IKEv2 clients verify the certificate. */
  #byCertificate(service: VpnService, offer: VpnOffer | undefined): HealthStatus {
    if (service !== 'vpn-ikev2') return 'ok';
    const { expiry = 0, isSoon = true } = offer?.certificate ?? {};
    if (this.#options.clock.now() >= expiry) return 'crit';
    return isSoon ? 'warn' : 'ok';
  }
}
