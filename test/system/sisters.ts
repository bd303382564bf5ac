// Two nodes of one server: what counts as done is what both have done, and what both have carried
// is billed.
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import type { EngineName } from './agent_process.ts';
import { inAnHour } from './control_plane.ts';
import { nextNodePlace } from './places.ts';
import { Tally } from './tally.ts';
import { openTunnel } from './traffic.ts';
import { through, type World } from './world.ts';

/** Twice what the control plane takes, in these tests, to call a node lost. */
const losingSeconds = 60;

/** Both follow the control plane itself: its relay is others' to cut. */
async function startSisters(world: World, engines: [EngineName, EngineName]) {
  const { control } = world;
  const places = [nextNodePlace(), nextNodePlace()] as const;
  const server = await world.addServer(places[0].exit_ip);
  const exit_ip = places[0].exit_ip;
  const [first, second] = await Promise.all(
    ([0, 1] as const).map((index) =>
      world.addAgent(server, {
        place: { ...places[index], exit_ip },
        engine: engines[index],
        url: control.node_url,
      }),
    ),
  );
  if (!first || !second) throw new Error('there are two');
  const customer = await world.customer(server);
  await Promise.all([first.follow(), second.follow()]);
  return {
    ...{ first, second, customer },
    /** Adds an entry; answers its id. */
    async addEntry(hostname: string): Promise<number> {
      const entry = { server, hostname, ip: world.origin.host, expiry: inAnHour() };
      return (await customer.api.post('/contract/overrides', entry)).body.id;
    },
    async statusOf(entry: number): Promise<string> {
      return (await customer.api.get(`/contract/overrides/${entry}`)).body.status;
    },
    /** The text that the operator reads about it. */
    async shown(entry: number): Promise<string> {
      return (await control.command('override', 'show', customer.name, String(entry))).stdout;
    },
  };
}

export function sistersTests(world: () => World, engines: [EngineName, EngineName]): void {
  test.concurrent('an entry is active when both nodes have applied it, and a silent one is waited for until it is lost', async () => {
    const { first, second, addEntry, statusOf, shown } = await startSisters(world(), engines);
    const entry = await addEntry('a.example');
    await until(async () => (await statusOf(entry)) === 'active');
    expect(await shown(entry)).toContain('active on 2 of 2');

    second.signal('SIGSTOP');
    const later = await addEntry('b.example');
    const waiting = `active on 1 of 2, waiting for ${second.name}`;
    await until(async () => (await shown(later)).includes(waiting));
    expect(await statusOf(later)).toBe('pending');
    expect(await statusOf(entry)).toBe('active');
    await until(async () => (await statusOf(later)) === 'active', losingSeconds);
    const lost = `active on 1 of 1; not live, and not waited for: ${second.name}`;
    expect(await shown(later)).toContain(lost);

    second.signal('SIGCONT');
    await until(async () => (await shown(later)).includes('active on 2 of 2'), 30);
    await Promise.all([first.remove(), second.remove()]);
  });

  test.concurrent('what both nodes carried is billed together; an entry waits for one that is dead until it is back', async () => {
    const scene = await startSisters(world(), engines);
    const { first, second, customer, addEntry, statusOf, shown } = scene;
    const { ip } = await customer.list();
    const tally = new Tally();
    for (const { place } of [first, second]) {
      // A refusal costs nothing.
      const open = () => openTunnel(through(place, ip), world().tunnel).catch(() => undefined);
      const tunnel = await until(open);
      await tunnel.transfer(100_000, 200_000);
      await tunnel.close();
      tally.addWhole({ up: tunnel.sent, down: tunnel.received });
    }
    await until(async () => {
      const { up, down } = await world().control.billed(customer);
      return up >= tally.sum.up && down >= tally.sum.down;
    });
    expect(await world().control.billed(customer)).toEqual(tally.sum);

    await second.end('SIGKILL');
    const entry = await addEntry('a.example');
    const waiting = `active on 1 of 2, waiting for ${second.name}`;
    await until(async () => (await shown(entry)).includes(waiting));
    expect(await statusOf(entry)).toBe('pending');
    await second.follow();
    await until(async () => (await statusOf(entry)) === 'active');
    expect(await shown(entry)).toContain('active on 2 of 2');
    await Promise.all([first.remove(), second.remove()]);
  });
}
