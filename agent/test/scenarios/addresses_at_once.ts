// The limit on the source addresses of a user. Which addresses count as one depends on their
// family.
import { expect, test } from 'vitest';
import * as t from '../proxy_world.ts';
import { serverOf } from './family.ts';
import type { Scene } from './scene.ts';

export function addressesAtOnce(s: Scene): void {
  const f = s.family;

  test('a user comes from as many addresses at once as the limit says, a /64 of IPv6 being one; those that came last end', async () => {
    const { engine } = s.node;
    const usage = await t.Usage.from(engine);
    const limits = { addresses: 1, address_seconds: 600 };
    await s.having([t.userRecord(2, { limits })], async () => {
      const listed = { ...s.normal, from: f.sources[1] };
      const tunnel = await t.openTunnel(listed, s.to);
      if (f.name === 'IPv6') {
        for (const { status } of await s.askBoth(s.tokened(2))) expect(status).toBe(200);
      }
      const remote = { ...s.tokened(2), from: f.remoteSource };
      await s.expectRefusal(remote, 'too_many_addresses');
      const held = async () => {
        // With Squid, the end of a connection shows when its bytes are counted.
        await usage.poll();
        return engine.held().find(({ account }) => account === 2);
      };
      await t.until(async () => (await held())?.connections === 1);
      const networks = [f.name === 'IPv6' ? 'fd78:0:0:0::/64' : f.sources[1]];
      expect(await held()).toMatchObject({ user: 1, connections: 1, networks });
      const first = ['198.51.100.77'];
      engine.share([{ account: 2, user: 1, connections: 1, ahead: 1, networks: first }]);
      await tunnel.ended();
      await s.expectRefusal(listed, 'too_many_addresses');
      engine.share([]);
    });
    // Without the limit no address counts any longer.
    await t.until(() => engine.held().length === 0);
  });

  test('open connections count for a limit that comes together with a change of the server', async () => {
    const tunnels = [await t.openTunnel(s.normal, s.to), await t.openTunnel(s.normal, s.to)];
    const records = [serverOf(s.families), t.userRecord(1, { limits: { connections: 1 } })];
    await s.having(records, async () => {
      await t.until(() => tunnels.some(({ isEnded, isClosed }) => isEnded || isClosed));
      await s.expectRefusal(s.normal, 'too_many_connections');
    });
    for (const { socket } of tunnels) socket.destroy();
  });
}
