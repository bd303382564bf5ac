// The exits that connections leave from.
import { describe, expect, test } from 'vitest';
import * as t from '../proxy_world.ts';
import type { Scene } from './scene.ts';

export function exits(s: Scene): void {
  const f = s.family;
  describe('from where', () => {
    test('a connection leaves from the exit of its port', async () => {
      for (const [index, exit] of f.exits.entries()) {
        const seen = await t.see({ ...s.normal, port: f.normalPort + index }, s.url);
        expect(seen).toMatchObject({ at: f.originIp, from: exit });
      }
    });

    test('an exit address that the machine does not have is never replaced by another', async () => {
      const exit_ips = [{ ip: f.missingIp, port_base: f.port_base }];
      await s.having([t.serverRecord({ exit_ips })], async () => {
        s.origin.dialled.clear();
        const [plain, connected] = await Promise.allSettled([
          t.ask(s.normal, 'GET', s.url),
          t.ask(s.normal, 'CONNECT', s.to),
        ]);
        for (const client of [plain, connected]) {
          expect(client?.status === 'fulfilled' ? client.value.status : 503).toBeGreaterThanOrEqual(
            500,
          );
        }
        expect([...s.origin.dialled]).toEqual([]);
      });
    });

    test('a port that goes is closed with its connections, the others stay', async () => {
      const other = { ...s.normal, port: f.normalPort + 1 };
      const stays = await t.openTunnel(s.normal, s.to);
      const goes = await t.openTunnel(other, s.to);
      const exit_ips = [{ ip: f.exits[0], port_base: f.port_base }];
      await s.having([t.serverRecord({ exit_ips })], async () => {
        await goes.ended();
        await expect(t.Client.open(other)).rejects.toThrow('ECONNREFUSED');
        expect(t.read(await stays.ask(t.requestText('GET', '/')))).toMatchObject({ url: '/' });
      });
      expect((await t.see(other, s.url)).from).toBe(f.exits[1]);
      stays.socket.destroy();
    });
  });
}
