// An authority that issues certificates, and verifies what they signed: by openssl, in a folder of
// its own.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Issuer {
  readonly folder = mkdtempSync(join(tmpdir(), 'exitward-issuer-'));

  constructor() {
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const files = ['-keyout', 'ca.key', '-out', 'ca.pem'];
    this.#openssl('req', '-x509', ...kind, '-subj', '/CN=authority', ...files);
  }

  /** Files with a certificate, that of the authority behind it, and its key. */
  issue(kind: string, ...options: string[]): { cert_file: string; key_file: string } {
    const files = ['-keyout', 'key.pem', '-out', 'request.pem'];
    const key = ['-newkey', kind, ...options, '-nodes'];
    this.#openssl('req', '-new', ...key, '-subj', '/CN=exitward.example', ...files);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
    this.#openssl('x509', '-req', '-in', 'request.pem', ...by, '-out', 'own.pem');
    const read = (name: string) => readFileSync(this.pathOf(name), 'utf8');
    writeFileSync(this.pathOf('cert.pem'), `${read('own.pem')}${read('ca.pem')}`);
    return { cert_file: this.pathOf('cert.pem'), key_file: this.pathOf('key.pem') };
  }

  /** The content that is signed, in DER. Errors: the signature does not hold. */
  verified(der: Buffer): Buffer {
    writeFileSync(this.pathOf('signed'), der);
    const what = ['-inform', 'DER', '-in', 'signed', '-CAfile', 'ca.pem', '-purpose', 'any'];
    return this.#openssl('cms', '-verify', ...what);
  }

  pathOf(name: string): string {
    return join(this.folder, name);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #openssl(...args: string[]): Buffer {
    return execFileSync('openssl', args, { cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
