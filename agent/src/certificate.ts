// The certificate of the TLS ports, as its files have it: loaded again when they change.
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Config } from './config.ts';

export interface KeyPair {
  cert: string;
  key: string;
}

export class Certificate {
  readonly #files: Config['tls'];
  #current: KeyPair | undefined;
  #fault: string | undefined;

  constructor(files: Config['tls']) {
    this.#files = files;
  }

  /** The last good one. */
  get current(): KeyPair | undefined {
    return this.#current;
  }

  /** The faults of the files now, a sentence each. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Reads the files, and answers whether they hold another pair that is good. */
  async renew(): Promise<boolean> {
    if (!this.#files) {
      this.#fault = 'set EXITWARD_AGENT_TLS_CERT and EXITWARD_AGENT_TLS_KEY.';
      return false;
    }
    try {
      const [cert, key] = await Promise.all([
        readFile(this.#files.cert_file, 'utf8'),
        readFile(this.#files.key_file, 'utf8'),
      ]);
      const isNew = cert !== this.#current?.cert || key !== this.#current.key;
      // Between two writes the files do not fit each other.
      if (isNew) createSecureContext({ cert, key });
      this.#current = { cert, key };
      this.#fault = undefined;
      return isNew;
    } catch (error) {
      const { cert_file, key_file } = this.#files;
      this.#fault = `${cert_file} and ${key_file} cannot be used: ${(error as Error).message}.`;
      return false;
    }
  }
}
