// Records, certificates and tokens of a node under test, for files that do not need a test runner,
// too.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { PublicKey } from '../../kit/src/node_interface.ts';
import { issueCertificate, type KeyPair } from '../../server/test/certificate.ts';
import { systemClock } from '../src/clock.ts';
import type { NodeRecord } from '../src/policy/records.ts';

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

interface CertificateChain extends KeyPair {
  /** The root certificate, which clients trust. */
  authority: string;
}

/** A self-signed certificate of one name or address. */
export function createCertificate(name: string, algorithm: 'ec' | 'rsa' = 'ec'): KeyPair {
  return issueCertificate(name, { algorithm });
}

/**
 * A certificate of one name or address, signed by an intermediate authority, as public authorities
 * do; `cert` has both certificates.
 */
export function createCertificateChain(name: string): CertificateChain {
  const root = issueCertificate('Root', { authority: true });
  const above = { name: 'Root', key: root.key };
  const intermediate = issueCertificate('Intermediate', { authority: true, issuer: above });
  const issuer = { name: 'Intermediate', key: intermediate.key };
  const { cert, key } = issueCertificate(name, { issuer });
  return { authority: root.cert, cert: cert + intermediate.cert, key };
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
