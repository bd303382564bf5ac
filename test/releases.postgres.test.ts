// The files of each release on disk, kept in this repository: this version finds all of it, and
// bills what was not sent, once.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../agent/src/config.ts';
import { type EngineOptions, runAgent } from '../agent/src/main.ts';
import { briskClock } from '../agent/test/brisk_clock.ts';
import { FakeEngine } from '../agent/test/fake_engine.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { passwordOf, startTestApp } from '../server/test/harness.ts';
import { until } from '../server/test/waiting.ts';
import { released } from './earlier.ts';
import { testFolder } from './test_folder.ts';

const releases = join(import.meta.dirname, 'releases');
const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../server/package.json'), 'utf8'),
);
const folder = testFolder('releases');

/** Puts the rows of a release into an empty database. */
async function fill(url: string, file: string): Promise<void> {
  const { schema, tables } = JSON.parse(readFileSync(file, 'utf8'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  for (const statement of schema) await client.query(statement);
  // In whatever order the tables come, as a dump is restored.
  await client.query('set local session_replication_role = replica');
  for (const [table, rows] of Object.entries(tables)) {
    await client.query(
      `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }
  // As on the server that it was filled on: another one would begin a new history.
  await client.query('update network set history = null');
  await client.query('commit');
  await client.end();
}

eachDatabase((database) => {
  const engine = database.name === 'SQLite' ? 'sqlite' : 'postgres';
  const archives = readdirSync(releases).filter((name) => name.endsWith(`-${engine}.tgz`));

  test('the releases are there', () =>
    expect(archives).toContain(`${released.version}-${engine}.tgz`));

  describe.each(archives)('%s', (name) => {
    test('is upgraded in place: records, tokens, sessions and usage are there, and an agent sends what it had not', async () => {
      const dir = mkdtempSync(join(folder, 'release-'));
      execFileSync('tar', ['-xzf', join(releases, name), '-C', dir]);
      const recorded = JSON.parse(readFileSync(join(dir, 'known.json'), 'utf8'));
      const data_dir = join(dir, 'server');
      const url =
        engine === 'sqlite' ? `sqlite:${join(data_dir, 'exitward.db')}` : await database.emptyUrl();
      if (engine === 'postgres') await fill(url, join(dir, 'postgres.json'));
      // By its own time: a release is not found older each year.
      const t = await startTestApp(
        url,
        { EXITWARD_DATA_DIR: data_dir },
        undefined,
        recorded.now + 60,
      );
      expect((await t.operator.get('/status')).body).toMatchObject({
        version,
        accounts: 2,
        servers: 1,
      });
      const acme = { api_token: recorded.api_token };
      for (const [path, was] of Object.entries(recorded.account)) {
        expect((await t.as(acme).get(path)).body, path).toMatchObject(was as object);
      }
      expect((await t.operator.get('/audit?limit=1000')).body.length).toBeGreaterThanOrEqual(
        recorded.audit,
      );
      // Since then the port is in the name of the cookie: browsers sign in once more.
      const cookie = recorded.cookie.replace('=', `-${new URL(t.base_url).port}=`);
      const session = await t.browser().get('/session', { cookie });
      expect(session.status).toBe(200);
      const signedIn = await t
        .browser()
        .post('/session', { account: 'acme', user: 'alice', password: passwordOf('alice') });
      expect(signedIn.status).toBe(201);
      expect(t.running.ctx.secrets.readProxyToken(recorded.proxy_token)).toMatchObject({
        user_id: 1,
      });
      const undone = await t.operator.post('/accounts/globex/authlist/restore', {
        removal_id: recorded.removal.removal_id,
      });
      expect(undone.body).toMatchObject({ restored: 1 });

      // The agent of its folder, which serves by the policy that it has and was not heard for a
      // while.
      const state_dir = join(dir, 'agent');
      const identity = join(state_dir, 'node.json');
      const joined = JSON.parse(readFileSync(identity, 'utf8'));
      const address = { ...joined, url: t.running.node_url };
      writeFileSync(identity, JSON.stringify(address), { mode: 0o600 });
      const billed = async () => {
        const { rows } = (await t.operator.get('/accounts/acme/usage?by=user')).body;
        const [{ up, down }] = rows;
        return { up, down };
      };
      expect(await billed()).toEqual(recorded.billed);
      let proxy: FakeEngine | undefined;
      const startEngine = async ({ dir: policy, rules }: EngineOptions) => {
        proxy = new FakeEngine(policy, () => t.now(), rules);
        return proxy;
      };
      const config = readConfig({
        EXITWARD_AGENT_STATE_DIR: state_dir,
        EXITWARD_AGENT_ENGINE: 'embedded',
        EXITWARD_AGENT_METRICS_LISTEN: 'off',
      });
      const clock = briskClock(() => t.now());
      const log = pino({ level: 'silent' });
      const agent = await runAgent(config, { clock, log, startEngine });
      const sum = {
        up: recorded.billed.up + recorded.unsent.up,
        down: recorded.billed.down + recorded.unsent.down,
      };
      await until(async () => (await billed()).down === sum.down, 30);
      await until(() => agent.status().usage_waiting === 0, 30);
      expect(await billed()).toEqual(sum);
      const [user = '', password = ''] = ['alice', recorded.proxy_token];
      for (const request of [{ source: recorded.ip }, { credentials: { user, password } }]) {
        expect(proxy?.connect({ port: 10_001, ...request }).verdict).toBe('allow');
      }
      const [node] = (await t.operator.get('/nodes')).body;
      expect((await t.as(acme).get('/contract/overrides')).body[0].status).toBe('active');
      expect(node).toMatchObject({ version, is_behind: false, live: true, lag: 0 });
      await agent.stop();
      await t.stop();
    });
  });
});
