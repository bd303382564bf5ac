// Connections that are opened and left: of one user, of one account, of addresses that authenticate
// nowhere. The same attacks on both engines.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as t from '../../agent/test/proxy_world.ts';
import { type Family, recordsOf } from '../../agent/test/scenarios/family.ts';
import { Scene, type Stage, type StartNode } from '../../agent/test/scenarios/scene.ts';

/** Small, so that an attack is quick; `waiting` follows `ALL`. */
const caps = { all: 30, account: 20, user: 12, address: 16 };
/** Of one address so many more are accepted, to be answered why. */
const openCount = caps.address + 16;
const settings = {
  EXITWARD_AGENT_MAX_CONNECTIONS: String(caps.all),
  EXITWARD_AGENT_MAX_CONNECTIONS_PER_ACCOUNT: String(caps.account),
  EXITWARD_AGENT_MAX_CONNECTIONS_PER_USER: String(caps.user),
  EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS: String(caps.address),
};

/** Clients of one /64, and clients of nets that have nothing in common; nobody knows them. */
const oneNet = (family: Family) =>
  Array.from({ length: 4 }, (_, n) =>
    family.name === 'IPv4' ? '127.79.1.1' : `fd79:0:0:1::${n + 1}`,
  );
const manyNets = (family: Family) =>
  Array.from({ length: 20 }, (_, n) =>
    family.name === 'IPv4' ? `127.79.2.${n + 1}` : `fd79:0:0:${n + 10}::1`,
  );

/** Gives the loopback the attackers' IPv6 addresses. */
export function addAttackers(family: Family): void {
  const all = [...oneNet(family), ...manyNets(family), ...apart(family).sources];
  const lines = all.map((ip) => `address replace ${ip}/128 dev lo nodad\n`);
  execFileSync('ip', ['-6', '-batch', '-'], { input: lines.join('') });
}

/** As in the scenarios, except that with IPv6 each client is in a /64 of its own. */
export const apart = (family: Family): Family => ({
  ...family,
  sources:
    family.name === 'IPv4'
      ? family.sources
      : ['fd79:0:0:101::1', 'fd79:0:0:102::1', 'fd79:0:0:103::1'],
});

