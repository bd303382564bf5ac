// Kills and cuts in any order: the bill is what the clients counted.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '../../server/test/random.ts';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../deep_test.ts';
import { tries } from '../effort.ts';
import type { EngineName } from './agent_process.ts';
import type { Customer } from './control_plane.ts';
import { type Sum, Tally } from './tally.ts';
import { openTunnel, type Through, Traffic } from './traffic.ts';
import { through, type World } from './world.ts';

const passes = tries(2, { atLeast: 1 });
const clients = 4;
/** Traffic is counted once a second; the rest is the time until it is on disk. */
const countedSeconds = 2.5;
const patienceSeconds = 60;

interface Scene {
  world: World;
  agent: World['agents'][number];
  random: Random;
  tally: Tally;
  traffic: Traffic[];
  /** A client of an account that is not counted. */
  watch: Through;
  isServed(): Promise<boolean>;
}

type Blow = (scene: Scene) => Promise<void>;

/** How long something is away. */
const away = (random: Random) => sleep(random.between(200, 1500));

/** Lets what was transferred be counted, so that nothing is lost by what follows. */
async function rest({ traffic }: Scene): Promise<void> {
  await Promise.all(traffic.map((client) => client.pause()));
  await sleep(countedSeconds * 1000 + 100);
}

const killControl: Blow = async (scene) => {
  const { world, random } = scene;
  await world.control.kill();
  expect(await scene.isServed()).toBe(true);
  await away(random);
  await world.control.startAgain();
};

const cutLink: Blow = async (scene) => {
  const { world, random } = scene;
  world.control.relay.cut();
  expect(await scene.isServed()).toBe(true);
  await away(random);
  world.control.relay.heal();
};

/** The agent is dead; Squid is not, and nothing may be lost. */
const killAgent: Blow = async (scene) => {
  const { agent, random } = scene;
  const steady = await openTunnel(scene.watch, scene.world.tunnel);
  await agent.end('SIGKILL');
  expect(await scene.isServed()).toBe(true);
  const squids = agent.squids();
  await steady.transfer(10, 10);
  await away(random);
  await agent.start();
  expect(agent.squids()).toEqual(squids);
  await steady.transfer(10, 10);
  await steady.close();
};

/**
 * The agent gets a signal to end, and Squid with it: all that went through until then is counted.
 */
const terminateAgent: Blow = async ({ agent, random }) => {
  await agent.end('SIGTERM');
  await away(random);
  await agent.start();
};

/** The agent is the proxy: it takes with it what it had not counted. */
const killProxy: Blow = async ({ agent, random, tally }) => {
  await agent.end('SIGKILL');
  tally.forgive(countedSeconds);
  await away(random);
  await agent.start();
};

const killAgentAndControl: Blow = async (scene) => {
  await scene.world.control.kill();
  await (scene.world.engine === 'squid' ? killAgent : killProxy)(scene);
  await scene.world.control.startAgain();
};

const killSquid: Blow = async ({ agent, tally, isServed }) => {
  agent.killSquids();
  tally.forgive(countedSeconds);
  await until(() => isServed(), 40);
};

const killSquidAndAgent: Blow = async ({ agent, random, tally }) => {
  await agent.end('SIGKILL');
  agent.killSquids();
  tally.forgive(countedSeconds);
  await away(random);
  await agent.start();
};

/** Nothing is under way: then nothing is forgiven either, since nothing was transferred lately. */
const atRest =
  (blow: Blow): Blow =>
  async (scene) => {
    await rest(scene);
    await blow(scene);
    for (const client of scene.traffic) client.resume();
  };

