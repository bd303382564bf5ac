// The agent of the last release, as git has it, as a node of this control plane: nodes are upgraded
// after their control plane.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../server/test/waiting.ts';
import { released, unpackCommit } from './earlier.ts';
import { nextClientIp, nextNodePlace } from './system/places.ts';
import { openTunnel } from './system/traffic.ts';
import { through, World } from './system/world.ts';

/** A node believes that it is revoked after half a minute. */
const revokedSeconds = 90;

let folder: string;
let world: World;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-old-agent-'));
  world = await World.start('embedded');
});
afterAll(async () => {
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('an agent of the last release keeps working with this server', async () => {
  const { control } = world;
  const place = nextNodePlace();
  const server = await world.addServer(place.exit_ip);
  const customer = await world.customer(server);
  const decisionFor = (ip: string) => world.decisionFor(through(place, ip));
  const first = await customer.list();

  unpackCommit(released.commit, folder, 'agent', 'kit');
  const program = join(folder, 'agent/bin/exitward-agent.js');
  // It joins, takes a snapshot, and follows the changes.
  const agent = await world.addAgent(server, { place, program });
  await agent.follow();
  expect(await decisionFor(first.ip)).toBe('200');
  const second = await customer.list();
  await until(async () => (await decisionFor(second.ip)) === '200');
  expect(await decisionFor(nextClientIp())).toBe('407 unknown_address');
  const credentials = await customer.credentials();
  expect(await world.decisionFor(through(place, nextClientIp(), { credentials }))).toBe('200');

  // Its usage is billed. When it stops it reports which entries let connections in; the server
  // writes that once a minute.
  const counted = await world.customer(server);
  const { ip, id } = await counted.list();
  await until(async () => (await decisionFor(ip)) === '200');
  const before = await control.billed(counted);
  const tunnel = await openTunnel(through(place, ip), world.tunnel);
  await tunnel.transfer(100_000, 200_000);
  await tunnel.close();
  await until(
    async () => (await control.billed(counted)).down >= before.down + tunnel.received,
    20,
  );
  const entries = () => control.do('GET', `/accounts/${counted.name}/authlist`);
  expect(await entries()).toMatchObject([{ id, last_used_at: null }]);
  await agent.end('SIGTERM');
  await until(async () => (await entries())[0].last_used_at !== null, 90);
  await agent.follow();

  // Its place in the log of changes is gone with a backup: it takes a new snapshot.
  const { applied } = await agent.status();
  const backup = join(folder, 'backup.db');
  await control.command('backup', backup);
  await control.kill();
  await control.command('restore', backup, '--yes');
  await control.startAgain();
  await agent.until((status) => status.applied?.epoch !== applied?.epoch, 60);
  await agent.until(({ state }) => state === 'following', 60);
  expect(await decisionFor(first.ip)).toBe('200');
  const third = await customer.list();
  await until(async () => (await decisionFor(third.ip)) === '200');

  // Revoked, it lets nobody in.
  const { node } = await agent.status();
  await control.do('DELETE', `/nodes/${node}`);
  await agent.until(({ state }) => state === 'revoked', revokedSeconds);
  await until(async () => (await decisionFor(first.ip).catch(String)).includes('ECONNREFUSED'));
}, 600_000);
