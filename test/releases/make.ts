// Fills a network by a release, and keeps what it left on disk: where the tests of later upgrades
// begin.
//   node test/releases/make.ts [COMMIT]     of the release; that of this tree when omitted
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { systemClock } from '../../server/src/clock.ts';
import type { Database, Engine } from '../../server/src/db/database.ts';
import { Browser } from '../../server/test/client.ts';
import { passwordOf } from '../../server/test/harness.ts';
import { databaseUrl, startPostgres } from '../../server/test/postgres.ts';
import { until } from '../../server/test/waiting.ts';
import { unpackCommit } from '../earlier.ts';
import { AgentProcess } from '../system/agent_process.ts';
import { ControlPlaneProcess } from '../system/control_plane.ts';
import { nextNodePlace } from '../system/places.ts';
import { openTunnel, startOrigin } from '../system/traffic.ts';
import { through } from '../system/world.ts';

/** Entries may end so late. */
const farAway = systemClock.now() + 9 * 365 * 86_400;
const head = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
const [commit = head] = process.argv.slice(2);
const programs = mkdtempSync(join(tmpdir(), 'exitward-release-'));
unpackCommit(commit, programs, 'server', 'agent', 'kit', 'docs');
const { version } = JSON.parse(readFileSync(join(programs, 'server/package.json'), 'utf8'));

/** The statements with which the release makes its tables on PostgreSQL. */
async function schemaOf(url: string): Promise<string[]> {
  const load = (path: string) => import(pathToFileURL(join(programs, 'server/src/db', path)).href);
  const [{ openDatabase }, { migrate }] = [await load('open.ts'), await load('migrate.ts')];
  const db: Database = await openDatabase(url, { clock: systemClock });
  const all: string[] = [];
  const script = db.script.bind(db);
  db.script = (statements) => {
    all.push(...statements.filter((statement) => !/^insert/i.test(statement)));
    return script(statements);
  };
  await migrate(db);
  await db.close();
  return all;
}

/** Every row of every table, as JSON by PostgreSQL itself. */
async function rowsOf(url: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const tables: Record<string, unknown> = {};
  for (const { name } of rows) {
    const [all] = (await client.query(`select jsonb_agg(t)::text as rows from ${name} t`)).rows;
    tables[name] = JSON.parse(all.rows ?? '[]');
  }
  await client.end();
  return tables;
}

async function make(engine: Engine): Promise<void> {
  const data_dir = mkdtempSync(join(tmpdir(), 'exitward-data-'));
  const postgres = engine === 'postgres' ? await startPostgres() : undefined;
  const url = postgres && databaseUrl(postgres.url, 'postgres');
  const schema = url === undefined ? [] : await schemaOf(url);
  const control = await ControlPlaneProcess.start(
    { EXITWARD_DATA_DIR: data_dir, ...(url ? { EXITWARD_DATABASE_URL: url } : {}) },
    join(programs, 'server/test/serve.ts'),
  );
  const origin = await startOrigin();
  const place = nextNodePlace();
  await control.addServer('fra1', place.exit_ip);
  const agent = await AgentProcess.join(control, {
    ...{ engine: 'embedded', server: 'fra1', name: 'fra1-a', place },
    program: join(programs, 'agent/bin/exitward-agent.js'),
  });
  await agent.follow();
  const acme = await control.addCustomer('acme', 'fra1');
  const globex = await control.addCustomer('globex', 'fra1');
  const { ip } = await acme.list(farAway);
  const entry = { server: 'fra1', hostname: 'a.example', ip: '192.0.2.7', expiry: farAway };
  await acme.api.post('/contract/overrides', entry);
  await globex.list(farAway);
  await globex.api.delete('/contract/ip-authlist');
  const token = await acme.api.post('/users/token', { user: 'alice', expire: 10 * 365 * 86_400 });
  const { code } = await control.do('POST', '/accounts/acme/users/alice/invite');
  const browser = new Browser(control.base_url);
  await browser.post('/invite/accept', { code, password: passwordOf('alice') });

  const way = through(place, ip);
  const use = async () => {
    const open = () =>
      openTunnel(way, `${origin.host}:${origin.tunnel_port}`).catch(() => undefined);
    const tunnel = await until(open, 30);
    await tunnel.transfer(1000, 50_000);
    await tunnel.close();
    return { up: tunnel.sent, down: tunnel.received };
  };
  await use();
  await agent.until(({ usage_waiting }) => usage_waiting === 0);
  await until(async () => (await control.billed(acme)).down > 50_000, 30);
  const ask = (path: string) => control.do('GET', path);
  const api = ['/contract', '/users', '/contract/ip-authlist', '/contract/overrides'];
  const recorded = {
    version,
    now: Math.floor(Date.now() / 1000),
    api_token: acme.api_token,
    proxy_token: token.body.token,
    cookie: browser.cookie,
    ip,
    billed: await control.billed(acme),
    account: Object.fromEntries(
      await Promise.all(api.map(async (path) => [path, (await acme.api.get(path)).body])),
    ),
    audit: (await ask('/audit?limit=1000')).length,
    removal: (await ask('/accounts/globex/removals'))[0],
    unsent: { up: 0, down: 0 },
  };
  await control.kill();
  recorded.unsent = await use();
  await agent.until(({ usage_waiting }) => usage_waiting > 0);
  await agent.end('SIGKILL');
  // The rest of a crash in SQLite's log is part of what an upgrade meets.
  const folder = mkdtempSync(join(tmpdir(), 'exitward-kept-'));
  cpSync(data_dir, join(folder, 'server'), { recursive: true });
  mkdirSync(join(folder, 'agent'));
  for (const name of ['node.json', 'policy', 'usage.journal']) {
    cpSync(join(agent.state_dir, name), join(folder, 'agent', name), { recursive: true });
  }
  if (url) {
    const dump = { schema, tables: await rowsOf(url) };
    writeFileSync(join(folder, 'postgres.json'), JSON.stringify(dump));
  }
  writeFileSync(join(folder, 'known.json'), `${JSON.stringify(recorded, null, 2)}\n`);
  const target = join(import.meta.dirname, `${version}-${engine}.tgz`);
  execFileSync('tar', ['--sort=name', '--owner=0', '--group=0', '-czf', target, '-C', folder, '.']);
  await agent.remove();
  await control.remove();
  await origin.stop();
  await postgres?.stop();
  for (const path of [data_dir, folder]) rmSync(path, { recursive: true, force: true });
  console.log(target);
}

for (const engine of ['sqlite', 'postgres'] as const) await make(engine);
rmSync(programs, { recursive: true, force: true });
