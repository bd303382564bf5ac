// Faults: a full disk, a locked file, a database that goes away. No 2xx that is not kept, and no
// restart needed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { testFolder } from '../../test/test_folder.ts';
import { withDatabase } from '../src/cli/storage.ts';
import { systemClock } from '../src/clock.ts';
import type { Config } from '../src/config.ts';
import type { Actor } from '../src/db/database.ts';
import { markStorageFault, storageFault } from '../src/db/faults.ts';
import { openDatabase } from '../src/db/open.ts';
import { contradictions } from './contradictions.ts';
import { eachDatabase } from './databases.ts';
import { type Answer, basic, startTestApp, type TestApp, TestClient } from './harness.ts';
import { Relay } from './relay.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const tester: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };

/**
 * An account with one entry, the same GET already answered once, and what both tests do with it.
 */
async function prepare(t: TestApp) {
  await t.server('fra1');
  const account = await t.account('acme', { servers: ['fra1'] });
  const client = t.as(account);
  let written = 0;
  const write = (headers?: Record<string, string>) => {
    written += 1;
    const ip = `10.${(written >> 16) & 255}.${(written >> 8) & 255}.${written & 255}`;
    return client.post(
      '/contract/ip-authlist',
      { ip, user: 'alice', expiry: t.now() + 1000 },
      headers,
    );
  };
  const read = () => client.get('/contract/ip-authlist');
  const ips = async () => ((await read()).body as Array<{ ip: string }>).map(({ ip }) => ip);
  expect((await write()).status).toBe(201);
  expect((await read()).status).toBe(200);
  return { account, client, write, read, ips };
}

function expectUnavailable(answer: Answer): void {
  expect([answer.status, answer.text]).toEqual([503, expect.any(String)]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.body).toEqual({ message: expect.stringMatching(/database|whether/i) });
}

