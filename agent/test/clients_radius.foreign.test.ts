// Foreign clients of RADIUS: eapol_test speaks EAP-MSCHAPv2, radclient passwords.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import {
  type LoginAttempt,
  RadiusServer,
  radiusAddress,
  type Verdict,
} from '../src/vpn/radius_server.ts';

const dir = mkdtempSync(join(tmpdir(), 'exitward-radius-'));
const secret = 'of-both';
const password = 'abcde-fghij-klmno-pqrst';
const attempts: LoginAttempt[] = [];
const evaluate = async (attempt: LoginAttempt): Promise<Verdict> => {
  attempts.push(attempt);
  if (attempt.login !== 'alice@acme' || !attempt.proves(password)) {
    return { allowed: false, message: 'no (bad_token)' };
  }
  return { allowed: true, address: '100.80.0.7' };
};
const log = pino({ level: 'silent' });
const server = new RadiusServer({ secret, dns: ['9.9.9.9'], evaluate, clock: systemClock, log });
let port = 0;
beforeAll(async () => {
  port = await server.listen(0);
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true });
});

/** Runs a program to its end; returns its output. */
const run = (command: string, args: string[], input = '') =>
  new Promise<{ code: number | null; output: string }>((resolve) => {
    const child: ChildProcess = spawn(command, args);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes) => {
        output += bytes;
      });
    }
    child.on('close', (code) => resolve({ code, output }));
    child.stdin?.end(input);
  });

const eapol = (login: string, given: string) => {
  const conf = join(dir, 'eapol.conf');
  const lines = [
    'network={',
    '  key_mgmt=WPA-EAP',
    '  eap=MSCHAPV2',
    `  identity="${login}"`,
    `  password="${given}"`,
    '}',
    '',
  ];
  writeFileSync(conf, lines.join('\n'));
  // Called-Station-Id and Calling-Station-Id, as charon sends them.
  const where = ['-N', '30:s:203.0.113.1', '-M', '02:00:00:00:00:01', '-t', '5'];
  return run('eapol_test', [
    '-c',
    conf,
    '-a',
    radiusAddress,
    '-p',
    `${port}`,
    '-s',
    secret,
    ...where,
  ]);
};
test('eapol_test logs in with EAP-MSCHAPv2, and finds the same keys', async () => {
  for (const spelling of [password, password.replaceAll('-', '')]) {
    const { code, output } = await eapol('alice@acme', spelling);
    expect(output).toContain('MPPE keys OK: 1  mismatch: 0');
    expect(code).toBe(0);
  }
});

test('eapol_test is refused with a wrong password or name', async () => {
  for (const [login, wrongPassword] of [
    ['alice@acme', 'wrong'],
    ['bob@acme', password],
  ] as const) {
    expect((await eapol(login, wrongPassword)).output).toContain('Received EAP-Failure');
  }
});

const radclient = (given: string, shared = secret) => {
  const lines = [
    'User-Name = "alice@acme"',
    `User-Password = "${given}"`,
    'Called-Station-Id = "203.0.113.1"',
    'Calling-Station-Id = "198.51.100.7"',
    'Message-Authenticator = 0x00',
  ];
  const args = ['-x', '-r', '1', '-t', '1', `${radiusAddress}:${port}`, 'auth', shared];
  return run('radclient', args, `${lines.join('\n')}\n`);
};

test('radclient logs in with a password, a long one too, and gets the address', async () => {
  const { output } = await radclient(password);
  expect(output).toContain('Received Access-Accept');
  expect(output).toContain('Framed-IP-Address = 100.80.0.7');
  expect(attempts.at(-1)).toMatchObject({ exit_ip: '203.0.113.1', source: '198.51.100.7' });
  expect((await radclient('wrong')).output).toContain('Received Access-Reject');
  const long = `ewt_${'x'.repeat(120)}`;
  await radclient(long);
  expect(attempts.at(-1)?.password).toBe(long);
});

test('a request with another secret gets no response', async () => {
  expect((await radclient(password, 'another')).output).toContain('No reply');
});
