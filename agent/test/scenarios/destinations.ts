// The destinations that clients may reach, and all others.
import { describe, expect, test } from 'vitest';
import { bodyOf } from '../../src/policy/denials.ts';
import * as t from '../proxy_world.ts';
import { at } from './family.ts';
import type { Scene } from './scene.ts';

/**
 * Addresses in spellings that only an attacker uses. Each means a private address, or nothing.
 */
const oddHosts = [
  ...['127.1', '127.78.769', '2135818497', '0x7f4e0301', '0x7f.0x4e.3.1', '0177.0116.3.1'],
  ...['127.078.3.1', '127.78.3.1.', '127.78.3.01', '127.78.3.1%00', '127.78.3.1%2e'],
  ...['[::ffff:127.78.3.1]', '[::ffff:7f4e:301]', '[::127.78.3.1]', '[::1]', '[0:0:0:0:0:0:0:1]'],
  ...['[fd78::3:1]', 'fd78::3:1', '[FD78:0::3:0001]', '%5bfd78::3:1%5d', '%5Bfd78::3:1]'],
  ...['[64:ff9b::7f4e:301]', '[2002:7f4e:301::1]', '[fe80::1%25lo]', 'localhost', 'LOCALHOST.'],
  ...['%31%32%37.78.3.1', 'www.example@127.78.3.1', '127.78.3.1#www.example', '0', '0.0.0.0'],
];

export function destinations(s: Scene): void {
  const f = s.family;
  describe('where to', () => {
    test('a name is looked up, and of its addresses only those are dialled that may be', async () => {
      s.origin.dialled.clear();
      for (const host of ['www.example', 'WWW.Example.']) {
        expect((await t.see(s.normal, `http://${host}:${s.origin.port}/`)).at).toBe(f.originIp);
      }
      // An engine that judges all addresses of a name refuses this one.
      const mixed = await t.ask(s.normal, 'GET', `http://mixed.example:${s.origin.port}/`);
      expect([200, 403]).toContain(mixed.status);
      expect([...s.origin.dialled]).toEqual([f.originIp]);
    });

    test('a name of private addresses is refused', async () => {
      for (const method of ['GET', 'CONNECT']) {
        const target = `private.example:${s.origin.port}`;
        const answer = await t.ask(
          s.normal,
          method,
          method === 'GET' ? `http://${target}/` : target,
        );
        expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
        expect(answer.headers['x-exitward-reason']).toBe('destination_refused');
      }
    });

    test('ports that are not allowed are refused', async () => {
      const plain = await t.ask(s.normal, 'GET', `http://${at(f.originIp)}:80/`);
      const connected = await t.ask(s.normal, 'CONNECT', `${at(f.originIp)}:80`);
      for (const answer of [plain, connected]) {
        expect(answer).toMatchObject({ status: 403, body: bodyOf('destination_refused') });
      }
    });

    test.each(oddHosts)('no spelling leads to a private address: %s', async (host) => {
      s.origin.dialled.clear();
      for (const port of [f.normalPort, f.overridePort]) {
        for (const method of ['GET', 'CONNECT']) {
          const target = `${host}:${s.origin.port}`;
          const answer = t.ask(
            { ...s.normal, port },
            method,
            method === 'GET' ? `http://${target}/` : target,
          );
          expect((await answer).status).toBeGreaterThanOrEqual(400);
        }
      }
      expect([...s.origin.dialled]).toEqual([]);
    });

    test('a name that changes its address all the time never leads to a refused one', async () => {
      s.origin.dialled.clear();
      const target = `rebind.example:${s.origin.port}`;
      const answers = Array.from({ length: 100 }, (_, index) =>
        index % 2 === 0
          ? t.ask(s.normal, 'GET', `http://${target}/`)
          : t.ask(s.normal, 'CONNECT', target),
      );
      const statuses = new Set((await Promise.all(answers)).map(({ status }) => status));
      expect([...s.origin.dialled].filter((ip) => ip !== f.originIp)).toEqual([]);
      expect([...statuses].filter((status) => status !== 200 && status !== 403)).toEqual([]);
    });

    test("no address of the node's exits is a destination, unless its operator allows it", async () => {
      const exit_ips = [f.exits[0], f.publicIp].map((ip, index) => ({
        ip,
        port_base: f.port_base + index,
      }));
      const own = t.overrideRecord(1, 'www.example', f.publicIp);
      await s.having([t.serverRecord({ exit_ips }), own], async () => {
        for (const [port, host] of [
          [f.normalPort, at(f.publicIp)],
          [f.normalPort, 'own.example'],
          [f.overridePort, 'www.example'],
        ] as const) {
          const target = `${host}:${s.origin.port}`;
          const plain = await t.ask({ ...s.normal, port }, 'GET', `http://${target}/`);
          const connected = await t.ask({ ...s.normal, port }, 'CONNECT', target);
          for (const { headers } of [plain, connected]) {
            expect([host, headers['x-exitward-reason']]).toEqual([host, 'destination_refused']);
          }
        }
      });
    });

    test('a missing destination is answered with a status, not by silence', async () => {
      for (const target of ['none.example:8080', 'unknown.example:8080', `${at(f.originIp)}:81`]) {
        const plain = await t.ask(s.normal, 'GET', `http://${target}/`);
        const connected = await t.ask(s.normal, 'CONNECT', target);
        for (const { status, body } of [plain, connected]) {
          expect([502, 503, 504]).toContain(status);
          expect(body).toMatch(/^Exitward: /);
        }
      }
    });
  });
}
