// The port for PPP logins, which other programs on the machine cannot use up.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { PppLogins, type PppLoginsOptions } from '../src/vpn/ppp_logins.ts';

test('silent connections of other programs are bounded, and a login passes meanwhile', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-ppp-'));
  const link = { address: '100.88.0.1', exit_ip: '192.0.2.1', source: '198.51.100.7' };
  const options: PppLoginsOptions = {
    ...{ dir, log: pino({ level: 'silent' }), findLink: () => link },
    evaluate: async ({ password }) =>
      password === 'right'
        ? { allowed: true, address: link.address }
        : { allowed: false, message: 'bad_token' },
  };
  // None is closed because it is silent.
  const logins = new PppLogins(options, 2 ** 31 - 1);
  await logins.listen();
  const reach = readFileSync(join(dir, 'ask.reach'), 'latin1');
  const [, port, secret] = /^port=(\d+)\nsecret=(\w+)$/m.exec(reach) ?? [];
  const open = async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const strangers: Socket[] = [];
  onTestFinished(() => {
    for (const socket of strangers) socket.destroy();
    logins.close();
    rmSync(dir, { recursive: true });
  });
  const ask = async (shown: string | undefined, password: string) => {
    const socket = await open();
    socket.write(`Secret: ${shown}\nPid: 1\nUsername: alice@acme\nPassword: ${password}\n.\n`);
    return text(socket);
  };
  let closed = 0;
  for (let count = 0; count < 200; count += 1) {
    const socket = await open();
    socket.once('close', () => {
      closed += 1;
    });
    strangers.push(socket.resume());
  }
  expect(await ask(secret, 'right')).toBe('Authenticated: Yes\n.\n');
  expect(await ask(secret, 'wrong')).toBe('Authenticated: No\n.\n');
  expect(await ask('guessed', 'right')).toBe('');
  await expect.poll(() => closed).toBeGreaterThanOrEqual(200 - 64);
});
