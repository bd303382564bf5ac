// Checks whether clients accept the certificate of the TLS ports and the VPN. If they do not, that
// is a fault, and the certificate stays in use.
import { Trust } from '../../kit/src/certificate.ts';
import { Certificate } from './certificate.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Fault } from './faults.ts';
import { ServerHostname } from './store/hostname.ts';

export interface CertificateTrustOptions {
  config: Pick<Config, 'tls' | 'acme'>;
  /** Where the store keeps the policy. */
  dir: string;
  /** Whether anything shows the certificate. */
  isShown: () => boolean;
  clock: Clock;
}

const lookSeconds = 10;

export const trustRemedy =
  'the file needs the whole chain (fullchain.pem of certbot) for that name; for an authority of your own: update-ca-certificates';

/** The name that clients dial. With ACME, nodes that share a hostname may have different names. */
export function dialledName({ acme }: Pick<Config, 'acme'>, hostname: string | undefined) {
  return acme?.names?.[0] ?? hostname;
}

export class CertificateTrust {
  readonly #options: CertificateTrustOptions;
  readonly #trust = new Trust();

  constructor(options: CertificateTrustOptions) {
    this.#options = options;
  }

  /** Looks until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { config, dir, clock } = this.#options;
    const certificate = new Certificate(config, () => clock.now());
    const hostname = new ServerHostname(dir);
    try {
      while (!signal.aborted) {
        await Promise.all([certificate.renew(), hostname.look()]);
        const host = dialledName(config, hostname.current);
        const { current } = certificate;
        if (current && host !== undefined) await this.#trust.judge(current, host);
        await clock.sleep(lookSeconds, signal);
      }
    } finally {
      hostname.close();
    }
  }

  faults(): Fault[] {
    const { config, isShown } = this.#options;
    const { rejection } = this.#trust;
    if (rejection === undefined || !config.tls || !isShown()) return [];
    const { cert_file } = config.tls;
    const message = `Clients that verify the certificate of ${cert_file} reject it: ${rejection}; ${trustRemedy}.`;
    return [{ kind: 'certificate', subject: `${cert_file} trust`, message }];
  }
}
