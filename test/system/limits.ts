// A limit that is reached while the control plane is away: the node ends it by its own count, and
// not for good.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../deep_test.ts';
import { openTunnel } from './traffic.ts';
import { through, type World } from './world.ts';

const limitBytes = 3_000_000;
const patienceSeconds = 60;

export function limitTests(world: () => World): void {
  test('what passes a limit is ended by the node while the control plane is away, and let in again when the limit was raised', async () => {
    const { control } = world();
    const { server, agent, place } = await world().node();
    await agent.follow();
    const customer = await world().customer(server, { limit_bytes: limitBytes });
    const client = through(place, (await customer.list()).ip);
    const isLetIn = async () => (await world().decisionFor(client)) === '200';
    await until(isLetIn, patienceSeconds);
    const open = await openTunnel(client, world().tunnel);
    await open.transfer(10, 10);
    await until(async () => (await control.billed(customer)).up > 0, patienceSeconds);
    // The answer, which says what is left, is in.
    await agent.until(({ usage_waiting }) => usage_waiting === 0, patienceSeconds);

    control.relay.cut();
    await open.transfer(limitBytes / 6, limitBytes / 6);
    expect(await isLetIn()).toBe(true);
    await open.transfer(limitBytes / 2, limitBytes / 2).catch(() => undefined);
    expect(await open.endsWithin(patienceSeconds)).toBe(true);
    expect(await world().decisionFor(client)).toBe('403 over_limit');

    await control.do('PATCH', `/accounts/${customer.name}`, { limit_bytes: 100 * limitBytes });
    control.relay.heal();
    await until(isLetIn, patienceSeconds);
    await agent.remove();
  }, 600_000);

  deepTest(
    'a tunnel at a steady pace is ended when little more than its limit has passed',
    async () => {
      const { server, agent, place } = await world().node();
      await agent.follow();
      const limit = 40_000_000;
      const customer = await world().customer(server, { limit_bytes: limit });
      const client = through(place, (await customer.list()).ip);
      await until(async () => (await world().decisionFor(client)) === '200', patienceSeconds);
      const open = await openTunnel(client, world().tunnel);
      const begun = performance.now();
      const seconds = () => (performance.now() - begun) / 1000;
      let moved = 0;
      const step = 100_000;
      const pace_a_second = 10_000_000;
      for (let isOpen = true; isOpen && seconds() < patienceSeconds; ) {
        isOpen = await open.transfer(100, step).then(
          () => true,
          () => false,
        );
        moved += isOpen ? 100 + step : 0;
        await sleep(Math.max(0, (moved / pace_a_second - seconds()) * 1000));
      }
      const over = moved - limit;
      console.log(
        `${world().engine}: ${over} bytes over, at ${Math.round(moved / seconds())} a second`,
      );
      // The margin of a loaded machine: before traffic was counted ahead, 3 to 4 seconds of it
      // passed.
      expect(over).toBeGreaterThan(-step);
      expect(over).toBeLessThan(moved / seconds());
      await agent.remove();
    },
    600_000,
  );
}
