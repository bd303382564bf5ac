// Forged lines in Squid's log: however many there are and whatever they contain, they bill no more
// than the machine carried.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { Claims, carriedBytes } from '../src/squid/agent/claims.ts';
import { MeterLog, noteStart, parseMeterLine } from '../src/squid/agent/meter_log.ts';
import { seed } from './histories.ts';
import { port, users } from './usage_clients.ts';
import { type Random, randomOf, World } from './usage_world.ts';

const lives = tries(60);
const steps = 60;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-forged-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const pick = <T>(random: Random, all: readonly T[]) => all[random(all.length)] as T;

/** A line as of Squid, with anything in it. */
function madeUp(random: Random): string | undefined {
  const bytes = () => pick(random, [0, 1, 4000, 1e6, 2 ** 40, 2 ** 53 - 1, -1, -(2 ** 40), 1.5]);
  const time = pick(random, ['1.000', '1800000300.500', '9007199254740991.000', '-5.000', 'x']);
  const at = pick(random, [port, port, 1, 99_999]);
  const account = pick(random, [1, 1, 1, 7, 2 ** 50]);
  const text = `${time} 192.0.2.1 ${1 + random(5)} ${at} ${account} ${1 + random(3)} ${bytes()} ${bytes()} origin:1 200 TCP_TUNNEL CONNECT`;
  return pick(random, [
    text,
    text,
    text,
    `Squid starts x${random(9)} 1800000300 ${'y'.repeat(22)}`,
    undefined,
  ]);
}

test(`random lines never bill more than the machine carried: ${lives} lives`, async () => {
  for (let life = 0; life < lives; life += 1) {
    const random = randomOf(seed + life);
    const folder = join(dir, String(life));
    const world = new World(mkdtempSync(folder), random);
    await world.startAgent();
    const key = () => 1 + random(3);
    const acts = [
      () => world.request(key(), pick(random, users)),
      () => world.transfer(key(), random(5000), random(5000)),
      () => world.transfer(key(), random(5000), random(5000)),
      () => world.finish(key(), random(2) === 0),
      () => world.tick(),
      () => world.forge(madeUp(random)),
      () => world.forge(madeUp(random)),
      () => world.forge(madeUp(random)),
      () => random(8) === 0 && world.killAgent(),
      () => world.startAgent(),
      () => random(4) === 0 && world.killSquid(),
      () => world.startSquid(),
    ];
    for (let remaining = steps; remaining > 0; remaining -= 1) await pick(random, acts)();
    await world.end();
    const truth = users.reduce(
      (sum, user) => sum + world.truth[user].up + world.truth[user].down,
      0,
    );
    // At its start, an agent accepts as much as the machine carried until then.
    const bound = truth + world.carried * world.agents;
    expect(world.billedInAll(), `EXITWARD_TEST_SEED=${seed + life}`).toBeLessThanOrEqual(bound);
    await world.killAgent();
  }
});

test('a line that claims more than there can have been is left out and reported, and those after it count', async () => {
  const world = new World(dir, randomOf(1));
  await world.startAgent();
  await world.tick();
  world.forge(
    `1800000300.500 192.0.2.1 9 ${port} 1 1 ${2 ** 40} 0 origin:1 200 TCP_TUNNEL CONNECT`,
  );
  world.request(1, 1);
  world.transfer(1, 5000, 100_000);
  world.finish(1, true);
  await world.end();
  expect(world.billed(1)).toEqual({ up: 5000, down: 100_000 });
  expect(world.faults()).toEqual(['forged']);
  await world.killAgent();
});

test('a start of Squid that no agent wrote, or wrote at another place, has nothing counted twice', async () => {
  for (const isAgain of [false, true]) {
    const world = new World(mkdtempSync(join(dir, 'start')), () => 1);
    await world.startAgent();
    await world.tick();
    world.request(1, 1);
    world.transfer(1, 5000, 5000);
    for (let n = 0; n < 5; n += 1) {
      await world.tick();
      // The second line is the agent's own.
      world.forge(isAgain ? undefined : `Squid starts one 1800000300 ${'s'.repeat(22)}`);
    }
    world.finish(1, true);
    await world.end();
    expect(world.billed(1)).toEqual({ up: 5000, down: 5000 });
    expect(world.faults()).toEqual(['forged']);
    await world.killAgent();
  }
});

test('lines from before a restart of a container count, whose kernel runs on and counts from zero', async () => {
  const world = new World(dir, randomOf(1));
  await world.startAgent();
  world.request(1, 1);
  world.transfer(1, 5000, 100_000);
  world.finish(1, true);
  await world.tick();
  world.request(2, 1);
  await world.killAgent();
  world.transfer(2, 5000, 100_000);
  world.finish(2, true);
  world.carried = 0;
  await world.startAgent();
  await world.end();
  expect(world.faults()).toEqual([]);
  expect(world.billed(1)).toEqual({ up: 10_000, down: 200_000 });
  await world.killAgent();
});

