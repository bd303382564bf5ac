// Uses of an exit around a time: nodes are asked, each question is audited with its reason, and
// answers are stored nowhere. Users who were erased are named to nodes, also to late ones.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Transaction } from '../src/db/database.ts';
import { purgeErasedUsers } from '../src/nodes/nodes.ts';
import { TestClient } from './client.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

type Body = Record<string, unknown>;

eachDatabase((database) => {
  let t: TestApp;
  let nodes: [TestNode, TestNode];
  let asking: TestClient;
  const ids = { acme: 0, alice: 0 };
  let exitIp: string;

  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1');
    await t.server('ams1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const [alice] = await t.running.ctx.db.all<{ account_id: number; id: number }>(
      'select account_id, id from users where account_id = $1',
      [acme.account.id],
    );
    Object.assign(ids, { acme: acme.account.id, alice: alice?.id });
    exitIp = (await t.operator.get('/servers/ams1')).body.exit_ips[0].ip;
    nodes = [await t.node('fra1', 'fra1-a'), await t.node('ams1', 'ams1-a')];
    for (const node of nodes) await node.start();
    const token = (
      await t.operator.post('/tokens', { name: 'abuse-desk', may_find_connections: true })
    ).body.admin_token;
    asking = new TestClient(`${t.running.admin_url}/admin`, { authorization: `Bearer ${token}` });
  });
  afterAll(async () => {
    for (const node of nodes ?? []) node.stop();
    await t?.stop();
  });
  // No node goes offline meanwhile: that would end its stream.
  beforeEach(async () => {
    for (const node of nodes) await node.ack();
  });

  const questionsOf = (node: TestNode) => node.heard('exit_uses').filter(({ value }) => value);
  const question = (change: Body = {}): Body => ({
    ...{ exit_ip: exitIp, at: t.now() - 600, reason: 'report 4711', ...change },
  });
  const use = (change: Body = {}): Body => ({
    ...{ service: 'proxy', account: ids.acme, user: ids.alice, address: '203.0.113.9' },
    ...{ source_port: 50_001, exit_ports: { first: 40_211, last: 40_211 }, unknown: [] },
    ...{ since: t.now() - 620, until: t.now() - 590, ...change },
  });
  const answer = (uses: Body[], change: Body = {}): Body => ({
    ...{ mode: 'sources', kept_since: t.now() - 10 * 86_400, uses, more: 0, ...change },
  });

  /** Asks, and has the nodes answer what comes to them. */
  async function ask(body: Body, answers: ReadonlyArray<Body | undefined>) {
    const before = nodes.map((node) => questionsOf(node).length);
    const answered = asking.post('/connections/find', body);
    const heard: unknown[] = [];
    for (const [index, node] of nodes.entries()) {
      await node.until(() => questionsOf(node).length > (before[index] ?? 0));
      const record = questionsOf(node).at(-1);
      heard.push(record?.value);
      const sent = await node.send('POST', '/exit-uses', {
        ...{ question: record?.id, ...answers[index] },
      });
      expect(sent.status).toBe(204);
    }
    return { ...(await answered), heard };
  }

  test('all nodes are asked, and their answers are one list with names; it is stored nowhere', async () => {
    const sent = question({ port: 40_211, destination: 'WWW.example.com:443' });
    const maybe = { until: undefined, exit_ports: undefined, unknown: ['port'] };
    const { status, body, heard } = await ask(sent, [
      answer([use({ ...maybe, address: '2001:DB8::1' })], { more: 3 }),
      answer([use(), use({ user: 999 }), use({ since: t.now() - 100, until: t.now() })]),
    ]);
    expect(status).toBe(200);
    const wanted = {
      ...{ exit_ip: exitIp, at: sent.at, margin_seconds: 60, port: 40_211 },
      destination: { host: 'www.example.com', port: 443 },
    };
    expect(heard).toEqual([wanted, wanted]);
    const who = { account: 'acme', user: 'alice', service: 'proxy', since: t.now() - 620 };
    expect(body).toEqual({
      uses: [
        {
          ...{ ...who, address: '203.0.113.9', source_port: 50_001, until: t.now() - 590 },
          ...{ exit_ports: { first: 40_211, last: 40_211 }, unknown: [] },
          ...{ server: 'ams1', node: 'ams1-a', has_exit: true },
        },
        {
          ...{ ...who, address: '2001:db8::1', source_port: 50_001, until: null },
          ...{ unknown: ['port'], server: 'fra1', node: 'fra1-a', has_exit: false },
        },
      ],
      more: 3,
      missing: [],
      server: 'ams1',
    });
    for (const table of ['use_questions', 'use_answers']) {
      expect(await t.running.ctx.db.all(`select * from ${table}`)).toEqual([]);
    }
  });

  const auditOf = async () =>
    (await t.operator.get('/audit?limit=2')).body as unknown as Array<{ action: string } & Body>;

  test('the audit log has who asked what and why, then how many rows they saw, but no answer', async () => {
    const { body } = await ask(question({ margin_seconds: 5 }), [answer([use()]), answer([])]);
    expect(body.uses).toHaveLength(1);
    const records = await auditOf();
    const by = { actor: 'abuse-desk', target: exitIp };
    expect(records).toMatchObject([
      { ...by, action: 'connection.answer' },
      { ...by, action: 'connection.find' },
    ]);
    expect(records.map(({ after }) => after)).toEqual([
      { at: t.now() - 600, rows: 1, missing: 0 },
      { at: t.now() - 600, margin_seconds: 5, reason: 'report 4711' },
    ]);
    expect(JSON.stringify(records)).not.toMatch(/203\.0\.113\.9|alice|acme/);
  });

  test('a question is in the audit log when nodes hear it, and a token that is revoked sees no answer', async () => {
    const { body } = await t.operator.post('/tokens', { name: 'gone', may_find_connections: true });
    const gone = new TestClient(`${t.running.admin_url}/admin`, {
      authorization: `Bearer ${body.admin_token}`,
    });
    const before = questionsOf(nodes[0]).length;
    const answered = gone.post('/connections/find', question({ reason: 'report 4712' }));
    await nodes[0].until((node) => questionsOf(node).length > before);
    const [record] = await auditOf();
    expect(record).toMatchObject({ actor: 'gone', action: 'connection.find', target: exitIp });
    expect(record?.after).toMatchObject({ reason: 'report 4712' });
    await t.operator.delete(`/tokens/${body.id}`);
    for (const node of nodes) {
      const { id } = questionsOf(nodes[0]).at(-1) ?? {};
      await node.send('POST', '/exit-uses', { question: id, ...answer([use()]) });
    }
    expect((await answered).status).toBe(401);
    await t.write((tx) => tx.run('delete from use_questions'));
  });

  test('a node whose answer cannot be read has not answered, and the others are listed', async () => {
    const before = questionsOf(nodes[0]).length;
    const answered = asking.post('/connections/find', question());
    await nodes[0].until((node) => questionsOf(node).length > before);
    const question_id = Number(questionsOf(nodes[0]).at(-1)?.id);
    const [row] = await t.running.ctx.db.all<{ id: number }>(
      "select id from nodes where name = 'fra1-a'",
    );
    const unreadable = { question_id, node_id: row?.id ?? 0, sealed: 'by a key that is gone' };
    await t.write((tx) => tx.insertMany('use_answers', [unreadable]));
    await nodes[1].send('POST', '/exit-uses', { question: question_id, ...answer([use()]) });
    const { status, body } = await answered;
    expect(status).toBe(200);
    expect(body.uses).toMatchObject([{ node: 'ams1-a' }]);
    expect(body.missing).toMatchObject([{ node: 'fra1-a', reason: 'outdated' }]);
  });

  test('nodes that cannot say are named, those of a server with the exit first', async () => {
    const { body } = await ask(question(), [
      answer([], { mode: 'off', kept_since: undefined }),
      answer([], { kept_since: t.now() }),
    ]);
    expect(body.missing).toEqual([
      { node: 'ams1-a', server: 'ams1', reason: 'not_logged', has_exit: true },
      { node: 'fra1-a', server: 'fra1', reason: 'not_logged', has_exit: false },
    ]);
  });

  test('a node that lies about an exit leaves the answers of others where they are', async () => {
    const times = { since: 0, until: undefined };
    const lies = Array.from({ length: 1000 }, () => use(times));
    const genuine = Array.from({ length: 20 }, () => use({ unknown: ['port'] }));
    const listed = async (at: number, [fra1, ams1]: [Body[], Body[]]) => {
      const { body } = await ask(question({ at, margin_seconds: 5 }), [answer(fra1), answer(ams1)]);
      expect([body.uses.length, body.more]).toEqual([1000, 20]);
      return (body.uses as Body[]).map(({ node }) => node);
    };
    const [fra1, ams1] = ['fra1-a', 'ams1-a'].map((node) => Array<string>(20).fill(node));
    const around = t.now() - 600;
    // Since before that time on ams1; then on a server where it was not yet.
    await t.write((tx) =>
      tx.run('update exit_ips set added_at = $1 where ip = $2', [around - 5, exitIp]),
    );
    const first = await listed(around, [lies, genuine]);
    expect(first.slice(0, 20)).toEqual(ams1);
    expect((await listed(around - 1, [lies, genuine])).slice(0, 20)).toEqual(ams1);
    const moved = await listed(around - 1, [genuine, lies]);
    expect(moved.slice(980)).toEqual(fra1);
    await t.write((tx) =>
      tx.run('update exit_ips set added_at = $1 where ip = $2', [t.now(), exitIp]),
    );
  });

  test('only nodes that may have had the exit at that time are said to be missing', async () => {
    const silent = answer([], { mode: 'off', kept_since: undefined });
    const silentAt = async (at: number) =>
      (await ask(question({ at, margin_seconds: 5 }), [silent, silent])).body.missing;
    const added_at = t.now();
    const own = { node: 'ams1-a', server: 'ams1', reason: 'not_logged', has_exit: true };
    const other = { node: 'fra1-a', server: 'fra1', reason: 'not_logged', has_exit: false };
    expect(await silentAt(added_at + 4)).toEqual([own, other]);
    expect(await silentAt(added_at + 5)).toEqual([own]);
    const exits = `/servers/ams1/exits`;
    await t.operator.delete(`${exits}/${exitIp}`);
    expect(await silentAt(added_at + 5)).toHaveLength(2);
    // An answer says that no server has it, which no empty list could.
    const { body } = await ask(question(), [silent, silent]);
    expect([body.uses, body.server]).toEqual([[], null]);
    await t.operator.put(`/servers/fra1/exits/${exitIp}`, { port_base: 77 });
  });

  test('a token without the right may not ask, whatever it sends; wrong input names its field', async () => {
    for (const body of [question(), question({ port: 0 }), {}]) {
      const refused = await t.operator.post('/connections/find', body);
      expect([refused.status, refused.body.code]).toEqual([403, 'flag_needed']);
    }
    expect((await t.operator.send('PUT', '/connections/find', {})).status).toBe(405);
    expect((await t.operator.get('/status')).body.may_find_connections).toBe(false);
    const tokens = (await t.operator.get('/tokens')).body as unknown as Body[];
    expect(tokens.map(({ name, may_find_connections }) => [name, may_find_connections])).toEqual([
      ['first', false],
      ['abuse-desk', true],
    ]);
    for (const [change, field] of [
      [{ exit_ip: '198.51.100' }, 'exit_ip'],
      [{ at: t.now() + 61 }, 'at'],
      [{ destination: 'www.example.com' }, 'destination'],
      [{ destination: 'www.example.com:99999' }, 'destination'],
      [{ port: 0 }, 'port'],
      [{ margin_seconds: 86_400 }, 'margin_seconds'],
      [{ reason: ' ' }, 'reason'],
      [{ reason: undefined }, 'reason'],
    ] as const) {
      const { status, body } = await asking.post('/connections/find', question(change));
      expect([status, body.field]).toEqual([400, field]);
    }
  });

  test('more questions at once than eight are refused, and one that is over is not answered', async () => {
    const { status } = await nodes[0].send('POST', '/exit-uses', { question: 1, ...answer([]) });
    expect(status).toBe(404);
    const row = (id: number) => ({ id: 900 + id, sealed: '', asked_at: t.now() });
    await t.write((tx) => tx.insertMany('use_questions', [1, 2, 3, 4, 5, 6, 7, 8].map(row)));
    const refused = await asking.post('/connections/find', question());
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    await t.write((tx) => tx.run('delete from use_questions'));
  });

  test('users who were erased are named to nodes, and to those that come later', async () => {
    const [node] = nodes;
    const before = node.heard('erased_users').length;
    const namedTo = async (one: TestNode) => (await one.send('GET', '/erased-users')).json();
    expect(await namedTo(node)).toEqual({ users: [] });
    await t.operator.post('/accounts/acme/users/alice/erase', {});
    await node.until(() => node.heard('erased_users').length > before);
    const erased = { users: [{ account: ids.acme, user: ids.alice }] };
    expect(await namedTo(node)).toEqual(erased);
    const late = await t.node('fra1', 'fra1-b');
    expect(await namedTo(late)).toEqual(erased);
    const age = (tx: Transaction) =>
      tx.run('update erased_users set erased_at = $1', [t.now() - 400 * 86_400 - 1]);
    await t.write(age);
    await t.write((tx) => purgeErasedUsers(tx, 10));
    expect(await t.running.ctx.db.all('select * from erased_users')).toEqual([]);
  });
});
