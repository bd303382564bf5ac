// Bytes through a real Squid are billed exactly, whatever dies: agent and Squid together, the
// machine, or the journal.
import { renameSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { Journal } from '../src/usage/journal.ts';
import { Meter } from '../src/usage/meter.ts';
import * as t from './proxy_world.ts';
import { nodesOfFile, type SquidNode } from './squid_node.ts';

let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

const { start } = nodesOfFile();
const log = pino({ level: 'silent' });
const normal = { port: t.normalPort };

/** The counting part of an agent, on the node's engine. */
class Counter {
  readonly node: SquidNode;
  #journal: Journal | undefined;
  #meter: Meter | undefined;

  constructor(node: SquidNode) {
    this.node = node;
  }
  get path(): string {
    return join(this.node.dir, 'usage.journal');
  }
  get #log(): string {
    return join(this.node.dir, 'squid/0/logs/meter.log');
  }

  async open(): Promise<void> {
    const engine = this.node.engine;
    this.#journal = await Journal.open(this.path, { log });
    const parts = { engine, journal: this.#journal, clock: systemClock, log, poll_seconds: 1 };
    this.#meter = new Meter(parts);
  }
  async tick(): Promise<void> {
    await this.#meter?.tick();
  }
  /** The bytes in the journal that will be billed. */
  get billed() {
    const rows = this.#journal?.pending() ?? [];
    return rows.reduce((all, { up, down }) => ({ up: all.up + up, down: all.down + down }), {
      up: 0,
      down: 0,
    });
  }
  /** Ticks until this is billed; returns the billed bytes. */
  async until({ up, down }: { up: number; down: number }): Promise<void> {
    for (let remaining = 200; remaining > 0; remaining -= 1) {
      await this.tick();
      if (this.billed.up >= up && this.billed.down >= down) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(this.billed).toEqual({ up, down });
  }
  /** The agent dies without a last tick; `meanwhile` is done before the next one starts. */
  async restart(meanwhile: () => Promise<void> | void = () => {}): Promise<void> {
    await this.close();
    const { engine } = this.node;
    await engine.stop({ leave_running: true });
    await meanwhile();
    await this.node.restart();
    await this.open();
    await this.node.engine.catchUp();
  }
  async close(): Promise<void> {
    await this.#journal?.close();
  }
  async killSquid(): Promise<void> {
    for (const pid of this.node.squids()) process.kill(pid, 'SIGKILL');
    await t.until(() => this.node.squids().length === 0);
  }
  /** The last bytes of the log are lost with the machine. */
  cutLog(): void {
    truncateSync(this.#log, Math.floor(statSync(this.#log).size / 2));
  }
}

let counter: Counter;
const begin = async () => {
  counter = new Counter(await start());
  await counter.open();
  return counter;
};
afterEach(() => counter?.close());

const sumOf = (...clients: t.Client[]) => ({
  up: clients.reduce((sum, { sent }) => sum + sent, 0),
  down: clients.reduce((sum, { received }) => sum + received, 0),
});
const request = (bytes: number) => t.requestText('GET', `/bytes/${bytes}`);

test('of an agent and a Squid that die together all is billed, and all of a later connection from the same port', async () => {
  await begin();
  const first = await t.openTunnel(normal, origin.to);
  const { localPort = 0 } = first.socket;
  await first.ask(request(2_000_000));
  await counter.until(sumOf(first));
  await counter.restart(() => counter.killSquid());
  first.socket.resetAndDestroy();
  const second = await t.openTunnel({ ...normal, local_port: localPort }, origin.to);
  await second.ask(request(3_000_000));
  await second.close();
  await counter.until(sumOf(first, second));
});

deepTest(
  'a power cut that shortens the log bills nothing of it again, and is reported',
  async () => {
    await begin();
    const before = await Promise.all([1, 2, 3, 4].map(() => t.Client.exchange(origin.url)));
    await counter.until(sumOf(...before));
    await counter.restart(async () => {
      await counter.killSquid();
      counter.cutLog();
    });
    await counter.tick();
    expect(counter.billed).toEqual(sumOf(...before));
    expect(t.messagesOf(counter.node.engine)).toEqual([
      expect.stringMatching(/meter\.log is not the log that was read until now/),
    ]);
    const after = await t.Client.exchange(origin.url);
    await counter.until(sumOf(...before, after));
  },
);

deepTest(
  'a journal that was moved away begins where the log ends, also of what is open',
  async () => {
    await begin();
    const tunnel = await t.openTunnel(normal, origin.to);
    await tunnel.ask(request(100_000));
    const closed = await t.Client.exchange(origin.url);
    await counter.until(sumOf(tunnel, closed));
    const before = sumOf(tunnel);
    await counter.restart(() => renameSync(counter.path, `${counter.path}.away`));
    await counter.tick();
    expect(counter.billed).toEqual({ up: 0, down: 0 });
    await tunnel.ask(request(50_000));
    const after = await t.Client.exchange(origin.url);
    const whole = sumOf(tunnel, after);
    const rest = { up: whole.up - before.up, down: whole.down - before.down };
    await counter.until(rest);
    await tunnel.close();
    await counter.tick();
    expect(counter.billed).toEqual(rest);
  },
);

deepTest(
  'an engine that was stopped reports the last bytes of the connections that it ended',
  async () => {
    const { node } = await begin();
    const tunnel = await t.openTunnel(normal, origin.to);
    await tunnel.ask(request(100_000));
    await counter.tick();
    await tunnel.ask(request(50_000));
    await node.engine.stop({ leave_running: false });
    await tunnel.ended();
    await counter.tick();
    expect(counter.billed).toEqual(sumOf(tunnel));
  },
);