describe('SQLite', () => {
  const folder = testFolder('faults');

  test('a command on the database itself names the fault of the engine, not the 503 for it', async () => {
    const work = withDatabase(
      { database_url: `sqlite:${join(folder, 'command.db')}` } as Config,
      async () => {
        throw storageFault(markStorageFault(new Error('Query read timeout')));
      },
    );
    await expect(work).rejects.toThrow(/^The database failed: Query read timeout\.$/);
  });

  test('while its file is removed, or replaced: 503 on changes, not ready, and the doctor and the status say so', async () => {
    const file = join(folder, 'lost.db');
    const t = await startTestApp(`sqlite:${file}`);
    const { write, read } = await prepare(t);
    const state = async () => {
      const ready = await fetch(`${t.base_url}/readyz`);
      const { findings } = (await t.operator.get('/doctor')).body;
      const database = findings.find(({ name }: { name: string }) => name === 'database');
      return [
        ready.status,
        ((await ready.clone().json()) as { code?: string }).code,
        ((await ready.json()) as { message?: string }).message,
        database.state,
        database.sentence,
        (await t.operator.get('/status')).body.database.fault,
      ];
    };
    expect(await state()).toEqual([200, undefined, undefined, 'ok', expect.any(String), null]);
    copyFileSync(file, `${file}.copy`);
    renameSync(file, `${file}.away`);
    const sentence = expect.stringContaining('removed or replaced');
    expect(await state()).toEqual([503, 'database_lost', sentence, 'fault', sentence, sentence]);
    expectUnavailable(await write());
    expect((await read()).status).toBe(200);
    renameSync(`${file}.copy`, file);
    expect(await state()).toEqual([503, 'database_lost', sentence, 'fault', sentence, sentence]);
    expectUnavailable(await write());

    renameSync(`${file}.away`, file);
    expect((await write()).status).toBe(201);
    expect(await state()).toEqual([200, undefined, undefined, 'ok', expect.any(String), null]);
    await t.stop();
  });

  test('a full database answers 503 to writes and 200 to reads, and recovers without a restart', async () => {
    const t = await startTestApp(`sqlite:${join(folder, 'full.db')}`);
    const { write, read, ips } = await prepare(t);
    const { db } = t.running.ctx;
    const stored = new Set(await ips());
    // The engine's own limit: the same error as a disk without space, on any machine.
    const pages = await db.one<{ page_count: number }>('pragma page_count');
    await db.script([`pragma max_page_count = ${(pages?.page_count ?? 0) + 1}`]);
    let refused = 0;
    for (let tries = 0; tries < 2000 && refused < 20; tries += 1) {
      const answer = await write();
      if (answer.status === 201) stored.add(answer.body.ip);
      else {
        expectUnavailable(answer);
        refused += 1;
      }
      expect((await read()).status).toBe(200);
    }
    expect(refused).toBe(20);
    expect(new Set(await ips())).toEqual(stored);
    expect(await contradictions(db)).toEqual([]);

    await db.script(['pragma max_page_count = 1000000000']);
    const answer = await write();
    expect(answer.status).toBe(201);
    expect(new Set(await ips())).toEqual(stored.add(answer.body.ip));
    expect(await contradictions(db)).toEqual([]);
    await t.stop();
  });

  test('after a full disk has ended a transaction in the middle, nothing of the rest is written', async () => {
    const t = await startTestApp(`sqlite:${join(folder, 'ended.db')}`);
    const { db } = t.running.ctx;
    const pages = await db.one<{ page_count: number }>('pragma page_count');
    await db.script([`pragma max_page_count = ${pages?.page_count ?? 0}`]);
    const count = (list: string) =>
      [`insert into counters (account_id, list, last) values (88, $1, 1)`, [list]] as const;
    const outcome = db.write(tester, async (tx) => {
      // As rooms do: statements that are sent together and none of which waits for the one before.
      await Promise.all([
        tx.run(...count('before')),
        tx.run(...count('x'.repeat(1_000_000))),
        tx.run(...count('behind')),
      ]);
    });
    await expect(outcome).rejects.toMatchObject({ status: 503 });
    expect(await db.all('select list from counters where account_id = 88')).toEqual([]);
    await t.stop();
  });

  deepTest(
    'a disk that takes no more bytes: nothing acknowledged is lost, also after a restart',
    async () => {
      const file = join(folder, 'limited.db');
      const settings = ServerProcess.settings({ EXITWARD_DATABASE_URL: `sqlite:${file}` });
      const server = await ServerProcess.start(settings);
      const { operator } = server;
      const account = { name: 'acme', plan: 'Team', expiry: 4_000_000_000, limit_bytes: 1 };
      const { api_token } = (await operator.post('/accounts', account)).body;
      await operator.post('/accounts/acme/users', { name: 'alice', flags: { proxy: true } });
      const client = new TestClient(`${server.base_url}/v0`, { authorization: basic(api_token) });
      const expiry = Math.floor(Date.now() / 1000) + 86_400;
      let written = 0;
      const write = () => {
        written += 1;
        const ip = `10.0.${written >> 8}.${written & 255}`;
        return client.post('/contract/ip-authlist', { ip, user: 'alice', expiry });
      };
      const ips = async (by = client) =>
        ((await by.get('/contract/ip-authlist')).body as Array<{ ip: string }>).map(({ ip }) => ip);
      /** No file of the process may grow past this, from now on; 'unlimited' takes it back. */
      const limit = (bytes: string) =>
        execFileSync('prlimit', ['--pid', String(server.child.pid), `--fsize=${bytes}:`]);

      const stored = new Set<string>();
      const note = (answer: Answer) => {
        if (answer.status === 201) stored.add(answer.body.ip);
        else expectUnavailable(answer);
        return answer.status;
      };
      limit(String(statSync(`${file}-wal`).size + 100_000));
      let refused = 0;
      for (let tries = 0; tries < 500 && refused < 20; tries += 1) {
        const statuses = await Promise.all(
          [write(), write(), write()].map(async (answer) => note(await answer)),
        );
        refused += statuses.filter((status) => status === 503).length;
      }
      expect(refused).toBeGreaterThanOrEqual(20);
      expect(new Set(await ips())).toEqual(stored);
      expect((await fetch(`${server.base_url}/readyz`)).status).toBe(200);

      limit('unlimited');
      expect(note(await write())).toBe(201);
      expect(new Set(await ips())).toEqual(stored);
      await server.end('SIGKILL');
      const again = await ServerProcess.start(settings);
      const after = new TestClient(`${again.base_url}/v0`, { authorization: basic(api_token) });
      expect(new Set(await ips(after))).toEqual(stored);
      await again.remove();
    },
  );

  deepTest(
    'another process that holds the write lock: 503 after a while, reads all the while, then it goes on',
    async () => {
      const file = join(folder, 'locked.db');
      const t = await startTestApp(`sqlite:${file}`);
      const { write, read } = await prepare(t);
      const holder = spawn(process.execPath, [
        '-e',
        `const { DatabaseSync } = require('node:sqlite');
       const db = new DatabaseSync(${JSON.stringify(file)});
       db.exec('begin immediate');
       console.log('held');
       process.stdin.on('end', () => db.close()).resume();`,
      ]);
      const gone = once(holder, 'close');
      await once(holder.stdout, 'data');

      const waiting = [write(), write()];
      await sleep(50);
      const late = write();
      for (let reads = 0; reads < 20; reads += 1) {
        const started = performance.now();
        expect((await read()).status).toBe(200);
        expect(performance.now() - started).toBeLessThan(1000);
        await sleep(20);
      }
      for (const answer of await Promise.all([...waiting, late])) expectUnavailable(answer);

      const next = write();
      holder.stdin.end();
      expect((await next).status).toBe(201);
      expect(await contradictions(t.running.ctx.db)).toEqual([]);
      await gone;
      await t.stop();
    },
  );
});

