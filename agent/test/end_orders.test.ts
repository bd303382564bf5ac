// Orders to end connections, while processes die: each ends only connections that were open when
// this node took it.
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EndOrder } from '../../kit/src/node_interface.ts';
import { Random } from '../../server/test/random.ts';
import { tries } from '../../test/effort.ts';
import { ControlError } from '../src/control_error.ts';
import { EndOrders } from '../src/link/end_orders.ts';

const log = pino({ level: 'silent' });
const lives = tries(3000);
const lifeSeconds = 60;

/** The control plane and one node, whose connections outlive its agents. */
class World {
  seconds = 0;
  readonly open = new Set<number>();
  /** By order: when it was given and taken, and the connections that it ended. */
  readonly orders = new Map<number, { at: number; taken_at?: number; ended: number[] }>();
  /** By connection, when it began. */
  readonly began = new Map<number, number>();
  readonly reports: Array<{ order: number; ended: number }> = [];
  /** The place of the next fault: a request, or the engine. */
  fault: 'lost_request' | 'lost_response' | 'engine' | 'late' | undefined;
  /** Requests of a dead agent have no effect, and it ends no more connections. */
  agent = 0;
  #connections = 0;
  readonly #ends: number[] = [];

  connect(): void {
    this.#connections += 1;
    this.open.add(this.#connections);
    this.began.set(this.#connections, this.seconds);
  }

  start(): EndOrders {
    this.agent += 1;
    const own = this.agent;
    const die = () => {
      if (own !== this.agent) throw new ControlError('the agent is dead');
    };
    return new EndOrders({
      clock: { now: () => this.seconds, steady: () => this.seconds, sleep: async () => {} },
      log,
      control: {
        takeOrder: async (id) => {
          await Promise.resolve();
          die();
          if (this.#takesFault('lost_request')) throw new ControlError('no answer');
          const order = this.orders.get(id);
          if (!order || order.taken_at !== undefined || this.seconds >= order.at + lifeSeconds) {
            throw new ControlError('it is over', { status: 404 });
          }
          order.taken_at = this.seconds;
          if (this.#takesFault('lost_response')) throw new ControlError('no answer');
          if (this.#takesFault('late')) this.seconds += 3600;
          await Promise.resolve();
          die();
        },
        reportEnded: async (order, ended) => {
          die();
          if (this.#takesFault('lost_request')) throw new ControlError('no answer');
          this.reports.push({ order, ended });
        },
      },
      engine: {
        end: async (order: EndOrder) => {
          die();
          if (this.#takesFault('engine')) throw new Error('its decider is not connected');
          const named = [...this.open];
          const id = order.account ?? 0;
          this.#ends.push(id);
          this.orders.get(id)?.ended.push(...named);
          for (const connection of named) this.open.delete(connection);
          await Promise.resolve();
          return named.length;
        },
      },
    });
  }

  /** How often an order was carried out. */
  times(id: number): number {
    return this.#ends.filter((end) => end === id).length;
  }

  #takesFault(fault: World['fault']): boolean {
    if (this.fault !== fault) return false;
    this.fault = undefined;
    return true;
  }
}

/** The engine notes what it ends by the order's account. */
const give = (world: World, id: number) => {
  world.orders.set(id, { at: world.seconds, ended: [] });
  return { account: id };
};

let world: World;
beforeEach(() => {
  world = new World();
  for (let count = 0; count < 3; count += 1) world.connect();
});

test('an order is taken, ends what is open, and the number is reported', async () => {
  await world.start().note(1, give(world, 1));
  expect(world.reports).toEqual([{ order: 1, ended: 3 }]);
});

describe('nothing is ended', () => {
  test.each(['lost_request', 'lost_response', 'late'] as const)(
    'when the node cannot know that it took the order in time: %s',
    async (fault) => {
      world.fault = fault;
      await world.start().note(1, give(world, 1));
      expect(world.open.size).toBe(3);
      expect(world.reports).toEqual([]);
    },
  );

  test('by an order that comes again to the next agent, or after its time', async () => {
    const order = give(world, 1);
    await world.start().note(1, order);
    world.connect();
    const next = world.start();
    await next.note(1, order);
    const old = give(world, 2);
    world.seconds += lifeSeconds;
    await next.note(2, old);
    expect(world.open.size).toBe(1);
  });
});

test('an engine that fails, and orders that pile up, do not hold up later ones', async () => {
  const orders = world.start();
  world.fault = 'engine';
  await orders.note(1, give(world, 1));
  expect(world.open.size).toBe(3);
  const ids = Array.from({ length: 300 }, (_, at) => at + 2);
  await Promise.all(ids.map((id) => orders.note(id, give(world, id))));
  expect(world.reports).toHaveLength(256);
  expect(world.reports[0]).toEqual({ order: 2, ended: 3 });
  await orders.note(999, give(world, 999));
  expect(world.reports.at(-1)).toEqual({ order: 999, ended: 0 });
});

test('orders of one account hold up neither those of others nor those that name no account', async () => {
  const orders = world.start();
  const running: Promise<void>[] = [];
  for (let id = 1; id <= 300; id += 1) {
    give(world, id);
    running.push(orders.note(id, { account: 7, user: id }));
  }
  for (const [id, order] of [
    [301, { account: 8 }],
    [302, { address: '192.0.2.1' }],
  ] as const) {
    give(world, id);
    running.push(orders.note(id, order));
  }
  await Promise.all(running);
  const reported = world.reports.map(({ order }) => order);
  expect(reported).toHaveLength(256);
  // The order that was under way comes first.
  expect(reported.slice(0, 4)).toEqual([1, 2, 301, 302]);
});

test(`agent, decider and link die in any order, and an order ends at most once what was open then: ${lives} lives`, async () => {
  const { seed } = Random.printed('orders to end connections');
  for (let life = 0; life < lives; life += 1) {
    const random = new Random(seed + life);
    world = new World();
    let orders = world.start();
    const running: Promise<void>[] = [];
    for (let step = 0; step < 40; step += 1) {
      const id = random.between(1, 6);
      const what = random.one(['connect', 'connect', 'order', 'again', 'die', 'fault', 'pass']);
      if (what === 'connect') world.connect();
      else if (what === 'order' && !world.orders.has(id)) {
        running.push(orders.note(id, give(world, id)));
      } else if (what === 'again' && world.orders.has(id)) {
        running.push(orders.note(id, { account: id }));
      } else if (what === 'die') orders = world.start();
      else if (what === 'fault') {
        world.fault = random.one(['lost_request', 'lost_response', 'engine', 'late']);
      } else if (what === 'pass') world.seconds += random.one([1, 30, 70]);
      for (let turns = random.between(0, 4); turns > 0; turns -= 1) await Promise.resolve();
    }
    await Promise.all(running);
    for (const [id, { at, taken_at = at, ended }] of world.orders) {
      // A response may be on its way for a moment.
      const newest = Math.max(0, ...ended.map((connection) => world.began.get(connection) ?? 0));
      const isLate = newest > taken_at + 15 || newest > at + lifeSeconds + 15;
      if (isLate || world.times(id) > 1) expect.fail(`order ${id}: seed ${seed + life}`);
    }
    for (const { order, ended } of world.reports) {
      expect(world.orders.get(order)?.ended).toHaveLength(ended);
    }
  }
});
