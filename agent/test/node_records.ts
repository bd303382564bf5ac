// Records, certificates and tokens of a node under test; apart from the worlds that need a test
// runner.
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import type { NodeRecord, PublicKey } from '../src/policy/records.ts';

export const now = () => systemClock.now();
export const hour = 3600;

export const contractRecord = (account: number, change: object = {}): NodeRecord => ({
  kind: 'contract',
  account,
  value: {
    name: `contract${account}`,
    expiry: now() + hour,
    suspended: false,
    blocked: false,
    port_scheme: 'default',
    ...change,
  },
});

/** User 1 of each account is alice, user 2 bob. */
export const userRecord = (account: number, change: object = {}, id = 1): NodeRecord => ({
  kind: 'user',
  account,
  id,
  value: {
    name: id === 1 ? 'alice' : 'bob',
    active: true,
    proxy: true,
    token_version: 1,
    ...change,
  },
});

export interface KeyPair {
  cert: string;
  key: string;
}

interface CertificateChain extends KeyPair {
  /** The root certificate, which clients trust. */
  authority: string;
}

/** Of one name or address, signed by itself. */
export function createCertificate(name: string, algorithm: 'ec' | 'rsa' = 'ec'): KeyPair {
  return inTemporaryFolder((folder) =>
    issue(folder, 'leaf', name, alternativeName(name), undefined, algorithm),
  );
}

/**
 * Of one name or address, signed by an intermediate authority, as public authorities do; `cert` is
 * both certificates.
 */
export function createCertificateChain(name: string): CertificateChain {
  return inTemporaryFolder((folder) => {
    const root = issue(folder, 'root', 'Root', isAuthority);
    const intermediate = issue(folder, 'intermediate', 'Intermediate', isAuthority, 'root');
    const { cert, key } = issue(folder, 'leaf', name, alternativeName(name), 'intermediate');
    return { authority: root.cert, cert: cert + intermediate.cert, key };
  });
}

const isAuthority = 'basicConstraints=critical,CA:TRUE';
const alternativeName = (name: string) =>
  `subjectAltName=${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`;

function inTemporaryFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * `file` and `issuer` are names of files in the folder, without an ending. Without an issuer the
 * certificate signs itself.
 */
function issue(
  folder: string,
  file: string,
  name: string,
  extension: string,
  issuer?: string,
  algorithm: 'ec' | 'rsa' = 'ec',
): KeyPair {
  const [crt, key] = [join(folder, `${file}.crt`), join(folder, `${file}.key`)];
  const by = issuer === undefined ? [] : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', algorithm, '-nodes'],
      ...(algorithm === 'ec' ? ['-pkeyopt', 'ec_paramgen_curve:prime256v1'] : []),
      ...['-keyout', key, '-out', crt, '-days', '90', '-subj', `/CN=${name}`],
      ...['-addext', extension, ...by],
    ],
    { cwd: folder, stdio: 'ignore' },
  );
  return { cert: readFileSync(crt, 'utf8'), key: readFileSync(key, 'utf8') };
}

export interface SigningKey {
  public: PublicKey;
  private: KeyObject;
}

export function createSigningKey(kid: string): SigningKey {
  const pair = generateKeyPairSync('ed25519');
  const public_key = pair.publicKey.export({ format: 'jwk' }).x as string;
  return { public: { kid, public_key }, private: pair.privateKey };
}

/** Signs as the control plane does: `[format, kid, account, user, token_version, expiry]`. */
export function signToken(
  key: SigningKey,
  values: readonly unknown[] = [1, key.public.kid, 1, 1, 1, 1_800_000_060],
): string {
  const payload = Buffer.from(JSON.stringify(values)).toString('base64url');
  return `ewt_${payload}.${sign(null, Buffer.from(payload), key.private).toString('base64url')}`;
}