describe('PostgreSQL', () => {
  test('a server that refuses is not said to be silent: its reason is given', async () => {
    const good = inject('postgresUrl');
    const reasonFor = (change: (url: URL) => void) => {
      const url = new URL(good);
      change(url);
      return openDatabase(url.href, { clock: systemClock }).then(
        () => undefined,
        ({ message }: Error) => message,
      );
    };
    const refused = 'The PostgreSQL server refuses the connection:';
    expect(await reasonFor((url) => Object.assign(url, { pathname: '/exitward_none' }))).toBe(
      `${refused} database "exitward_none" does not exist.`,
    );
    expect(await reasonFor((url) => Object.assign(url, { password: 'wrong' }))).toBe(
      `${refused} password authentication failed for user "${new URL(good).username}".`,
    );
    const unasked = await reasonFor((url) => Object.assign(url, { password: '' }));
    expect(unasked).toMatch(/^Cannot connect to the PostgreSQL server: .*password/);
  });

  eachPostgres('its server is not reached', (made) => {
    test('while it refuses: 503 on reads and writes, alive but not ready; then all goes on', async () => {
      const { t, relay, write, read } = made;
      expect((await fetch(`${t.base_url}/readyz`)).status).toBe(200);
      relay.cut();
      expectUnavailable(await read());
      expectUnavailable(await write());
      expectUnavailable(await read());
      expect((await fetch(`${t.base_url}/healthz`)).status).toBe(200);
      const notReady = await fetch(`${t.base_url}/readyz`);
      expect(notReady.status).toBe(503);
      expect(notReady.headers.get('retry-after')).toBe('5');
      expect((await t.operator.get('/accounts')).status).toBe(503);
      expect((await fetch(t.running.metrics_url as string)).status).toBe(200);

      relay.heal();
      expect((await read()).status).toBe(200);
      expect((await write()).status).toBe(201);
      expect((await fetch(`${t.base_url}/readyz`)).status).toBe(200);
    });

    deepTest(
      'while it takes connections and never answers: 503 within the time limits',
      async () => {
        const { relay, write, read } = made;
        relay.silence();
        const started = performance.now();
        const answers = await Promise.all([read(), write(), read(), write(), write()]);
        for (const answer of answers) expectUnavailable(answer);
        for (const answer of await Promise.all([read(), write()])) expectUnavailable(answer);
        expect(performance.now() - started).toBeLessThan(12_000);
        relay.heal();
        await until(async () => (await read()).status === 200);
        await until(async () => (await write()).status === 201);
      },
    );

    test('a change that another process made meanwhile is never answered over with a cached response', async () => {
      const { t, relay, other, read, account } = made;
      await read();
      const before = (await read()).text;
      relay.cut();
      const ip = '172.16.0.1';
      const made_there = await other
        .as(account)
        .post('/contract/ip-authlist', { ip, user: 'alice', expiry: t.now() + 1000 });
      expect(made_there.status).toBe(201);
      expectUnavailable(await read());
      relay.heal();
      const after = (await read()).text;
      expect(after).not.toBe(before);
      expect(after).toContain(ip);
    });

    test.each(['cut', 'silence'] as const)(
      'after a %s the streams hear of other processes again, without a restart',
      async (how) => {
        const { t, relay, other, account } = made;
        await t.server(`s-${how}`);
        await t.operator.put(`/accounts/acme/servers/s-${how}`, {});
        const node = await t.node(`s-${how}`);
        await node.start();
        // Before that its stream is cut, and the node has to come again.
        await node.until(({ events }) => events.length > 0);
        await relay[how]();
        await sleep(200);
        relay.heal();
        const body = { user: 'alice', expiry: t.now() + 1000 };
        const list = '/contract/ip-authlist';
        const ip = how === 'cut' ? '172.16.1.1' : '172.16.1.2';
        expect((await other.as(account).post(list, { ip, ...body })).status).toBe(201);
        await node.until(() => JSON.stringify(node.heard('authlist')).includes(ip));
        node.stop();
      },
    );

    test('a commit whose outcome nobody heard is a 503, and an Idempotency-Key makes sending it again safe', async () => {
      const { relay, write, ips, client, t } = made;
      const body = { ip: '172.16.2.1', user: 'alice', expiry: t.now() + 1000 };
      const key = { 'idempotency-key': 'unknown-outcome' };
      const cut = relay.cutAtAnswer('COMMIT\0');
      expectUnavailable(await client.post('/contract/ip-authlist', body, key));
      await cut;
      relay.heal();
      await expect.poll(ips).toContain(body.ip);
      const again = await client.post('/contract/ip-authlist', body, key);
      expect(again.status).toBe(201);
      expect(again.body.ip).toBe(body.ip);
      expect((await ips()).filter((ip) => ip === body.ip)).toHaveLength(1);
      expect((await write()).status).toBe(201);
    });
  });

  eachPostgres('its connections are ended', (made) => {
    test('writers that are terminated in the middle answer 201 or 503, and every 201 is there whole', async () => {
      const { t, write, ips, url } = made;
      const administrator = new pg.Client({ connectionString: url });
      await administrator.connect();
      let going = true;
      const answered: Answer[] = [];
      const clients = Array.from({ length: 6 }, async () => {
        while (going) answered.push(await write());
      });
      const good = () => answered.filter(({ status }) => status === 201);
      const isEnough = () => good().length > 10 && good().length < answered.length;
      for (let killed = 0; killed < 15 || (!isEnough() && killed < 300); killed += 1) {
        const before = good().length;
        await until(() => good().length > before, 60);
        await sleep(40);
        await administrator.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'exitward' and datname = current_database()`,
        );
      }
      await sleep(100);
      going = false;
      await Promise.all(clients);
      await administrator.end();
      const stored = new Set(await ips());
      for (const answer of answered) if (answer.status !== 201) expectUnavailable(answer);
      expect(good().length).toBeGreaterThan(10);
      expect(good().length).toBeLessThan(answered.length);
      for (const { body } of good()) expect(stored).toContain(body.ip);
      await until(async () => (await write()).status === 201);
      expect(await contradictions(t.running.ctx.db)).toEqual([]);
    });

    test('a transaction that loses its connection goes on with no other one', async () => {
      const { t, url } = made;
      const { db } = t.running.ctx;
      const row = (id: number) =>
        `insert into audit values (${id}, 1, 'a', 'a', '', '', null, 'half', 'x', null, null)`;
      const outcome = db.write(tester, async (tx) => {
        await tx.run(row(1_000_001));
        const administrator = new pg.Client({ connectionString: url });
        await administrator.connect();
        await administrator.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`,
        );
        await administrator.end();
        await sleep(200);
        await tx.run(row(1_000_002));
      });
      await expect(outcome).rejects.toMatchObject({ status: 503 });
      expect(await db.all("select id from audit where action = 'half'")).toEqual([]);
      await db.write(tester, async (tx) => void (await tx.run(row(1_000_003))));
      expect(await db.all("select id from audit where action = 'half'")).toHaveLength(1);
    });
  });
});

