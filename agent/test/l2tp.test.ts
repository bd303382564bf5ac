// L2TP: the configuration of its daemons, and the logins that pppd asks about, by the real helper
// in a process that is called pppd.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { tries } from '../../test/effort.ts';
import { systemClock } from '../src/clock.ts';
import { L2tp } from '../src/vpn/l2tp.ts';
import { addressAt, gatewayOf, rangeOf, slotOf } from '../src/vpn/pool.ts';
import type { LoginAttempt, Verdict } from '../src/vpn/radius_server.ts';
import { putScript } from './shell_script.ts';

const networkOf = (cidr: string) => {
  const [network] = parseNetworks(cidr);
  if (!network) throw new Error(cidr);
  return network;
};
const numberOf = (address: string) =>
  ipaddr
    .parse(address)
    .toByteArray()
    .reduce((number, byte) => number * 256 + byte, 0);

describe('the pool', () => {
  test('no address of it is given out by two', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 28 }), (bits) => {
        const pool = networkOf(`10.0.0.0/${bits}`);
        const range = rangeOf(pool);
        const ends = [addressAt(range, 0), addressAt(range, range.size - 1)].map(numberOf);
        const spans: Array<readonly number[]> = [ends, Array(2).fill(numberOf(gatewayOf(pool)))];
        for (let slot = 0; slot < 200; slot += 1) {
          const own = slotOf(pool, slot);
          if (own) spans.push([own.first, own.last].map(numberOf));
        }
        const first = numberOf('10.0.0.0');
        let last = first;
        for (const [from = 0, to = 0] of spans) {
          expect(from).toBeGreaterThan(last);
          expect(to).toBeGreaterThanOrEqual(from);
          last = to;
        }
        // The last one is the broadcast address.
        expect(last).toBeLessThan(first + 2 ** (32 - bits) - 1);
        expect(spans.length).toBeGreaterThan(2);
      }),
      { numRuns: tries(100) },
    );
  });
});

