// The last release, as git has it, is upgraded in place: the server on its database, the agents
// beside both versions of it, in either order.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from '../server/test/client.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { passwordOf } from '../server/test/harness.ts';
import { until } from '../server/test/waiting.ts';
import { released, unpackCommit } from './earlier.ts';
import type { AgentProcess } from './system/agent_process.ts';
import type { Customer } from './system/control_plane.ts';
import { nextClientIp, nextNodePlace } from './system/places.ts';
import { openTunnel } from './system/traffic.ts';
import { through, World } from './system/world.ts';

const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../server/package.json'), 'utf8'),
);

eachDatabase((database) => {
  let folder: string;
  let world: World;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'exitward-upgrade-'));
    unpackCommit(released.commit, folder, 'server', 'agent', 'kit', 'docs');
    const settings = { EXITWARD_DATABASE_URL: await database.emptyUrl() };
    world = await World.start('embedded', settings, join(folder, 'server/test/serve.ts'));
  });
  afterAll(async () => {
    await world?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const versionsShown = async () => {
    const nodes = await world.control.do('GET', '/nodes');
    return nodes.map((node: { version: string; is_behind?: boolean }) => node.version).sort();
  };
  /** Moves bytes through a node, and waits until they are billed. */
  async function use(customer: Customer, by: ReturnType<typeof through>): Promise<void> {
    const billed = await world.control.billed(customer);
    const tunnel = await openTunnel(by, world.tunnel);
    await tunnel.transfer(1000, 50_000);
    await tunnel.close();
    await until(
      async () => (await world.control.billed(customer)).down >= billed.down + tunnel.received,
      30,
    );
  }

  test('all that it stored is there, old and new agents serve by either server, and each is shown as what it is', async () => {
    const { control } = world;
    const places = [nextNodePlace(), nextNodePlace()] as const;
    const servers = [
      await world.addServer(places[0].exit_ip),
      await world.addServer(places[1].exit_ip),
    ] as const;
    const program = join(folder, 'agent/bin/exitward-agent.js');
    const agents: AgentProcess[] = [
      await world.addAgent(servers[0], { place: places[0], program }),
      // The agent first: this version by the older server.
      await world.addAgent(servers[1], { place: places[1] }),
    ];
    for (const agent of agents) await agent.follow();
    expect((await control.do('GET', '/status')).version).toBe(released.version);

    const customers = [await world.customer(servers[0]), await world.customer(servers[1])] as const;
    const listed = [await customers[0].list(), await customers[1].list()] as const;
    const tokens = [await customers[0].credentials(), await customers[1].credentials()] as const;
    const ways = [0, 1].flatMap((at) => [
      through(places[at as 0], listed[at as 0].ip),
      through(places[at as 0], nextClientIp(), { credentials: tokens[at as 0] }),
    ]);
    const served = async () => {
      for (const way of ways) await until(async () => (await world.decisionFor(way)) === '200', 40);
    };
    await served();
    for (const at of [0, 1] as const) await use(customers[at], ways[2 * at] as (typeof ways)[0]);
    const { name } = customers[0];
    const override = {
      server: servers[0],
      hostname: 'a.example',
      ip: '192.0.2.7',
      expiry: 4e9 / 2,
    };
    expect((await customers[0].api.post('/contract/overrides', override)).status).toBe(201);
    expect((await customers[1].api.delete('/contract/ip-authlist')).status).toBeLessThan(300);
    const [{ removal_id }] = await control.do('GET', `/accounts/${customers[1].name}/removals`);
    const { code } = await control.do('POST', `/accounts/${name}/users/alice/invite`);
    const browser = new Browser(control.base_url);
    const password = passwordOf('alice');
    expect((await browser.post('/invite/accept', { code, password })).status).toBe(201);

    const shown = ['/contract', '/users', '/contract/ip-authlist', '/contract/overrides'];
    const responses = async () => [
      await Promise.all(shown.map(async (path) => (await customers[0].api.get(path)).body)),
      await control.do('GET', `/accounts/${name}/usage?by=user`),
      await control.do('GET', `/accounts/${name}/tokens`),
      // Their ids were numbers once, of which an account learned how much all others do.
      (await control.do('GET', '/audit?limit=1000'))
        .filter(({ action }: { action: string }) => !/^(node|session)/.test(action))
        .map(({ id: _, ...record }: { id: unknown }) => record),
    ];
    const earlier = await responses();

    // Killed in the middle of the migration, more than once; and an older program is refused after
    // it.
    await control.kill();
    for (const milliseconds of [150, 300, 450, 600]) await control.startAndKill(milliseconds);
    await control.startAgain();
    expect((await control.do('GET', '/status')).version).toBe(version);
    const now = await responses();
    expect(now).toMatchObject(earlier);
    expect((now[3] as unknown[]).length).toBe((earlier[3] as unknown[]).length);
    // The name of the cookie has the port since then (docs/upgrading.md).
    expect((await browser.get('/session')).status).toBe(401);
    expect(
      (
        await new Browser(control.base_url).post('/session', {
          account: name,
          user: 'alice',
          password,
        })
      ).status,
    ).toBeLessThan(300);
    const undone = await control.do('POST', `/accounts/${customers[1].name}/authlist/restore`, {
      removal_id,
    });
    expect(undone.restored).toBe(1);

    // The server first: the older agent by this server, and changes reach both.
    for (const agent of agents) await agent.until(({ state }) => state === 'following', 60);
    await served();
    for (const at of [0, 1] as const) await use(customers[at], ways[2 * at] as (typeof ways)[0]);
    await until(
      async () => (await versionsShown()).join() === [released.version, version].sort().join(),
      60,
    );
    const late = await customers[0].list();
    const lateWay = through(places[0], late.ip);
    await until(async () => (await world.decisionFor(lateWay)) === '200', 40);

    // The last agent is upgraded on its folder: what it had not sent is billed, and it is shown as
    // what it is.
    await agents[0]?.end('SIGTERM');
    agents[0]?.upgrade();
    await agents[0]?.follow();
    await until(async () => (await versionsShown()).join() === [version, version].join(), 60);
    await served();
    await use(customers[0], lateWay);
  }, 300_000);
});
