// Several processes of one network: those who look at open connections, or end some, ask one of
// them; nodes hold their streams at another, which is killed.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { version } from '../src/values/version.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { TestNode } from './node.ts';
import { ServerProcess } from './server_process.ts';

type Body = Record<string, unknown>;
const nothing = { groups: 0, connections: 0, up: 0, down: 0 };

eachDatabase((database) => {
  /** The process that is asked. */
  let t: TestApp;
  let url: string;
  let other: ServerProcess;
  /** One at each process, and another one at that which is killed. */
  let [here, there, late]: TestNode[] = [];
  const ids = { account: 0, user: 0 };
  let exit_ip = '';
  /** Patience that ends when the test says so. */
  let patience = 0;

  beforeAll(async () => {
    url = await database.url();
    t = await startTestApp(url, {}, undefined, systemClock.now());
    t.clock.steady = () => patience;
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    ids.account = acme.account.id;
    ids.user = (await t.operator.get('/accounts/acme/users/alice')).body.id;
    exit_ip = (await t.operator.get('/servers/fra1')).body.exit_ips[0].ip;
    here = await t.node('fra1', 'here');
    there = await t.node('fra1', 'there');
    late = await t.node('fra1', 'late');
  });
  afterAll(() => t?.stop());

  const at = async ({ id, token }: TestNode, process: { node_url: string }) => {
    const node = new TestNode(process.node_url, id, token);
    await node.snapshot();
    await node.follow({ 'user-agent': `exitward-agent/${version}` });
    await node.ack();
    return node;
  };
  beforeEach(async () => {
    other = await ServerProcess.start(
      ServerProcess.settings({
        EXITWARD_DATABASE_URL: url,
        EXITWARD_DATA_DIR: t.data_dir,
        EXITWARD_NODE_LISTEN: '127.0.0.1:0',
      }),
    );
    t.clock.seconds = systemClock.now();
    here = await at(here as TestNode, t.running);
    there = await at(there as TestNode, other);
    late = await at(late as TestNode, other);
  });
  afterEach(async () => {
    for (const node of [here, there, late]) node?.stop();
    await other?.end('SIGKILL');
  });

  const heard = async (node: TestNode, kind: string) => {
    await node.until((each) => each.heard(kind).length > 0);
    return node.heard(kind).at(-1)?.id;
  };
  const take = async (node: TestNode, order: unknown) =>
    (await node.send('POST', '/end-orders', { order })).status;
  const report = async (node: TestNode, order: unknown, ended: number) =>
    (await node.send('POST', '/end-orders', { order, ended })).status;

  test('an order reaches the nodes of each process, and all say to the one that was asked what they ended', async () => {
    const nodes = [here, there, late] as TestNode[];
    const answer = t.operator.post('/connections/end', { account: 'acme' });
    for (const [count, node] of nodes.entries()) {
      const order = await heard(node, 'end_connections');
      expect(await take(node, order)).toBe(204);
      expect(await report(node, order, count + 1)).toBe(204);
    }
    expect((await answer).body).toMatchObject({ ended: 6, missing: [] });
  });

  test('a look has the answers of the nodes of each process', async () => {
    const nodes = [here, there, late] as TestNode[];
    const { account, user } = ids;
    const now = systemClock.now();
    const group = {
      ...{ service: 'proxy', account, user, address: '192.0.2.1', exit_ip, by: ['token'] },
      ...{ connections: 2, since: now, last_byte_at: now, up: 1, down: 1 },
    };
    const answer = t.operator.get('/connections');
    for (const node of nodes) {
      const watch = await heard(node, 'connections');
      const body = { watch, groups: [group], rest: nothing };
      expect((await node.send('POST', '/connections', body)).status).toBe(204);
    }
    const { total, missing } = (await answer).body as Body;
    expect({ total, missing }).toMatchObject({ total: { connections: 6 }, missing: [] });
  });

  test('when a process is killed, its nodes are named; those that took the order report later, the others still take it', async () => {
    const answer = t.operator.post('/connections/end', { account: 'acme' });
    const order = await heard(here as TestNode, 'end_connections');
    for (const node of [here, there] as TestNode[]) {
      await heard(node, 'end_connections');
      expect(await take(node, order)).toBe(204);
    }
    expect(await report(here as TestNode, order, 3)).toBe(204);
    await other.end('SIGKILL');
    patience += 5;
    // A commit has it look again.
    await (here as TestNode).ack();
    const { body } = await answer;
    expect(body).toMatchObject({
      ended: 3,
      acknowledged: [{ node: 'here', ended: 3 }],
      missing: [
        { node: 'late', reason: 'no_answer' },
        { node: 'there', reason: 'unfinished' },
      ],
    });
    there = await at(there as TestNode, t.running);
    late = await at(late as TestNode, t.running);
    expect(await take(there, order), 'it may have ended them already').toBe(404);
    expect(await report(there, order, 1)).toBe(204);
    expect(await take(late, order)).toBe(204);
  });
});
