// The counted traffic, to the byte, and its users.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '../../../test/effort.ts';
import { seed } from '../histories.ts';
import * as t from '../proxy_world.ts';
import type { Scene } from './scene.ts';

export function usage(s: Scene): void {
  const f = s.family;
  describe('usage', () => {
    test('is what the client counts on its own socket: plain, tunnel, TLS to the proxy', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const sum = { up: 0, down: 0 };
      const body = 'u'.repeat(70_000);
      for (const port of [f.normalPort, t.tlsBase + f.port_base]) {
        const through = {
          ...s.normal,
          port,
          ...(port === f.normalPort ? {} : { proxy_certificate: s.node.certificate }),
        };
        const plain = await t.Client.open(through);
        await plain.ask(t.requestText('POST', `${s.url}bytes/200000`, {}, body));
        const tunnel = await t.openTunnel(through, s.to);
        await tunnel.ask(t.requestText('POST', '/bytes/300000', {}, body));
        for (const client of [plain, tunnel]) {
          await client.close();
          sum.up += client.sent;
          sum.down += client.received;
        }
      }
      expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
    });

    test('on one connection each request counts for its own user, refused ones for no user', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const sums = {
        '1 1': { up: 0, down: 0 },
        '1 2': { up: 0, down: 0 },
        '2 1': { up: 0, down: 0 },
      };
      const turns: Array<[keyof typeof sums | undefined, string | undefined]> = [
        [undefined, t.basic('ewt_no.token')],
        ['1 1', undefined],
        ['2 1', t.basic(t.tokenOf(2))],
        [undefined, t.basic('ewt_no.token')],
        ['1 2', t.basic(t.tokenOf(1, { user: 2 }), 'bob')],
        ['1 1', undefined],
        [undefined, 'Bearer x'],
      ];
      const client = await t.Client.open(s.normal);
      for (const [index, [payer, authorization]] of turns.entries()) {
        const before = { sent: client.sent, received: client.received };
        const target = `${s.url}bytes/${1000 + index}`;
        const { status } = await client.ask(
          t.requestText('GET', target, authorization === undefined ? {} : { authorization }),
        );
        expect(status).toBe(payer === undefined ? 407 : 200);
        if (payer === undefined) continue;
        sums[payer].up += client.sent - before.sent;
        sums[payer].down += client.received - before.received;
      }
      await client.close();
      expect(await usage.settled(sums)).toEqual(sums);
    });

    test('is reported while a tunnel is open, and never more than there was', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const client = await t.openTunnel(s.normal, s.to);
      await client.ask(t.requestText('GET', '/bytes/100000'));
      await t.until(async () => {
        await usage.poll();
        const [open] = usage.open;
        expect(open?.up ?? 0).toBeLessThanOrEqual(client.sent);
        expect(open?.down ?? 0).toBeLessThanOrEqual(client.received);
        return (open?.down ?? 0) >= 100_000;
      });
      expect(usage.open).toMatchObject([{ account: 1, user: 1 }]);
      await client.close();
      await t.until(async () => {
        await usage.poll();
        return usage.open.length === 0;
      });
    });

    test('an open connection is listed with its user, client, exit, bytes and times, until it closes', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const listed = async () => {
        await usage.poll();
        return [...s.node.engine.connections()].filter(({ authority }) => authority.account === 2);
      };
      const { from } = s.tokened(2);
      const port = t.tlsBase + f.port_base + 1;
      const start = Math.floor(Date.now() / 1000);
      const tls = { ...s.tokened(2), port, proxy_certificate: s.node.certificate };
      const clients = [
        await t.openTunnel({ ...s.normal, from: f.sources[1] }, s.to),
        await t.openTunnel(tls, s.to),
      ];
      const bytes = 100_000;
      for (const client of clients) {
        await client.ask(t.requestText('GET', `/bytes/${bytes}`));
      }
      const sorted = async () =>
        (await listed()).sort((a, b) => a.service.localeCompare(b.service));
      await t.until(async () => {
        const downs = (await sorted()).map(({ down }) => down);
        return downs.length === 2 && downs.every((down) => down > bytes * 0.9);
      });
      expect(await sorted()).toMatchObject([
        {
          ...{ service: 'proxy', address: f.sources[1], exit_ip: f.exits[0] },
          authority: { by: 'authlist', account: 2, user: 1, entry: f.entry },
        },
        {
          ...{ service: 'proxy-https', address: from, exit_ip: f.exits[1] },
          authority: { by: 'token', account: 2, user: 1 },
        },
      ]);
      for (const { since, last_byte_at, up } of await sorted()) {
        expect(since).toBeGreaterThanOrEqual(start);
        expect(last_byte_at).toBeGreaterThanOrEqual(since);
        expect(last_byte_at).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
        expect(up).toBeLessThanOrEqual(2000);
      }
      for (const client of clients) await client.close();
      await t.until(async () => (await listed()).length === 0);
    });

    test('of many transfers at once adds up to the byte', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const sums: Record<string, { up: number; down: number }> = {};
      const transfers = fc.sample(
        fc.record({
          account: fc.constantFrom(1, 2),
          user: fc.constantFrom(1, 2),
          method: fc.constantFrom('CONNECT', 'POST'),
          up: fc.nat(50_000),
          down: fc.nat(200_000),
          requests: fc.integer({ min: 1, max: 3 }),
        }),
        { numRuns: tries(200), seed },
      );
      await Promise.all(
        transfers.map(async ({ account, user, method, up, down, requests }) => {
          const through = s.tokened(account, { user });
          const tunnel = method === 'CONNECT' ? await t.openTunnel(through, s.to) : undefined;
          const client = tunnel ?? (await t.Client.open(through));
          const target = `${tunnel ? '/' : s.url}bytes/${down}`;
          for (let remaining = requests; remaining > 0; remaining--) {
            const body = 'u'.repeat(up);
            const answer = await client.ask(
              t.requestText('POST', target, tunnel ? {} : through, body),
            );
            expect(answer.body.length).toBe(down);
          }
          await client.close();
          const { up: sent, down: received } = sums[`${account} ${user}`] ?? { up: 0, down: 0 };
          sums[`${account} ${user}`] = {
            up: sent + client.sent,
            down: received + client.received,
          };
        }),
      );
      expect(await usage.settled(sums), `seed ${seed}`).toEqual(sums);
    });
  });
}
