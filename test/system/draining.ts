// A drained node, through the deaths of its agent and of the control plane: empty when the last
// tunnel is over, and not before.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import type { EngineName } from './agent_process.ts';
import { nextClientIp } from './places.ts';
import { openTunnel } from './traffic.ts';
import { through, type World } from './world.ts';

export function drainingTests(world: () => World, engine: EngineName): void {
  test('a drained node stays so whatever dies, and is empty when its last tunnel is over', async () => {
    const { control } = world();
    const { server, agent, place } = await world().node();
    const customer = await world().customer(server);
    const client = through(place, nextClientIp(), { credentials: await customer.credentials() });
    const decision = () => world().decisionFor(client);
    await agent.follow();
    await until(async () => (await decision()) === '200', 20);
    const { node } = await agent.status();
    const shown = async () => (await control.do('GET', `/nodes/${node}`)).connections;
    let tunnel = await openTunnel(client, world().tunnel);
    await tunnel.transfer(10, 10);
    await control.command('node', 'drain', String(node), '--yes');
    await until(async () => (await decision()) === '503 drained', 10);
    await until(async () => (await shown()) === 1, 40);

    await control.kill();
    await agent.end('SIGKILL');
    await agent.start();
    expect(await decision()).toBe('503 drained');
    // The embedded engine is the agent: its tunnels ended with it.
    if (engine === 'squid') await tunnel.transfer(10, 10);
    await control.startAgain();
    await agent.until(({ state }) => state === 'following');
    await until(async () => (await shown()) === (engine === 'squid' ? 1 : 0), 40);
    expect(await decision()).toBe('503 drained');

    await control.command('node', 'undrain', String(node));
    await until(async () => (await decision()) === '200', 10);
    if (engine === 'embedded') tunnel = await openTunnel(client, world().tunnel);
    let isEmpty = false;
    const waiting = control
      .command('node', 'drain', String(node), '--wait', '--yes')
      .then((said) => {
        isEmpty = true;
        return said.stderr;
      });
    await until(async () => (await decision()) === '503 drained', 10);
    await until(async () => (await shown()) === 1, 40);
    // By now it waits, and the wait outlives a restart of the server.
    await sleep(2000);
    await control.kill();
    await control.startAgain();
    await agent.until(({ state }) => state === 'following', 60);
    await tunnel.transfer(10, 10);
    expect(isEmpty).toBe(false);
    await tunnel.close();
    expect(await waiting).toContain('accepts no new connections');
    await control.command('node', 'undrain', String(node));
    await until(async () => (await decision()) === '200', 10);
    await agent.remove();
  }, 600_000);
}
