// Connections that end because they are no longer allowed.
import { describe, expect, test } from 'vitest';
import type { NodeRecord } from '../../src/policy/records.ts';
import * as t from '../proxy_world.ts';
import { authlistOf, serverOf } from './family.ts';
import type { Scene } from './scene.ts';

export function revocation(s: Scene): void {
  const f = s.family;
  describe('revocation', () => {
    const reasons: Array<[string, NodeRecord[]]> = [
      ['its address is taken off the authlist', [authlistOf(f, 1, null)]],
      ['its user is made inactive', [t.userRecord(1, { active: false })]],
      ['its user is over a limit', [t.userRecord(1, { limits: { over: true } })]],
      ['its contract is over a limit', [t.contractRecord(1, { blocked: true })]],
      ['its account leaves the server', [{ kind: 'account', account: 1, value: null }]],
    ];
    test.each(reasons)('a tunnel ends when %s, and no other does', async (_, records) => {
      const revoked = await t.openTunnel(s.normal, s.to);
      const stays = await t.openTunnel({ ...s.normal, from: f.sources[1] }, s.to);
      await s.having(records, async () => {
        await revoked.ended();
        expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
      });
      stays.socket.destroy();
    });

    test('a tunnel by token ends when all tokens of its user are invalidated', async () => {
      const revoked = await t.openTunnel(s.tokened(1), s.to);
      const stays = await t.openTunnel(s.tokened(1, { user: 2 }), s.to);
      await s.having([t.userRecord(1, { token_version: 2 })], async () => {
        await revoked.ended();
        expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
      });
      stays.socket.destroy();
    });

    test('a drained node accepts no new connections, and lets open ones continue', async () => {
      const stays = await t.openTunnel(s.normal, s.to);
      const client = await t.Client.open(s.normal);
      expect((await client.ask(t.requestText('GET', s.url))).status).toBe(200);
      await s.having([serverOf(s.families, { drained_nodes: [t.nodeId + 1] })], async () => {
        expect(s.node.engine.isDrained()).toBe(false);
        for (const answer of await s.askBoth(s.normal)) expect(answer.status).toBe(200);
      });
      await s.having([serverOf(s.families, { drained_nodes: [t.nodeId] })], async () => {
        expect(s.node.engine.isDrained()).toBe(true);
        // Before anything else is checked, even for unknown clients.
        await s.expectRefusal(s.normal, 'drained');
        await s.expectRefusal({ ...s.normal, from: f.sources[2] }, 'drained');
        await s.expectRefusal(s.tokened(1), 'drained');
        expect((await client.ask(t.requestText('GET', s.url))).status).toBe(503);
        expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
        // The node continues to follow the changes.
        await s.node.apply(t.userRecord(1, { active: false }));
        await stays.ended();
      });
      for (const answer of await s.askBoth(s.normal)) expect(answer.status).toBe(200);
      client.socket.destroy();
    });

    test('a tunnel ends by itself when its entry or token expires', async () => {
      const client = await t.openTunnel(s.tokened(1, { expiry: t.now() + 2 }), s.to);
      const stays = await t.openTunnel(s.tokened(1), s.to);
      await client.ended();
      expect(t.read(await stays.ask(t.requestText('GET', '/'))).url).toBe('/');
      stays.socket.destroy();
    });
  });
}
