// The TLS certificate: read, checked, reloaded when its files change, and reported on. With ACME, a
// renewal updates the files.

import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Server, TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { type AlpnOffer, Answers } from '../../../kit/src/acme/answers.ts';
import type { AcmeCode } from '../../../kit/src/acme/problems.ts';
import { clockSeconds } from '../../../kit/src/acme/protocol.ts';
import { type Folder, Renewal } from '../../../kit/src/acme/renewal.ts';
import { readFacts } from '../../../kit/src/acme/x509.ts';
import { renewalDue, requirePair, Trust } from '../../../kit/src/certificate.ts';
import { makeFolderDurably, replaceDurably } from '../../../kit/src/durable.ts';
import { ownedByLog } from '../../../kit/src/owner.ts';
import { readPrivate } from '../../../kit/src/private_files.ts';
import type { Clock } from '../clock.ts';
import { type Config, hostOf, isLoopback } from '../config.ts';
import { version } from '../values/version.ts';

export interface TlsFiles {
  cert_file: string;
  key_file: string;
}

/** Both as PEM; the chain follows the certificate. */
export interface Certificate {
  cert: Buffer;
  key: Buffer;
}

/** The options of a listener with TLS. */
export interface TlsOptions extends Certificate {
  ALPNCallback?: (this: TLSSocket, offer: AlpnOffer) => string | undefined;
}

export interface CertificateStatus {
  /** `self_signed`: used until the first certificate by ACME arrives. */
  source: 'file' | 'acme' | 'self_signed';
  names: string[];
  /** Epoch seconds. */
  not_after: number;
  /** From then on it ends soon: it should have been renewed. */
  renewal_due: number;
  last_error: string | null;
  /** The error code of ACME. */
  last_error_code: AcmeCode | null;
  /** When the certificate authority is contacted next, in epoch seconds. */
  next_try: number | null;
  /** Why clients that verify the certificate reject it, as a sentence. */
  rejection: string | null;
}

const lookMs = 1000;

export class ServedCertificate {
  readonly #files: TlsFiles;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #answers: Answers | undefined;
  readonly #renewal: Renewal | undefined;
  #current: Certificate;
  readonly #host: string;
  readonly #trust = new Trust();
  #servers: Server[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The state of the files at the last look. */
  #looked = '';
  #fault: string | undefined;

  /**
   * Undefined: there is no TLS. Errors: one sentence when the files cannot be read or do not belong
   * together.
   */
  static open(config: Config, clock: Clock, log: Logger): ServedCertificate | undefined {
    return config.tls && new ServedCertificate(config.tls, config, clock, log);
  }

  private constructor(files: TlsFiles, { acme, public_url }: Config, clock: Clock, log: Logger) {
    this.#files = files;
    this.#host = hostOf(public_url);
    this.#clock = clock;
    this.#log = log;
    if (acme) {
      const now = () => clock.now();
      this.#answers = new Answers(acme.listen, now);
      this.#renewal = new Renewal({
        settings: acme,
        names: () => acme.names,
        folder: privateFolder(dirname(files.cert_file)),
        answers: this.#answers,
        user_agent: `exitward/${version}`,
        placeholder: true,
        now,
        log,
      });
    }
    this.#current = readCertificate(files);
  }

  /** The options for a new listener. */
  get options(): TlsOptions {
    const answers = this.#answers;
    if (!answers) return this.#current;
    return {
      ...this.#current,
      ALPNCallback(offer) {
        return answers.chooseProtocol(this, offer);
      },
    };
  }

  /**
   * From now on these open listeners get each new certificate; connections continue. Then ACME
   * begins.
   */
  showOn(servers: Server[]): void {
    this.#servers = servers;
    this.#timer = setInterval(
      ownedByLog(this.#log)(() => this.#look()),
      lookMs,
    );
    this.#timer.unref();
    this.#renewal?.start();
  }

  /**
   * The certificate in use; undefined while it is self-signed, which proves nothing to a device.
   */
  get issued(): Certificate | undefined {
    const { is_self_signed } = readFacts(this.#current.cert.toString());
    return is_self_signed ? undefined : this.#current;
  }

  status(): CertificateStatus {
    const facts = readFacts(this.#current.cert.toString());
    const { names, not_after, is_self_signed } = facts;
    const reason = this.#trust.rejection;
    // Until the first certificate by ACME, `source` says it.
    const isAwaited = this.#renewal && is_self_signed;
    const rejection =
      reason === undefined || isAwaited
        ? null
        : `Clients that verify the certificate reject it: ${reason}.`;
    const certificate = { names, not_after, renewal_due: renewalDue(facts), rejection };
    const fault = this.#fault ?? null;
    if (!this.#renewal) {
      const none = { last_error_code: null, next_try: null };
      return { source: 'file', ...certificate, last_error: fault, ...none };
    }
    const { last_error, last_error_code, next_try } = this.#renewal.status();
    const source = is_self_signed ? 'self_signed' : 'acme';
    return { source, ...certificate, last_error: last_error ?? fault, last_error_code, next_try };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewal?.stop();
  }

  async #look(): Promise<void> {
    this.#reload();
    if (!isLoopback(this.#host)) await this.#trust.judge(this.#current, this.#host);
  }

  /**
   * A certificate that cannot be used, or not yet, is reported, and the old one stays. The first
   * look reads the files.
   */
  #reload(): void {
    const state = [this.#files.cert_file, this.#files.key_file].map(stateOf).join(' ');
    if (state === this.#looked) return;
    this.#looked = state;
    try {
      const certificate = readCertificate(this.#files);
      const { cert, key } = this.#current;
      if (!certificate.cert.equals(cert) || !certificate.key.equals(key)) {
        this.#requireTimely(certificate);
        for (const server of this.#servers) server.setSecureContext(certificate);
        this.#current = certificate;
        this.#log.info('the TLS certificate was reloaded');
      }
      this.#fault = undefined;
    } catch (error) {
      this.#fault = (error as Error).message;
      this.#log.error({ err: error }, 'the new TLS certificate is not usable; the old one stays');
    }
  }

  /** Errors: it is not valid now, and the one in use is. */
  #requireTimely(certificate: Certificate): void {
    const now = this.#clock.now();
    const isTimely = ({ cert }: Certificate) => {
      const { not_before, not_after } = readFacts(cert.toString());
      // A clock that is slightly off is no reason to reject it.
      return now + clockSeconds >= not_before && now < not_after;
    };
    if (isTimely(certificate) || !isTimely(this.#current)) return;
    throw new Error(
      `The TLS certificate ${this.#files.cert_file} is not valid now, by the clock of this machine.`,
    );
  }
}

/** A folder, and files in it, that only this user can read. */
function privateFolder(path: string): Folder {
  makeFolderDurably(path);
  return {
    read: (name) => {
      try {
        return readPrivate(join(path, name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: (name, text) => replaceDurably(join(path, name), text),
  };
}

/** Errors: one sentence when the files cannot be read or do not belong together. */
export function readCertificate({ cert_file, key_file }: TlsFiles): Certificate {
  let read: Certificate;
  try {
    read = { cert: readFileSync(cert_file), key: readFileSync(key_file) };
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    throw new Error(`The TLS file ${path ?? cert_file} cannot be read (${code}).`);
  }
  try {
    requirePair(read);
  } catch (error) {
    throw new Error(
      `The TLS certificate ${cert_file} and key ${key_file} are no pair: ${(error as Error).message}.`,
    );
  }
  return read;
}

/** Changes whenever a file may have been written or replaced. */
function stateOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code}`;
  }
}