/** Nothing may be lost. */
const harmless: Record<EngineName, Record<string, Blow>> = {
  embedded: {
    killControl,
    cutLink,
    killProxyAtRest: atRest(killProxy),
  },
  squid: {
    killControl,
    cutLink,
    killAgent,
    killAgentAndControl,
    killSquidAtRest: atRest(killSquid),
  },
};
/** Bytes that were not counted yet are lost. */
const harmful: Record<EngineName, Record<string, Blow>> = {
  embedded: { killProxy, killAgentAndControl },
  squid: { killSquid, killSquidAndAgent },
};

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  return list
    .map((item) => [random.next(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/**
 * Plays all blows in an order of chance while customers use the proxy; then everything is up, and
 * over.
 */
async function play(world: World, blows: Record<string, Blow>): Promise<Outcome> {
  const random = Random.printed(`${world.engine}: ${Object.keys(blows).join(', ')}`);
  const { server, agent, place } = await world.node();
  const [customer, watcher] = [await world.customer(server), await world.customer(server)];
  await agent.follow();
  const [own, watched] = [await customer.list(), await watcher.list()];
  const credentials = await customer.credentials();
  // Both, so that each connection is decided by what a dead agent left behind.
  const ways = [through(place, own.ip), through(place, own.ip, { credentials })] as const;
  const watch = through(place, watched.ip);
  await until(async () => (await world.decisionFor(watch)) === '200');
  const tally = new Tally();
  const traffic = Array.from({ length: clients }, (_, index) => {
    const by = ways[index % 2] as (typeof ways)[0];
    return new Traffic({ through: by, origin: world.origin, tally, random: random.fork() });
  });
  const isServed = async () => (await world.decisionFor(watch).catch(() => '')) === '200';
  const scene: Scene = { world, agent, random, tally, traffic, watch, isServed };
  const order = Array.from({ length: passes }, () => shuffled(random, Object.entries(blows)));
  try {
    for (const [name, blow] of order.flat()) {
      await sleep(random.between(300, 1200));
      await blow(scene).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      });
    }
    await sleep(500);
  } finally {
    await Promise.all(traffic.map((client) => client.stop()));
  }
  await agent.until(({ state }) => state === 'following', 40);
  return { customer, tally, world };
}

interface Outcome {
  world: World;
  customer: Customer;
  tally: Tally;
}

/**
 * The bill in the end: when it has not changed for a while, and no more is awaited, for which a
 * busy machine has its time.
 */
async function finallyBilled({ world, customer, tally }: Outcome): Promise<Sum> {
  const { min } = tally.bounds;
  const latest = performance.now() + patienceSeconds * 1000;
  let billed = await world.control.billed(customer);
  const isAwaited = () =>
    (billed.up < min.up || billed.down < min.down) && performance.now() < latest;
  for (let same = 0; same < 8 || isAwaited(); ) {
    await sleep(500);
    const before = billed;
    billed = await world.control.billed(customer);
    same = before.up === billed.up && before.down === billed.down ? same + 1 : 0;
  }
  return billed;
}

export function killingTests(world: () => World, engine: EngineName): void {
  test('whatever is killed, every byte is billed once: of a proxy at rest what it has carried, of anything else what is under way', async () => {
    const outcome = await play(world(), harmless[engine]);
    const { tally } = outcome;
    expect(tally.exchanges).toBeGreaterThan(100);
    expect(Object.fromEntries(tally.refusals)).toEqual({});
    expect(await finallyBilled(outcome)).toEqual(tally.sum);
  }, 600_000);

  deepTest(
    'when the proxy itself is killed, nothing is billed twice, and no more is lost than was not yet counted',
    async () => {
      const outcome = await play(world(), harmful[engine]);
      const { tally } = outcome;
      const { min, max } = tally.bounds;
      const billed = await finallyBilled(outcome);
      console.log(`${engine}: clients counted`, tally.sum, 'billed', billed, 'between', min, max);
      expect(tally.exchanges).toBeGreaterThan(100);
      for (const way of ['up', 'down'] as const) {
        expect(billed[way]).toBeGreaterThanOrEqual(min[way]);
        expect(billed[way]).toBeLessThanOrEqual(max[way]);
      }
    },
    600_000,
  );

  deepTest(
    'when the agent gets the signal to end, all that went through until then is billed, once',
    async () => {
      const outcome = await play(world(), { terminateAgent });
      const { min, max } = outcome.tally.bounds;
      // Nothing is forgiven: the most is what clients of broken exchanges sent and heard.
      expect(min).toEqual(outcome.tally.sum);
      const billed = await finallyBilled(outcome);
      for (const way of ['up', 'down'] as const) {
        expect(billed[way]).toBeGreaterThanOrEqual(min[way]);
        expect(billed[way]).toBeLessThanOrEqual(max[way]);
      }
    },
    600_000,
  );
}
