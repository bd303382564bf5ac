// Signed profiles: openssl and a parser of property lists read them, and refuse one that was changed.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newCertificate } from './certificate.ts';
import { startTestApp } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-signed-'));
const fileOf = (name: string) => join(folder, name);
const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });

beforeAll(() => {
  const authority = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
  ];
  openssl(...authority, '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.pem');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A certificate that the authority issued, with that of the authority behind it. */
function issue(kind: string, ...options: string[]): { cert: string; key: string } {
  const subject = ['-subj', '/CN=exitward.example', '-keyout', 'key.pem', '-out', 'request.pem'];
  openssl('req', '-new', '-newkey', kind, ...options, '-nodes', ...subject);
  const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', 'request.pem', ...by, '-out', 'cert.pem');
  const read = (name: string) => readFileSync(fileOf(name), 'utf8');
  return { cert: `${read('cert.pem')}${read('ca.pem')}`, key: read('key.pem') };
}

/** The file for Apple of a server with this certificate. */
async function madeWith({ cert, key }: { cert: string; key: string }) {
  writeFileSync(fileOf('server.pem'), cert);
  writeFileSync(fileOf('server.key'), key);
  const env = {
    EXITWARD_TLS_CERT: fileOf('server.pem'),
    EXITWARD_TLS_KEY: fileOf('server.key'),
  };
  const t = await startTestApp(`sqlite:${fileOf('exitward.db')}`, env);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1', { services: ['vpn-ikev2'] });
  await t.account('acme', { servers: ['fra1'] });
  await t.operator.post('/accounts/acme/users', { name: 'bob', flags: { proxy: true } });
  const { body } = await t.operator.post('/accounts/acme/users/bob/vpn-profile', {});
  await t.stop();
  for (const ending of ['', '-wal', '-shm'])
    rmSync(fileOf(`exitward.db${ending}`), { force: true });
  const [apple, ...others] = body.files as Array<{ encoding: string; content: string }>;
  expect(others.map(({ encoding }) => encoding)).not.toContain('base64');
  return apple as { encoding: string; content: string };
}

/** The content, if the signature holds. */
function verified(der: Buffer): Buffer {
  writeFileSync(fileOf('profile'), der);
  const args = ['-inform', 'DER', '-in', 'profile', '-CAfile', 'ca.pem', '-purpose', 'any'];
  return openssl('cms', '-verify', ...args);
}

const plist = (content: Buffer) =>
  execFileSync('python3', [
    '-c',
    'import plistlib,sys; print(plistlib.loads(sys.argv[1].encode())["PayloadType"])',
    content.toString(),
  ]).toString();

test.each([
  ['an elliptic curve', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ['a larger curve', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ['RSA', 'rsa', '-pkeyopt', 'rsa_keygen_bits:2048'],
])(
  'a profile is signed by a certificate of %s, and a changed byte is refused',
  async (_, kind, ...options) => {
    const { encoding, content } = await madeWith(issue(kind, ...options));
    expect(encoding).toBe('base64');
    const der = Buffer.from(content, 'base64');
    expect(plist(verified(der))).toBe('Configuration\n');
    const at = der.indexOf('PayloadDisplayName');
    der[at] = 0x50 ^ 1;
    expect(() => verified(der)).toThrow(/digest failure|verification failure/i);
  },
);

test.each([
  ['that signs itself', newCertificate('exitward.example')],
  ['whose key devices do not know', 'ed25519'],
])('a certificate %s signs no profile', async (_, given) => {
  const certificate = typeof given === 'string' ? issue(given) : given;
  const { encoding, content } = await madeWith(certificate);
  expect(encoding).toBe('utf-8');
  expect(plist(Buffer.from(content))).toBe('Configuration\n');
});
