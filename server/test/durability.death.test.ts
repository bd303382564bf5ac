// Durability: the real process, killed at random moments in the middle of writes, and asked what it
// kept.

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { effort, tries } from '../../test/effort.ts';
import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/open.ts';
import { contradictions } from './contradictions.ts';
import { eachDatabase, type TestDatabase } from './databases.ts';
import { Crowd, prepareSubject } from './durability.ts';
import { startTestApp } from './harness.ts';
import { Random } from './random.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const cycles = tries(50, { setting: 'EXITWARD_TEST_KILL_CYCLES', atLeast: 3 });
/** Killing our process says less about PostgreSQL, whose commits are in another one. */
const cyclesOf = { SQLite: cycles, PostgreSQL: Math.ceil(cycles * 0.3) };
const controlTries = 40;
/** A deep run checks that this test detects losses: it kills a faulty server until one shows. */
const controlled: Array<TestDatabase['name']> | undefined = effort === 'deep' ? undefined : [];
const nothing = { lost: [], broken: [] };
const cycleMs = 60_000;

/** On a machine that has much else to do a 503 for want of time is no fault of what is tested. */
function settingsOf(url: string): Environment {
  const patient = '?connect_timeout=60&query_timeout=60000&statement_timeout=50000';
  return ServerProcess.settings({
    EXITWARD_DATABASE_URL: url.startsWith('postgres') ? url + patient : url,
  });
}

/** Starts a network for the crowd, under a server that is as it should be. */
async function prepare(settings: Environment, random: Random): Promise<Crowd> {
  const server = await ServerProcess.start(settings);
  const crowd = new Crowd(await prepareSubject(server), random);
  await kill(server, settings);
  return crowd;
}

/**
 * Kills the server, and waits until PostgreSQL has done with what it had sent: its last commit,
 * which it did not acknowledge, may take effect after it. A look in between sees two states.
 */
async function kill(server: ServerProcess, settings: Environment): Promise<void> {
  await server.end('SIGKILL');
  const url = settings.EXITWARD_DATABASE_URL as string;
  if (!url.startsWith('postgres')) return;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const backends = `select pid from pg_stat_activity
    where datname = current_database() and application_name = 'exitward'`;
  try {
    await until(async () => (await client.query(backends)).rows.length === 0, 60);
  } finally {
    await client.end();
  }
}

/**
 * Starts the server, compares with what was acknowledged before, writes, and kills it in the
 * middle.
 */
async function cycle(
  settings: Environment,
  crowd: Crowd,
  random: Random,
  program?: string,
): Promise<void> {
  const server = await ServerProcess.start(settings, { program });
  let written: Promise<void> | undefined;
  try {
    await look(server, settings, crowd);
    written = crowd.run(server);
    // By what was written and not by the time, so that a slow machine sees no fewer writes cut
    // short.
    await crowd.acknowledges(random.between(1, 80));
    await sleep(random.next() * 10);
  } finally {
    await kill(server, settings);
    await written;
  }
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
    timeout: 180_000 + cyclesOf[database.name] * cycleMs,
  }, async () => {
    const random = Random.printed(`durability on ${database.name}`);
    const settings = settingsOf(await database.url());
    const crowd = await prepare(settings, random);
    for (let done = 0; done < cyclesOf[database.name]; done += 1) {
      await cycle(settings, crowd, random);
      expect(crowd.verdict).toMatchObject(nothing);
    }
    const server = await ServerProcess.start(settings);
    await look(server, settings, crowd);
    await server.remove();
    expect(crowd.verdict).toMatchObject(nothing);
  });
});

eachDatabase((database) => {
  test('control: a server that acknowledges before it commits is seen to lose writes', {
    timeout: 30_000 + controlTries * cycleMs,
  }, async () => {
    const random = Random.printed(`durability control on ${database.name}`);
    const settings = settingsOf(await database.url());
    const crowd = await prepare(settings, random);
    const faulty = fileURLToPath(new URL('serve_early.ts', import.meta.url));
    for (let tries = 0; tries < controlTries && crowd.verdict.lost.length === 0; tries += 1) {
      await cycle(settings, crowd, random, faulty);
    }
    const server = await ServerProcess.start(settings);
    await look(server, settings, crowd);
    await server.remove();
    expect(crowd.verdict.lost).not.toEqual([]);
  });
}, controlled);

eachDatabase((database) => {
  test('control: what a half-written change would leave behind is seen', async () => {
    const t = await startTestApp(await database.url());
    const { db } = t.running.ctx;
    await t.server('fra1');
    const account = t.as(await t.account('acme', { servers: ['fra1'] }));
    const expiry = t.now() + 1000;
    await account.post('/contract/ip-authlist', { ip: '192.0.2.1', user: 'alice', expiry });
    const override = { server: 'fra1', hostname: 'a.example', ip: '192.0.2.1', expiry };
    await account.post('/contract/overrides', override);
    const node = await t.node('fra1');
    const row = { account: 1, user: 1, at: t.now(), up: 1, down: 2 };
    await node.send('POST', '/usage', { boot: 'b', seq: 1, rows: [row] });
    expect(await contradictions(db)).toEqual([]);

    const halves: Array<[string, string]> = [
      ["delete from changes where kind = 'authlist'", 'an entry without its change'],
      ["delete from audit where action = 'override.create'", 'an entry without its audit row'],
      ['delete from authlist', 'the count of entries is wrong'],
      ["update counters set last = 0 where list = 'overrides'", 'an id that will be given again'],
      ['update overrides set revision = revision + 1', 'a revision that no change has'],
      ['update network set revision = 1', 'a revision behind its changes'],
      ['delete from versions where account_id = 1', 'behind the changes of their account'],
      ["delete from counters where list = 'audit'", 'an id that will be given again'],
      ['update usage_server_hours set bytes = bytes + 1', 'hours and their sums differ'],
      ['update usage_hour_sums set bytes = bytes + 1', 'the sums by hour differ'],
      ['delete from usage_day_sums where kind = 0', 'the sums by day differ'],
      ['update usage_day_sums set ranked = 0', 'the ranks of days'],
      ['delete from usage_periods', 'hours and periods differ'],
    ];
    for (const [half, seen] of halves) {
      const tampering = t.write(async (tx) => {
        await tx.run(half);
        throw new Seen(await contradictions(tx));
      });
      const { found: faults } = (await tampering.catch((error) => error)) as Seen;
      expect([half, faults]).toEqual([
        half,
        expect.arrayContaining([expect.stringContaining(seen)]),
      ]);
    }
    expect(await contradictions(db)).toEqual([]);
    await t.stop();
  });
});

/** Carries what was found out of a transaction that must not last. */
class Seen extends Error {
  readonly found: string[];

  constructor(contradictions: string[]) {
    super('seen');
    this.found = contradictions;
  }
}