eachDatabase((database) => {
  test('what an action leaves running after it has failed is not written', async () => {
    const t = await startTestApp(await database.url());
    const { db } = t.running.ctx;
    const row = "insert into counters values (77, 'late', 1)";
    let late: Promise<unknown> = Promise.resolve();
    const outcome = db.write(tester, async (tx) => {
      late = sleep(20).then(() => tx.run(row));
      // On a busy machine it fails before the test looks.
      late.catch(() => {});
      throw new Error('the action failed');
    });
    await expect(outcome).rejects.toThrow('the action failed');
    const next = db.write(tester, async (tx) => {
      await sleep(60);
      return tx.one('select 1 as one');
    });
    await expect(late).rejects.toThrow('ended');
    await next;
    expect(await db.all('select * from counters where account_id = 77')).toEqual([]);
    await t.stop();
  });
});

interface Made extends Awaited<ReturnType<typeof prepare>> {
  t: TestApp;
  /** Another server process on the same database, which no relay cuts off. */
  other: TestApp;
  relay: Relay;
  url: string;
}

/** Describes the body with a server that reaches its database by way of a relay. */
function eachPostgres(name: string, body: (made: Made) => void): void {
  describe(name, () => {
    const made = {} as Made;
    const database = `exitward_faults_${process.pid}_${Math.floor(performance.now())}_${name.length}`;

    const asAdministrator = async (statement: string) => {
      const client = new pg.Client({ connectionString: inject('postgresUrl') });
      await client.connect();
      await client.query(statement).finally(() => client.end());
    };

    beforeAll(async () => {
      await asAdministrator(`create database ${database} template template0`);
      const url = new URL(inject('postgresUrl'));
      url.pathname = `/${database}`;
      const relay = await Relay.to(url.href);
      const t = await startTestApp(relay.by(url.href, { query_timeout: 1000, connect_timeout: 1 }));
      const other = await startTestApp(url.href, {
        EXITWARD_KEYS_FILE: t.running.ctx.config.keys_file,
        EXITWARD_ADMIN_TOKEN_FILE: t.running.ctx.config.admin_token_file,
      });
      other.clock.seconds = t.clock.seconds;
      Object.assign(made, { t, other, relay, url: url.href, ...(await prepare(t)) });
    });

    afterEach(() => made.relay.heal());

    afterAll(async () => {
      await made.other.stop();
      await made.t.stop();
      await made.relay.close();
      await asAdministrator(`drop database if exists ${database} with (force)`);
    });

    body(made);
  });
}