test('a count below zero is none, and takes nothing off what was counted', () => {
  const line = '1795253061.350 192.0.2.1 1 11001 1 1 10 20 origin:1 200 TCP_TUNNEL CONNECT';
  expect(parseMeterLine(line)?.up).toBe(10);
  expect(parseMeterLine(line.replace(' 10 ', ' -10 '))).toBeUndefined();
});

test('a line of the future does not make those after it old', async () => {
  const path = join(dir, 'meter.log');
  const at = (time: string) =>
    `${time} 192.0.2.1 1 11001 1 1 10 20 origin:1 200 TCP_TUNNEL CONNECT\n`;
  writeFileSync(path, at('9000000000.000'));
  expect((await new MeterLog(path).read(undefined, 1000)).position?.newest).toBe(1001);
  expect((await new MeterLog(path).end(1000))?.newest).toBe(1001);
});

test('a line of this second is as new as it says', async () => {
  const path = join(dir, 'meter.log');
  writeFileSync(path, `1000.350 192.0.2.1 1 ${port} 1 1 10 20 origin:1 200 TCP_TUNNEL CONNECT\n`);
  expect((await new MeterLog(path).read(undefined, 1000)).position?.newest).toBe(1000.35);
});

test('a line without an end does not hold up those behind it', async () => {
  const path = join(dir, 'meter.log');
  const log = new MeterLog(path);
  writeFileSync(path, Buffer.alloc(3 * 1024 * 1024, 'x'));
  const first = await log.read(undefined);
  appendFileSync(
    path,
    '\n1795253061.350 192.0.2.1 1 11001 1 1 10 20 origin:1 200 TCP_TUNNEL CONNECT\n',
  );
  expect((await log.read(first.position)).entries).toMatchObject([{ up: 10 }]);
  expect(log.isForged).toBe(true);
});

test('a flood of lines is not read into memory, and the log is read on behind it', async () => {
  const path = join(dir, 'meter.log');
  const log = new MeterLog(path);
  const line = '1795253061.350 192.0.2.1 1 11001 1 1 10 20 origin:1 200 TCP_TUNNEL CONNECT\n';
  noteStart(path, { start: 'one', at: 1 });
  const { position } = await log.read(undefined, 1000);
  appendFileSync(path, Buffer.alloc(40 * 1024 * 1024, line));
  appendFileSync(path, '\n');
  const flooded = await log.read(position, 1001);
  expect(flooded.entries.length).toBeLessThan((18 * 1024 * 1024) / line.length);
  appendFileSync(path, line);
  expect((await log.read(flooded.position, 1002)).entries).toMatchObject([{ up: 10 }]);
  expect(log.isForged).toBe(true);
});

test('lines that accumulate while polls fail are not a flood', async () => {
  const path = join(dir, 'meter.log');
  const log = new MeterLog(path);
  const host = `${'label.'.repeat(40)}example`;
  const line = `1795253061.350 192.0.2.1 1 11001 1 1 10 20 ${host}:1 200 TCP_TUNNEL CONNECT\n`;
  writeFileSync(path, line);
  const { position } = await log.read(undefined, 1000);
  const lines = Math.floor((10 * 1024 * 1024) / line.length);
  for (const now of [1001, 1002, 1003]) {
    appendFileSync(path, line.repeat(lines));
    // Something else fails, and the position is not stored.
    const part = await log.read(position, now);
    expect(part.entries.length).toBe(lines * (now - 1000));
  }
  expect(log.isForged).toBe(false);
});

test('what was carried more than some minutes ago can be claimed no more, nor by many lines of nothing', () => {
  let carried = 1e9;
  const claims = new Claims(() => carried);
  const none = { up: 0, down: 0 };
  claims.begin(10, true);
  let now = 1000;
  claims.look(now);
  expect(claims.admit({ up: 6e8, down: 0 }, none)).toBe(true);
  expect(claims.admit({ up: 6e8, down: 0 }, none)).toBe(false);
  // All of it is covered by the kernel's count of the connection.
  expect(claims.admit({ up: 6e8, down: 0 }, { up: 6e8, down: 0 })).toBe(true);
  for (let n = 0; n < 100; n += 1) {
    now += 10;
    claims.look(now);
  }
  expect(claims.admit({ up: 1e6, down: 0 }, none)).toBe(false);
  carried += 2560;
  claims.look(now);
  const admitted = Array.from({ length: 50 }, () => claims.admit(none, none)).filter(Boolean);
  expect(admitted.length).toBe(10);
});

test('this machine reports what it carried', () => {
  expect(carriedBytes()).toBeGreaterThanOrEqual(0);
});