describe('a login that pppd asks about', () => {
  const exits = ['127.0.0.1', '127.0.0.2'];
  let dir: string;
  let l2tp: L2tp;
  let attempts: LoginAttempt[] = [];
  /** The right password. */
  let password = 'clientPass';

  const evaluate = async (attempt: LoginAttempt): Promise<Verdict> => {
    attempts.push(attempt);
    return attempt.proves(password)
      ? { allowed: true, address: attempt.address ?? '' }
      : { allowed: false, message: 'no' };
  };

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'exitward-l2tp-'));
    // Stands for xl2tpd, which needs a kernel with L2TP: a program that keeps running.
    const program = join(dir, 'xl2tpd');
    putScript(program, 'exec sleep 1000');
    symlinkSync('/bin/bash', join(dir, 'pppd'));
    attempts = [];
    password = 'clientPass';
    const vpn = { xl2tpd: program, pool: networkOf('100.80.0.0/12'), dns: ['9.9.9.9', '1.1.1.1'] };
    const log = pino({ level: 'silent' });
    l2tp = new L2tp({ dir: join(dir, 'l2tp'), vpn, evaluate, clock: systemClock, log });
    await l2tp.offer(exits);
  });
  afterEach(async () => {
    l2tp.close();
    await l2tp.stop();
    rmSync(dir, { recursive: true });
  });

  /**
   * Runs the helper like pppd's plugin winbind, by a shell. `options`: of the process that asks.
   */
  async function ask(
    lines: string[],
    options = join(dir, 'l2tp', '127.0.0.2.options'),
  ): Promise<string> {
    const [, helper = ''] =
      /^ntlm_auth-helper "(.*)"$/m.exec(
        readFileSync(join(dir, 'l2tp', `${exits[1]}.options`), 'utf8'),
      ) ?? [];
    const child = spawn(join(dir, 'pppd'), [
      ...['-c', `/bin/sh -c '${helper}'; true`, '100.88.0.0:100.88.4.1', 'file', options],
      ...['ipparam', '198.18.1.2'],
    ]);
    child.stdin.end(`${[...lines, '.'].join('\n')}\n`);
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return output;
  }
  const encoded = (name: string, value: string) =>
    `${name}:: ${Buffer.from(value).toString('base64')}`;
  // RFC 2759, 9.2: pppd combines the challenges and the name.
  const chap = [
    encoded('Username', 'User'),
    'Request-User-Session-Key: yes',
    'LANMAN-Challenge: D02E4386BCE91226',
    'NT-response: 82309ECD8D708B5EA08FAA3981CD83544233114A3D85D6DF',
  ];

  test('by MS-CHAPv2 is answered with the hash of the hash of the password', async () => {
    expect(await ask(chap)).toBe(
      'Authenticated: Yes\nUser-Session-Key: 41C00C584BD2D91C4017A2A12FA59F3F\n.\n',
    );
    expect(attempts).toMatchObject([
      {
        login: 'User',
        source: '198.18.1.2',
        exit_ip: '127.0.0.2',
        connection: 'vpn-l2tp 127.0.0.2',
        address: '100.88.4.1',
      },
    ]);
    password = 'another';
    expect(await ask(chap)).toBe('Authenticated: No\n.\n');
  });

  test('by PAP may have a password of 255 characters', async () => {
    password = 'x'.repeat(255);
    const lines = [encoded('Full-Username', 'alice@acme'), encoded('Password', password)];
    expect(await ask(lines)).toBe('Authenticated: Yes\n.\n');
    expect(attempts).toMatchObject([{ login: 'alice@acme', password }]);
    expect(await ask([lines[0] ?? '', encoded('Password', 'x'.repeat(254))])).toBe(
      'Authenticated: No\n.\n',
    );
  });

  test('is refused without a decision if a process that is not ours asks', async () => {
    expect(await ask(chap, '/etc/ppp/options')).toBe('Authenticated: No\n.\n');
    expect(attempts).toEqual([]);
  });

  test('is refused where the lines make no sense', async () => {
    for (const lines of [
      [],
      ['Username: x'],
      [chap[0] ?? '', 'LANMAN-Challenge: zz'],
      ['\u0000: x'],
    ]) {
      expect(await ask(lines)).toBe('Authenticated: No\n.\n');
    }
  });

  test('waits for an agent that starts', async () => {
    l2tp.close();
    const answered = ask(chap);
    await systemClock.sleep(0.5);
    await l2tp.offer(exits);
    expect(await answered).toContain('Authenticated: Yes');
  });

  test('the links of a daemon that died are ended before another one gives out their addresses', async () => {
    const linkOf = (exit: string) => {
      const args = ['-c', 'sleep 1000; true', '100.88.0.0:100.88.4.1', 'ipparam', '198.18.1.2'];
      return spawn(join(dir, 'pppd'), [...args, 'file', join(dir, 'l2tp', `${exit}.options`)]);
    };
    const [own, other] = [linkOf('127.0.0.1'), linkOf('127.0.0.2')];
    const ended = once(own, 'exit');
    await expect.poll(() => l2tp.findLink(own.pid ?? 0)?.exit_ip).toBe('127.0.0.1');
    const daemon = readFileSync(join(dir, 'l2tp', '127.0.0.1.pid'), 'utf8').trim();
    process.kill(Number(daemon), 'SIGKILL');
    await expect.poll(() => l2tp.offer(exits).then(() => own.signalCode)).toBe('SIGKILL');
    await ended;
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    other.kill('SIGKILL');
  });

  test('a daemon that ends again and again is reported, and one that stays is not', async () => {
    const program = join(dir, 'xl2tpd');
    putScript(program, 'exit 1');
    const other = ['127.0.0.4'];
    await expect.poll(() => l2tp.offer(other).catch(String)).toMatch(/ends as soon as/);
    putScript(program, 'exec sleep 1000');
    await expect.poll(() => l2tp.offer(other).catch(String)).toBeUndefined();
  });

  test('an exit keeps its addresses when another one goes, and its daemon runs on', async () => {
    const confOf = (exit: string) => readFileSync(join(dir, 'l2tp', `${exit}.conf`), 'utf8');
    const pidOf = (exit: string) => Number(readFileSync(join(dir, 'l2tp', `${exit}.pid`), 'utf8'));
    const [conf, pid, gone] = [confOf('127.0.0.2'), pidOf('127.0.0.2'), pidOf('127.0.0.1')];
    expect(conf).toContain('ip range = 100.88.4.1-100.88.8.0\n');
    await l2tp.offer(['127.0.0.2']);
    expect([confOf('127.0.0.2'), pidOf('127.0.0.2')]).toEqual([conf, pid]);
    // An ended process keeps its number until its parent has waited for it.
    await expect.poll(() => existsSync(`/proc/${gone}/exe`)).toBe(false);
    await l2tp.offer(['127.0.0.3', '127.0.0.2']);
    expect([confOf('127.0.0.2'), pidOf('127.0.0.2')]).toEqual([conf, pid]);
    expect(confOf('127.0.0.3')).toContain('ip range = 100.88.0.1-100.88.4.0\n');
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => l2tp.offer(['127.0.0.2']).then(() => pidOf('127.0.0.2'))).not.toBe(pid);
  });
});
