// Signed profiles: openssl and a parser of property lists read them, and refuse one that was
// changed.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { newCertificate } from './certificate.ts';
import { startTestApp } from './harness.ts';
import { Issuer } from './issuer.ts';

const issuer = new Issuer();
afterAll(() => issuer.remove());
let count = 0;

/** The file for Apple of a server with this certificate. */
async function madeWith({ cert_file, key_file }: { cert_file: string; key_file: string }) {
  const env = { EXITWARD_TLS_CERT: cert_file, EXITWARD_TLS_KEY: key_file };
  count += 1;
  const t = await startTestApp(`sqlite:${issuer.pathOf(`${count}.db`)}`, env);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1', { services: ['vpn-ikev2'] });
  await t.account('acme', { servers: ['fra1'] });
  await t.operator.post('/accounts/acme/users', { name: 'bob', flags: { proxy: true } });
  const { body } = await t.operator.post('/accounts/acme/users/bob/vpn-profile', {});
  await t.stop();
  const [apple, ...others] = body.files as Array<{ encoding: string; content: string }>;
  expect(others.map(({ encoding }) => encoding)).not.toContain('base64');
  return apple as { encoding: string; content: string };
}

const typeIn = (plist: Buffer) => {
  const program =
    'import plistlib,sys; print(plistlib.loads(sys.stdin.buffer.read())["PayloadType"])';
  return execFileSync('python3', ['-c', program], { input: plist, encoding: 'utf8' });
};

test.each([
  ['an elliptic curve', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ['a larger curve', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ['RSA', 'rsa', '-pkeyopt', 'rsa_keygen_bits:2048'],
])(
  'a profile is signed by a certificate of %s, and a changed byte is refused',
  async (_, kind, ...options) => {
    const { encoding, content } = await madeWith(issuer.issue(kind, ...options));
    expect(encoding).toBe('base64');
    const der = Buffer.from(content, 'base64');
    expect(typeIn(issuer.verified(der))).toBe('Configuration\n');
    der[der.indexOf('PayloadDisplayName')] = 0;
    expect(() => issuer.verified(der)).toThrow(/verification failure/i);
  },
);

test('a certificate that signs itself signs no profile', async () => {
  const { cert, key } = newCertificate('exitward.example');
  const files = { cert_file: issuer.pathOf('self.pem'), key_file: issuer.pathOf('self.key') };
  writeFileSync(files.cert_file, cert);
  writeFileSync(files.key_file, key);
  const { encoding, content } = await madeWith(files);
  expect(encoding).toBe('utf-8');
  expect(typeIn(Buffer.from(content))).toBe('Configuration\n');
});

test('a certificate whose key devices do not know signs no profile', async () => {
  expect((await madeWith(issuer.issue('ed25519'))).encoding).toBe('utf-8');
});
