// Records, certificates and tokens of a node under test; apart from the worlds that need a test runner.
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

/** Of one name or address, signed by itself. */
export function createCertificate(name: string): KeyPair {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-certificate-'));
  const [crt, keyFile] = [join(dir, 'crt'), join(dir, 'key')];
  try {
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
        ...['-keyout', keyFile, '-out', crt, '-days', '90', '-subj', `/CN=${name}`],
        ...['-addext', `subjectAltName=${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`],
      ],
      { stdio: 'ignore' },
    );
    return { cert: readFileSync(crt, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } finally {
    rmSync(dir, { recursive: true });
  }
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
