// A limit that is reached while the control plane is away: the node ends it by its own count, and not for good.
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { openTunnel } from './traffic.ts';
import { through, type World } from './world.ts';

const limit_bytes = 3_000_000;
const patience_seconds = 60;

export function limitTests(world: () => World): void {
  test('what passes a limit is ended by the node while the control plane is away, and let in again when the limit was raised', async () => {
    const { control } = world();
    const { server, agent, place } = await world().node();
    await agent.follow();
    const customer = await world().customer(server, { limit_bytes });
    const client = through(place, (await customer.list()).ip);
    const isLetIn = async () => (await world().decisionFor(client)) === '200';
    await until(isLetIn, patience_seconds);
    const open = await openTunnel(client, world().tunnel);
    await open.transfer(10, 10);
    await until(async () => (await control.billed(customer)).up > 0, patience_seconds);
    // The answer, which says what is left, is in.
    await agent.until(({ usage_waiting }) => usage_waiting === 0, patience_seconds);

    await control.relay.cut();
    await open.transfer(limit_bytes / 6, limit_bytes / 6);
    expect(await isLetIn()).toBe(true);
    await open.transfer(limit_bytes / 2, limit_bytes / 2).catch(() => undefined);
    expect(await open.endsWithin(patience_seconds)).toBe(true);
    expect(await world().decisionFor(client)).toBe('403 over_limit');

    await control.do('PATCH', `/accounts/${customer.name}`, { limit_bytes: 100 * limit_bytes });
    await control.relay.heal();
    await until(isLetIn, patience_seconds);
    await agent.remove();
  }, 240_000);
}
