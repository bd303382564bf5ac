// An agent whose engine is changed, on the folder that it has: it serves at once, and bills each
// byte once.
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { nextClientIp } from './places.ts';
import { Tally } from './tally.ts';
import { openTunnel, type ProxyConnection } from './traffic.ts';
import { through, type World } from './world.ts';

export function switchingTests(world: () => World): void {
  test('an agent serves by the policy on its disk whichever engine it had before, and what each carried is billed once', async () => {
    const { control } = world();
    const { server, agent, place } = await world().node();
    const customer = await world().customer(server);
    const client = through(place, nextClientIp(), { credentials: await customer.credentials() });
    const tally = new Tally();
    const count = ({ sent, received }: ProxyConnection) =>
      tally.addWhole({ up: sent, down: received });
    const use = async (up: number, down: number) => {
      // A refusal costs nothing.
      const open = () => openTunnel(client, world().tunnel).catch(() => undefined);
      const tunnel = await until(open, 60);
      await tunnel.transfer(up, down);
      return tunnel;
    };
    try {
      await agent.follow({ EXITWARD_AGENT_ENGINE: 'embedded' });
      for (const [round, engine] of ['squid', 'embedded', 'squid', 'embedded'].entries()) {
        const whole = await use(10_000 * (round + 1), 300_000);
        await whole.close();
        count(whole);
        // Open while the agent gets the signal to end.
        count(await use(20_000, 100_000 * (round + 1)));
        await agent.end();
        // Without a control plane there is no snapshot that would fix it.
        control.relay.cut();
        await agent.start({ EXITWARD_AGENT_ENGINE: engine });
        const first = await use(1000, 2000);
        await first.close();
        count(first);
        // Several polls of the new engine: nothing is wrong with what the other one left.
        await agent.until(({ usage_waiting }) => usage_waiting > 0);
        const { faults } = await agent.status();
        // Nothing of the control plane, which cannot be reached.
        const isOfCut = (fault: { kind: string; message: string }) =>
          ['control', 'exit'].includes(fault.kind) || /cannot be reported/.test(fault.message);
        expect(faults.filter((fault) => !isOfCut(fault))).toEqual([]);
        control.relay.heal();
        await agent.until(
          ({ state, usage_waiting }) => state === 'following' && usage_waiting === 0,
        );
        expect(await control.billed(customer)).toEqual(tally.sum);
      }
    } finally {
      control.relay.heal();
      await agent.remove();
    }
  }, 600_000);
}
