// A certificate and its key: pairs that are none, and chains that clients reject.
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, describe, expect, test } from 'vitest';
import { createCertificate, createCertificateChain } from '../../agent/test/node_records.ts';
import {
  certificatesOf,
  type KeyPair,
  renewalDue,
  requirePair,
  Trust,
  validityOf,
} from '../src/certificate.ts';

const host = 'proxy.example';
const rsa = createCertificate(host, 'rsa');
const ec = createCertificate(host);
const other = createCertificate(host);

test.each([
  ['of another type', { cert: rsa.cert, key: ec.key }],
  ['of another type, the other way round', { cert: ec.cert, key: rsa.key }],
  ['of the same type', { cert: ec.cert, key: other.key }],
])('a certificate with a key %s is no pair', (_, pair) => {
  expect(() => requirePair(pair)).toThrow('the key is not that of the certificate');
});

test('a certificate with its own key is a pair, as text and as bytes', () => {
  for (const { cert, key } of [rsa, ec]) {
    requirePair({ cert, key });
    requirePair({ cert: Buffer.from(cert), key: Buffer.from(key) });
  }
});

test('a file without a certificate or a key is no pair, and the reason has no code of OpenSSL', () => {
  for (const pair of [
    { cert: 'nothing', key: ec.key },
    { cert: ec.cert, key: 'nothing' },
  ]) {
    expect(() => requirePair(pair)).toThrow(/^(?!error:)./);
  }
});

test.each([
  ['a year', 365, 14],
  ['90 days', 90, 14],
  ['six days', 6, 1],
])(
  'a certificate of %s is due for renewal in its last days, of which a short life has few',
  (_, life, notice) => {
    const day = 86_400;
    const until = new Date((1_800_000_000 + life * day) * 1000).toUTCString();
    const validity = validityOf(new Date(1_800_000_000_000).toUTCString(), until);
    expect(renewalDue(validity)).toBe(1_800_000_000 + (life - notice) * day);
  },
);

describe('clients that verify a certificate', () => {
  const chain = createCertificateChain(host);
  const [leaf = '', intermediate = ''] = certificatesOf(chain.cert);

  async function rejection(pair: KeyPair, dialled = host): Promise<string | undefined> {
    const trust = new Trust();
    await trust.judge(pair, dialled);
    return trust.rejection;
  }

  test('reject it while the machine does not trust its authority', async () => {
    expect(await rejection(chain)).toMatch(/^nothing links it to an authority .* CN=Intermediate$/);
  });

  describe('once its authority is trusted', () => {
    beforeAll(() => {
      setDefaultCACertificates([...getCACertificates('default'), chain.authority]);
    });

    test('accept it with its chain', async () => {
      expect(await rejection(chain)).toBeUndefined();
    });

    test('reject it without its intermediate certificate', async () => {
      expect(await rejection({ ...chain, cert: leaf })).toMatch(/^nothing links it .* CN=Inter/);
    });

    test('reject it for another name', async () => {
      expect(await rejection(chain, 'vpn.example')).toBe(
        'it is for proxy.example, not for vpn.example',
      );
    });

    test('may reject a chain that is not in order', async () => {
      const cert = [leaf, chain.authority, intermediate].join('\n');
      expect(await rejection({ ...chain, cert })).toBe(
        'the certificates in its file are not in order',
      );
    });

    test('reject one that is signed by itself', async () => {
      expect(await rejection(ec)).toBe('it is signed by itself');
    });
  });
});
