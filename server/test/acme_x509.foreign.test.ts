// The X.509 structures of ACME, as OpenSSL reads them.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { renewalTime } from '../../kit/src/acme/renewal.ts';
import { certificateRequest, readFacts, selfSigned } from '../../kit/src/acme/x509.ts';

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const openssl = (args: string[], input: Buffer | string) =>
  execFileSync('openssl', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });

/** So many that lengths of more than one byte come up. */
const many = Array.from({ length: 100 }, (_, index) => `node-${index}.a-long-name.example.net`);

test.each([[['a.example']], [many]])(
  'a request for a certificate is signed by its key and has all names',
  (names) => {
    const request = certificateRequest(names, keys);
    const text = openssl(['req', '-inform', 'DER', '-text', '-noout'], request);
    for (const name of names) expect(text).toContain(`DNS:${name}`);
    expect(text).toContain('ecdsa-with-SHA256');
    const verified = (bytes: Buffer) =>
      spawnSync('openssl', ['req', '-inform', 'DER', '-verify', '-noout'], { input: bytes });
    expect(verified(request).stderr.toString()).toMatch(/verify OK/);
    const broken = Buffer.from(request);
    broken[broken.length - 5] = (broken.at(-5) ?? 0) ^ 1;
    expect(verified(broken).stderr.toString()).not.toMatch(/verify OK/);
  },
);

test('the response to tls-alpn-01 has its digest in an extension that is critical', () => {
  const times = { not_before: 1_800_000_000, not_after: 2_600_000_000 };
  const key_authorization = 'token.thumbprint';
  const pem = selfSigned({ names: ['a.example'], keys, ...times, key_authorization });
  const text = openssl(['x509', '-text', '-noout'], pem);
  expect(text).toMatch(/1\.3\.6\.1\.5\.5\.7\.1\.31: critical/);
  const digest = createHash('sha256').update(key_authorization).digest('hex');
  const parsed = openssl(['asn1parse'], pem);
  expect(parsed).toContain(`[HEX DUMP]:0420${digest.toUpperCase()}`);
  const facts = { names: ['a.example'], ...times, is_self_signed: true };
  expect(readFacts(pem)).toMatchObject(facts);
});

test('a certificate without the extension is no such response', () => {
  const times = { not_before: 1_800_000_000, not_after: 1_900_000_000 };
  const text = openssl(
    ['x509', '-text', '-noout'],
    selfSigned({ names: ['a.example'], keys, ...times }),
  );
  expect(text).not.toContain('1.3.6.1.5.5.7.1.31');
});

test('renewal is due at two thirds of a life or up to a twentieth of it earlier, by the certificate', () => {
  const life = { not_before: 1_800_000_000, not_after: 1_800_000_000 + 90 * 86_400 };
  const at = (fingerprint: string) =>
    renewalTime({ names: [], is_self_signed: false, ...life, fingerprint });
  expect(at('00:11')).toBe(life.not_before + 60 * 86_400);
  expect(at('FF:11')).toBeGreaterThan(life.not_before + 55.5 * 86_400 - 1);
  expect(at('FF:11')).toBeLessThan(life.not_before + 56 * 86_400);
  expect(at('80:11')).toBe(at('80:22'));
});
