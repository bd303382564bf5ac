// Durability: the real process, killed at random moments in the middle of writes, and asked what it kept.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import type { Environment } from '../src/config.ts';
import { openDatabase } from '../src/db/database.ts';
import { contradictions } from './contradictions.ts';
import { eachDatabase } from './databases.ts';
import { Crowd, prepareSubject } from './durability.ts';
import { Random } from './random.ts';
import { ServerProcess } from './server_process.ts';

const asked = process.env.EXITWARD_TEST_KILL_CYCLES;
const cycles = asked ? Number(asked) : process.env.CI ? 50 : 4;
/** Killing our process says less about PostgreSQL, whose commits are in another one. */
const cyclesOf = { SQLite: cycles, PostgreSQL: Math.ceil(cycles * 0.3) };
const control_tries = 10;
const cycle_milliseconds = 4000;

/** Starts a network for the crowd, under a server that is as it should be. */
async function prepare(settings: Environment, random: Random): Promise<Crowd> {
  const server = await ServerProcess.start(settings);
  const crowd = new Crowd(await prepareSubject(server), random);
  await server.end('SIGKILL');
  return crowd;
}

/** Starts the server, compares with what was acknowledged before, writes, and kills it in the middle. */
async function cycle(settings: Environment, crowd: Crowd, random: Random): Promise<void> {
  const server = await ServerProcess.start(settings);
  await look(server, settings, crowd);
  const written = crowd.run(server);
  await sleep(random.between(20, 500));
  await server.end('SIGKILL');
  await written;
}

async function look(server: ServerProcess, settings: Environment, crowd: Crowd): Promise<void> {
  const db = await openDatabase(settings.EXITWARD_DATABASE_URL as string, { clock: systemClock });
  try {
    crowd.verdict.broken.push(...(await contradictions(db)));
    await crowd.settle(server, db);
    if (db.engine === 'sqlite') {
      const [check] = await db.all<{ integrity_check: string }>('pragma integrity_check');
      if (check?.integrity_check !== 'ok') crowd.verdict.broken.push(`${check?.integrity_check}`);
    }
  } finally {
    await db.close();
  }
}

eachDatabase((database) => {
  test(`a server that is killed keeps every acknowledged write and no half of one (${cyclesOf[database.name]} times)`, {
    timeout: 30_000 + cyclesOf[database.name] * cycle_milliseconds,
  }, async () => {
    const random = Random.printed(`durability on ${database.name}`);
    const settings = ServerProcess.settings({ EXITWARD_DATABASE_URL: await database.url() });
    const crowd = await prepare(settings, random);
    for (let done = 0; done < cyclesOf[database.name]; done += 1) {
      await cycle(settings, crowd, random);
      expect(crowd.verdict).toEqual({ lost: [], broken: [] });
    }
    const server = await ServerProcess.start(settings);
    await look(server, settings, crowd);
    await server.remove();
    expect(crowd.verdict).toEqual({ lost: [], broken: [] });
    expect(crowd.acknowledged).toBeGreaterThan(cyclesOf[database.name] * 10);
  });

  test('control: a server that acknowledges before it commits is seen to lose writes', {
    timeout: 30_000 + control_tries * cycle_milliseconds,
  }, async () => {
    const random = Random.printed(`durability control on ${database.name}`);
    const settings = ServerProcess.settings({ EXITWARD_DATABASE_URL: await database.url() });
    const crowd = await prepare(settings, random);
    const faulty = { ...settings, EXITWARD_TEST_ACKNOWLEDGE_BEFORE_COMMIT: 'yes' };
    for (let tries = 0; tries < control_tries && crowd.verdict.lost.length === 0; tries += 1) {
      await cycle(faulty, crowd, random);
    }
    const server = await ServerProcess.start(settings);
    await look(server, settings, crowd);
    await server.remove();
    expect(crowd.verdict.lost).not.toEqual([]);
  });
});
