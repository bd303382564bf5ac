// Connections that end by an order, although their users may connect.
import { describe, expect, test } from 'vitest';
import type { EndOrder } from '../../../kit/src/node_interface.ts';
import * as t from '../proxy_world.ts';
import type { Scene } from './scene.ts';

export function ending(s: Scene): void {
  const f = s.family;
  const tls = () => ({
    ...s.normal,
    port: t.tlsBase + f.port_base + 1,
    proxy_certificate: s.node.certificate,
  });
  const isOpen = async (client: t.Client) =>
    t.read(await client.ask(t.requestText('GET', '/'))).url === '/';

  describe('an order to end connections', () => {
    const orders: Array<[string, EndOrder]> = [
      ['of a user', { account: 1, user: 1 }],
      ['from an address', { address: f.sources[0] }],
      ['of a whole account at one exit', { account: 1, exit_ip: f.exits[1] }],
      ['of a service', { account: 1, service: 'proxy-https' }],
    ];
    test.each(orders)('ends those %s at once, and no other', async (_, order) => {
      const ended = await t.openTunnel(tls(), s.to);
      const others = [
        await t.openTunnel({ ...s.normal, from: f.sources[1] }, s.to),
        await t.openTunnel(s.tokened(1, { user: 2 }), s.to),
      ];
      // Right after it began, before it was counted or listed.
      expect(await s.node.engine.end(order)).toBe(1);
      await ended.ended();
      for (const client of others) expect(await isOpen(client)).toBe(true);
      for (const client of others) client.socket.destroy();
    });

    test('ends tunnels and waiting connections, whose client may connect again at once', async () => {
      const tunnel = await t.openTunnel(s.normal, s.to);
      const waiting = await t.Client.open(s.normal);
      expect((await waiting.ask(t.requestText('GET', s.url))).status).toBe(200);
      expect(await s.node.engine.end({ account: 1, user: 1 })).toBe(2);
      const again = await t.openTunnel(s.normal, s.to);
      await tunnel.ended();
      await waiting.ended();
      expect(await isOpen(again)).toBe(true);
      expect(await s.node.engine.end({ account: 2 }), "another account's").toBe(0);
      expect(await isOpen(again)).toBe(true);
      again.socket.destroy();
    });

    test('has the bytes of what it ends counted once', async () => {
      const usage = await t.Usage.from(s.node.engine, s.url, s.normal);
      const sum = { up: 0, down: 0 };
      const clients = [
        await t.openTunnel(s.normal, s.to),
        await t.openTunnel(s.normal, s.to),
        await t.Client.open(s.normal),
      ];
      for (const [at, client] of clients.entries()) {
        const target = `${at === 2 ? s.url : '/'}bytes/${100_000 + at}`;
        await client.ask(t.requestText('GET', target));
        // Some of the bytes are counted ahead.
        if (at === 0) await usage.poll();
        sum.up += client.sent;
        sum.down += client.received;
      }
      expect(await s.node.engine.end({ account: 1 })).toBe(3);
      for (const client of clients) await client.ended();
      expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
      expect(await s.node.engine.end({ account: 1 }), 'again').toBe(0);
      expect(await usage.settled({ '1 1': sum })).toEqual({ '1 1': sum });
    });
  });
}
