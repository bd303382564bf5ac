// Lives of a node with three clients and real charons on all sides: agent and charon are killed in
// any order, and every byte is counted once.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UsageRow } from '../../kit/src/node_interface.ts';
import { tries } from '../../test/effort.ts';
import { newSeed } from '../../test/seed.ts';
import { contractRecord, until, userRecord } from './proxy_world.ts';
import { type Login, passwordOf, vpnRecords } from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const clients = [1, 2, 3];
const world = new VpnWorld();

beforeAll(() => world.start(clients.length));
afterAll(() => world.stop());

interface Bytes {
  up: number;
  down: number;
}

const loginOf = (client: number): Login => {
  return { login: `alice@contract${client}`, password: passwordOf(client) };
};
const difference = (after: Bytes, before: Bytes): Bytes => {
  return { up: after.up - before.up, down: after.down - before.down };
};
const tunnels = async () => (await world.node.ask<{ tunnels?: number }>({ do: 'counts' })).tunnels;

class Life {
  readonly #billed = new Map<number, Bytes>();
  /** The bytes, as the devices of the clients count them. */
  readonly #carried = new Map(clients.map((client) => [client, { up: 0, down: 0 }]));

  async connect(client: number): Promise<void> {
    // A charon that was killed is started within a second.
    await until(() =>
      world
        .client(client)
        .connect(loginOf(client))
        .then(
          () => true,
          () => false,
        ),
    );
  }

  async transfer(client: number, bytes: { up?: number; down?: number }): Promise<void> {
    const device = world.client(client);
    const [before, node_before] = [device.deviceBytes(), world.deviceBytes()];
    device.fetch({ ...bytes, rate: 'k', seconds: 30 });
    await device.settle();
    const carried = difference(device.deviceBytes(), before);
    const { up, down } = difference(world.deviceBytes(), node_before);
    // The other clients are silent. The node receives what this client sends.
    expect({ up: down, down: up }).toEqual(carried);
    const sum = this.#carried.get(client) as Bytes;
    sum.up += carried.up;
    sum.down += carried.down;
  }

  async tick(): Promise<void> {
    this.#note(await world.node.ask<UsageRow[]>({ do: 'tick' }));
  }

  #note(rows: UsageRow[]): void {
    for (const { account, up, down } of rows) {
      const sum = this.#billed.get(account) ?? { up: 0, down: 0 };
      this.#billed.set(account, { up: sum.up + up, down: sum.down + down });
    }
  }

  async killAgent(meanwhile: () => Promise<void> | void): Promise<void> {
    await world.node.kill();
    await meanwhile();
    await world.startNode();
  }

  async restartAgent(): Promise<void> {
    this.#note(await world.node.ask<UsageRow[]>({ do: 'stop', leave_running: true }));
    await world.startNode();
  }

  async charonDied(): Promise<void> {
    await until(async () => (await tunnels()) === 0);
    await Promise.all(clients.map((client) => this.connect(client)));
  }

  /** Waits until everything is over, and reported. */
  async end(): Promise<void> {
    await Promise.all(clients.map((client) => world.client(client).disconnect()));
    await until(async () => (await tunnels()) === 0);
    // The polls: one ends sessions without a tunnel, one reports them, one drops them.
    for (let count = 0; count < 3; count += 1) await this.tick();
    for (const client of clients) {
      expect(this.#billed.get(client) ?? { up: 0, down: 0 }).toEqual(this.#carried.get(client));
    }
  }
}

type Step = (life: Life, client: number) => Promise<void>;
const killCharon = () => process.kill(world.charonPid(), 'SIGKILL');
const steps: Record<string, Step> = {
  down: (life, client) => life.transfer(client, { down: 30_000 }),
  up: (life, client) => life.transfer(client, { up: 30_000 }),
  'leave and come back': async (life, client) => {
    await world.client(client).disconnect();
    await life.connect(client);
  },
  // The tunnels go on without the agent.
  agent: (life, client) => life.killAgent(() => life.transfer(client, { down: 20_000 })),
  upgrade: (life) => life.restartAgent(),
  charon: async (life) => {
    killCharon();
    await life.charonDied();
  },
  'agent, then charon': async (life) => {
    await life.killAgent(() => {
      killCharon();
    });
    await life.charonDied();
  },
  'charon, then agent': async (life) => {
    killCharon();
    await life.killAgent(() => {});
    await life.charonDied();
  },
};

const lives = tries(10, { atLeast: 3 });
const step = fc.tuple(fc.constantFrom(...Object.keys(steps)), fc.constantFrom(...clients));

test(`every byte of ${lives * clients.length} clients is counted once, in whatever order which process is killed`, async () => {
  await world.apply(...vpnRecords(), contractRecord(3), userRecord(3));
  await world.serving();
  const seed = newSeed();
  console.log(`deaths of the VPN: EXITWARD_TEST_SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 5 }), async (drawn) => {
      const life = new Life();
      await Promise.all(clients.map((client) => life.connect(client)));
      for (const [name, client] of drawn) {
        await (steps[name] as Step)(life, client);
        await life.tick();
      }
      await life.end();
    }),
    // First an agent that dies before its first poll of sessions.
    { numRuns: lives, endOnFailure: true, seed, examples: [[[['agent', 1]]]] },
  );
  // On a slow machine a life takes half a minute.
}, 900_000);
