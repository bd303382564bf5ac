// Renews the certificate of the TLS ports by ACME, for the server's hostname. Failures become
// faults.
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { Answers } from '../../kit/src/acme/answers.ts';
import { Renewal } from '../../kit/src/acme/renewal.ts';
import { makeFolderDurably, replaceDurably } from '../../kit/src/durable.ts';
import { readPrivate } from '../../kit/src/private_files.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Fault } from './faults.ts';
import { ServerHostname } from './store/hostname.ts';
import { version } from './version.ts';

export interface RenewedCertificateOptions {
  config: Config;
  /** Where the store keeps the policy. */
  dir: string;
  clock: Clock;
  log: Logger;
}

const lookSeconds = 10;
/** The interval at the start, until there is a policy. */
const firstLookSeconds = 1;

export class RenewedCertificate {
  readonly #options: RenewedCertificateOptions;
  #renewal: Renewal | undefined;
  #names: string[] | undefined;

  constructor(options: RenewedCertificateOptions) {
    this.#options = options;
    this.#names = options.config.acme?.names;
  }

  /**
   * Maintains the certificate files in the settings until the signal is aborted. Errors: one
   * sentence if their folder cannot be used.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { config, dir, clock } = this.#options;
    const hostname = new ServerHostname(dir);
    try {
      this.#renewal ??= this.#start();
      while (!signal.aborted) {
        if (!config.acme?.names) {
          await hostname.look();
          this.#names = hostname.current === undefined ? undefined : [hostname.current];
        }
        const pause = this.#names ? lookSeconds : firstLookSeconds;
        await clock.sleep(pause, signal);
      }
    } finally {
      hostname.close();
      await this.#renewal?.stop();
      this.#renewal = undefined;
    }
  }

  faults(): Fault[] {
    const { last_error, next_try } = this.#renewal?.status() ?? {};
    if (!last_error || !next_try) return [];
    const next = new Date(next_try * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
    const message = `No new certificate: ${last_error} The next try is at ${next}.`;
    return [{ kind: 'certificate', subject: this.#names?.join() ?? 'ACME', message }];
  }

  #start(): Renewal {
    const { config, clock, log } = this.#options;
    if (!config.acme || !config.tls) throw new Error('ACME is off');
    const folder = dirname(config.tls.cert_file);
    makeFolderDurably(folder);
    const now = () => clock.now();
    const renewal = new Renewal({
      settings: config.acme,
      names: () => this.#names,
      folder: {
        read: (name) => {
          try {
            return readPrivate(join(folder, name));
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
            throw error;
          }
        },
        write: (name, text) => replaceDurably(join(folder, name), text),
      },
      answers: new Answers(config.acme.listen, now),
      user_agent: `exitward-agent/${version}`,
      // Without a certificate the ports have a fault of their own, and clients would reject a
      // placeholder.
      placeholder: false,
      now,
      log,
    });
    renewal.start();
    return renewal;
  }
}
