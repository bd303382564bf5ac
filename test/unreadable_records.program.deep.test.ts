// One value in the database that no node can read, put there past every check: all else goes on as
// before, and it is reported.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../server/test/waiting.ts';
import { nextClientIp, nextNodePlace } from './system/places.ts';
import { through, World } from './system/world.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-unreadable-'));
const database = join(folder, 'exitward.db');
let world: World;
beforeAll(async () => {
  world = await World.start('embedded', { EXITWARD_DATABASE_URL: `sqlite:${database}` });
});
afterAll(async () => {
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('an exit address that is none: addresses are revoked, nodes join, operators see it, and it can be removed', async () => {
  const { control } = world;
  const { server, agent, place } = await world.node();
  const customer = await world.customer(server);
  await agent.follow();
  const [stays, goes] = [await customer.list(), await customer.list()];
  const decision = (from: string, at = place) => world.decisionFor(through(at, from));
  await until(async () => (await decision(goes.ip)) === '200', 20);

  await control.kill();
  const sql = new DatabaseSync(database);
  sql.exec(`insert into exit_ips (server_id, ip, port_base, status, status_time)
    select id, '127.0.0.300', 7, 'unknown', 0 from servers where name = '${server}'`);
  sql.close();
  await control.startAgain();
  // Nodes get the server as it is.
  await control.do('PATCH', `/servers/${server}`, { title: 'Another' });

  await customer.api.delete(`/contract/ip-authlist/${goes.id}`);
  await until(async () => (await decision(goes.ip)) === '407 unknown_address', 20);
  expect(await decision(stays.ip)).toBe('200');

  const other = { ...nextNodePlace(), exit_ip: place.exit_ip };
  await (await world.addAgent(server, { place: other })).follow();
  await until(async () => (await decision(stays.ip, other)) === '200', 20);

  const nodes = async () =>
    (await control.operator.get('/nodes')).body as Array<{
      id: number;
      live: boolean;
      lag: number;
      faults: Array<{ kind: string; subject: string; message: string }>;
    }>;
  const faults = async () =>
    (await nodes()).map((node) => node.faults.filter(({ kind }) => kind === 'record'));
  const reported = {
    subject: 'server',
    message: expect.stringContaining('exit_ips[1].ip: expected an address, not "127.0.0.300"'),
  };
  await until(async () => (await faults()).every(({ length }) => length === 1), 20);
  expect(await faults()).toMatchObject([[reported], [reported]]);
  await until(async () => (await nodes()).every(({ live, lag }) => live && lag === 0), 20);
  const [first] = await nodes();
  expect((await control.command('node', 'show', `${first?.id}`)).stdout).toContain('127.0.0.300');

  // It is known from the disk, too.
  await agent.end('SIGKILL');
  control.relay.cut();
  await agent.start();
  expect((await agent.status()).faults).toContainEqual(expect.objectContaining(reported));
  expect(await decision(goes.ip)).toBe('407 unknown_address');
  expect(await decision(stays.ip)).toBe('200');
  control.relay.heal();

  const feed = await control.operator.get('/geofeed.csv');
  expect([feed.status, feed.text.includes(`${place.exit_ip}/32`)]).toEqual([200, true]);
  expect(feed.text).not.toContain('127.0.0.300');
  const { body } = await control.operator.get('/inventory');
  expect((await control.operator.post('/inventory', body)).body).toMatchObject({ changed: [] });

  await control.command('exit', 'remove', server, '127.0.0.300', '--yes');
  await until(async () => (await faults()).flat().length === 0, 20);
  expect(await decision(stays.ip)).toBe('200');
  expect(await decision(nextClientIp())).toBe('407 unknown_address');
});