export function idleConnections(name: string, start: StartNode, common: Family): void {
  const family = apart(common);
  describe(`${name}, by ${family.name}`, () => {
    const stage = { families: [family], origins: new Map() } as unknown as Stage;
    const scene = new Scene(stage, family);
    const probe = { password: 'secret', host: family.originIp, port: 0 };
    const begin = (more: Record<string, string> = {}) =>
      start({
        records: recordsOf([family]),
        rules: { probe },
        settings: { ...settings, ...more },
      });
    const open: Socket[] = [];

    beforeAll(async () => {
      const origin = await t.startOrigin(family.name === 'IPv4' ? '0.0.0.0' : '::');
      stage.origins.set(family, origin);
      probe.port = origin.port;
      stage.node = await begin();
    });
    afterAll(async () => {
      await stage.node?.stop();
      await scene.origin?.stop();
    });
    afterEach(() => {
      for (const socket of open.splice(0)) socket.destroy();
    });

    /** Of account 1 from its own address, and of account 2 from another. */
    const alice = () => scene.normal;
    const victim = () => ({ ...scene.normal, from: family.sources[1] });
    const bob = (account: number, from = family.sources[2]) => ({
      ...scene.tokened(account, { user: 2 }),
      from,
    });
    /** Connections that were closed just now may still be counted. */
    const hold = async (count: number, through: t.Through) => {
      for (let n = 0; n < count; n++) {
        await t.until(async () => {
          const client = await t.Client.open(through);
          open.push(client.socket);
          const text = t.requestText('CONNECT', scene.to, through);
          return (await client.ask(text)).status === 200;
        });
      }
    };
    const statusOf = async (through: t.Through) => (await t.ask(through, 'GET', scene.url)).status;
    /** A cap frees a moment after connections have closed. */
    const served = (through: t.Through) => t.until(async () => (await statusOf(through)) === 200);
    const allServed = async () => {
      for (const through of [alice(), victim()]) await served(through);
    };
    const idle = async (from: string) => {
      const socket = connect({
        ...{ host: family.name === 'IPv4' ? '127.0.0.1' : '::1', port: family.normalPort },
        localAddress: from,
      });
      socket.on('error', () => {});
      open.push(socket);
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      return socket;
    };
    const areOpen = () => open.filter((socket) => !socket.closed && !socket.readableEnded);

    test('idle tunnels of one user are refused from the cap on, those of its account from the next, and others are served', async () => {
      await allServed();
      await hold(caps.user - 2, alice());
      await served(victim());
      await hold(2, alice());
      await scene.expectRefusal(alice(), 'too_many_connections');
      expect(await statusOf(victim())).toBe(200);

      // The account has others, for whom there is a place; then its own cap is reached.
      await served(bob(1));
      await hold(caps.account - caps.user, bob(1));
      await scene.expectRefusal(bob(1), 'too_many_connections');
      expect(await statusOf(victim())).toBe(200);
      const question = { source: family.sources[0], port: family.normalPort, method: 'CONNECT' };
      const request = { ...question, host: family.originIp, destination_port: scene.origin.port };
      const explained = (source: string) =>
        scene.node.engine.explain({ kind: 'request', ...request, source, credentials: undefined });
      expect((await explained(family.sources[0])).decision).toMatchObject({
        verdict: 'deny',
        reason: 'too_many_connections',
        principal: { contract: 'contract1', user: 'alice' },
      });
      expect((await explained(family.sources[1])).decision.verdict).toBe('allow');

      for (const socket of open.splice(0)) socket.destroy();
      await allServed();
    });

    test('a node that is full says so, and lets its own health checks in', async () => {
      await allServed();
      await hold(caps.all / 3, alice());
      await hold(caps.all / 3, bob(1));
      await hold(caps.all / 3, { ...scene.tokened(2), from: oneNet(family)[0] as string });
      const another = { ...bob(2), from: manyNets(family)[0] as string };
      await scene.expectRefusal(another, 'too_many_connections');
      const check = { ...alice(), authorization: t.basic('secret', '-probe') };
      expect(await statusOf(check)).toBe(200);
      for (const socket of open.splice(0)) socket.destroy();
      await allServed();
    });

    test('idle connections of one client stay few, whatever addresses its /64 has', async () => {
      await allServed();
      for (let n = 0; n < 2 * openCount; n++) {
        await idle(oneNet(family)[n % 4] as string);
        if (n % 16 === 0) expect(await statusOf(victim())).toBe(200);
      }
      await t.until(async () => {
        // Squid's agent looks once a second.
        await scene.node.engine.poll(undefined);
        return areOpen().length <= openCount + 1;
      });
      expect(await statusOf(alice())).toBe(200);
    });

    test('idle connections of many clients make room for those who have a request', async () => {
      await allServed();
      for (const from of manyNets(family)) {
        for (let n = 0; n < 10; n++) await idle(from);
        expect(await statusOf(victim())).toBe(200);
      }
      await t.until(async () => {
        await scene.node.engine.poll(undefined);
        return areOpen().length <= caps.all;
      });
      expect(await statusOf(alice())).toBe(200);
      expect(scene.node.engine.faults()).toEqual([]);
    });

    // The same in every family.
    if (family.name === 'IPv6') return;

    test('a tunnel ends when nothing has moved in it for as long as is set, and not before', async () => {
      await stage.node.stop();
      stage.node = await begin({ EXITWARD_AGENT_IDLE_SECONDS: '2' });
      const tunnel = await t.openTunnel(alice(), scene.to);
      const used = await t.openTunnel(victim(), scene.to);
      const steps: string[] = [];
      const ended = tunnel.ended().then(() => steps.push('left'));
      while (!steps.includes('left')) {
        await used.ask(t.requestText('GET', scene.url));
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
      }
      expect(used.isEnded || used.isClosed).toBe(false);
      used.socket.destroy();
    });
  });
}
