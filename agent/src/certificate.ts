// The certificate of the TLS ports, from its files: loaded again when they change, and watched for
// its expiry.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { renewalDue, requirePair, type Validity, validityOf } from '../../kit/src/certificate.ts';
import type { Config } from './config.ts';
import type { Fault } from './faults.ts';

export interface KeyPair {
  cert: string;
  key: string;
}

const daySeconds = 86_400;
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----\n?/g;

export interface CertificateEnd {
  expiry: number;
  isSoon: boolean;
}

export class Certificate {
  readonly #files: Config['tls'];
  /** ACME will create the files. */
  readonly #isAwaited: boolean;
  /** Epoch seconds. */
  readonly #now: () => number;
  #current: (KeyPair & Validity) | undefined;
  #fault: string | undefined;

  constructor({ tls, acme }: Pick<Config, 'tls' | 'acme'>, now: () => number) {
    this.#files = tls;
    this.#isAwaited = acme !== undefined;
    this.#now = now;
  }

  /** The last good pair. */
  get current(): KeyPair | undefined {
    return this.#current;
  }

  /** The current fault of the files, as a sentence. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** When the certificate in use expires, in epoch seconds, and whether that is soon or past. */
  get end(): CertificateEnd | undefined {
    if (!this.#current) return undefined;
    return {
      expiry: this.#current.not_after,
      isSoon: this.#now() >= renewalDue(this.#current),
    };
  }

  /** The expiry of the certificate in use, if that is soon or past. */
  faults(): Fault[] {
    if (!this.end?.isSoon || !this.#files) return [];
    const { expiry } = this.end;
    const remainingSeconds = expiry - this.#now();
    const ends = timeOf(expiry);
    const says =
      remainingSeconds <= 0
        ? `expired at ${ends}: clients that verify it do not connect`
        : `expires at ${ends}, in ${Math.floor(remainingSeconds / daySeconds)} days`;
    const subject = this.#files.cert_file;
    return [{ kind: 'certificate', subject, message: `The certificate of ${subject} ${says}.` }];
  }

  /**
   * Reads the files, and returns whether they contain another good pair. A pair that is not valid
   * now does not replace another one; `isServed` says that another process serves one.
   */
  async renew(isServed = false): Promise<boolean> {
    if (!this.#files) {
      this.#fault =
        'set EXITWARD_AGENT_ACME, or EXITWARD_AGENT_TLS_CERT and EXITWARD_AGENT_TLS_KEY.';
      return false;
    }
    const { cert_file, key_file } = this.#files;
    try {
      const [text, key] = await Promise.all([
        readFile(cert_file, 'utf8'),
        readFile(key_file, 'utf8'),
      ]);
      // One file may contain both; the key is separated from the certificate.
      const cert = text.replace(privateKey, '');
      const isNew = cert !== this.#current?.cert || key !== this.#current.key;
      if (isNew) {
        // Between two writes the files may not match.
        requirePair({ cert, key });
        const validity = this.#validityOf(cert, isServed || this.#current !== undefined);
        this.#current = { cert, key, ...validity };
      }
      this.#fault = undefined;
      return isNew;
    } catch (error) {
      if (this.#isAwaited && (error as NodeJS.ErrnoException).code === 'ENOENT') {
        this.#fault = 'the first one from ACME has not arrived yet.';
        return false;
      }
      this.#fault = `${cert_file} and ${key_file} cannot be used: ${(error as Error).message}.`;
      return false;
    }
  }

  /** Errors: it is not valid now, and `mustBeValid`. */
  #validityOf(cert: string, mustBeValid: boolean): Validity {
    const { validFrom, validTo } = new X509Certificate(cert);
    const validity = validityOf(validFrom, validTo);
    const { not_before, not_after } = validity;
    if (mustBeValid && not_after <= this.#now()) {
      throw new Error(`the certificate expired at ${timeOf(not_after)}`);
    }
    if (mustBeValid && not_before > this.#now()) {
      throw new Error(`the certificate is valid from ${timeOf(not_before)} only`);
    }
    return validity;
  }
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
