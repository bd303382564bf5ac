// Asking a node: the question goes with the changes, the node decides, and nothing of a token stays
// behind.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { askNodes } from '../src/nodes/nodes.ts';
import { requireServer } from '../src/servers/servers.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';
import { TestNode } from './node.ts';

const connection = { from: '192.0.2.10', port: 10_001, host: 'www.example.com' };
/** The questions that came to a node, with what a token says or without a token. */
const heardBy = (node: TestNode) =>
  ['explain', 'explain_token', 'explain_login'].flatMap((kind) => node.heard(kind));

const verdict = {
  verdict: 'deny',
  status: 403,
  reason: 'suspended',
  message: 'The account is suspended.',
  rule: 'contract 1',
  account: 'acme',
  user: 'alice',
  exit_ip: '198.51.100.1',
  dial: '203.0.113.7:443',
  revision: 7,
};
const secret = 'ewt_canary0123456789canary.signature';

/** Waits for the next question that a node hears, and answers it as the node would. */
async function answerNext(node: TestNode, answer: object = verdict): Promise<number> {
  const before = heardBy(node).length;
  await node.until((follower) => heardBy(follower).length > before);
  const { id } = heardBy(node).at(-1) ?? {};
  return (await node.send('POST', '/answers', { id, answer })).status;
}

eachDatabase((database) => {
  const { log, lines } = keptLog();
  let url: string;
  let t: TestApp;
  let names = 0;

  beforeAll(async () => {
    url = await database.url();
    t = await startTestApp(url, { EXITWARD_LOG_REQUESTS: 'all' }, log);
  });
  afterAll(() => t.stop());

  async function scene() {
    const server = `srv${++names}`;
    await t.server(server);
    const built = await t.account(`account${names}`, { servers: [server] });
    const node = await t.node(server, `${server}-a`);
    await node.start();
    const ask = (more: object = {}) =>
      t.operator.post(`/servers/${server}/explain`, { ...connection, ...more });
    return { server, built, node, ask };
  }
  const questions = () => t.running.ctx.db.all('select * from node_questions');

  it('a node hears the question after all changes before it, and the operator gets its answer', async () => {
    const { server, built, node, ask } = await scene();
    const other = await scene();
    const twin = await t.node(server, 'twin');
    await twin.start();
    const override = { server, hostname: 'a.example', ip: '192.0.2.1', expiry: t.now() + 100 };
    expect((await t.as(built).post('/contract/overrides', override)).status).toBe(201);
    const asking = ask();
    await node.until((follower) => heardBy(follower).length > 0);
    await twin.until((follower) => heardBy(follower).length > 0);
    const [record] = heardBy(node);
    expect(record).toEqual({
      kind: 'explain',
      id: expect.any(Number),
      value: { ...connection, method: 'CONNECT', destination_port: 443 },
    });
    expect(node.events.flatMap(({ records }) => records).map(({ kind }) => kind)).toEqual([
      'override',
      'explain',
    ]);
    const answers = await Promise.all([
      node.send('POST', '/answers', { id: record?.id, answer: verdict }),
      twin.send('POST', '/answers', { id: record?.id, answer: { ...verdict, user: 'bob' } }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
    const first =
      answers[0]?.status === 204
        ? { node: `${server}-a`, ...verdict }
        : { node: 'twin', ...verdict, user: 'bob' };
    const { status, body, headers } = await asking;
    expect([status, body]).toEqual([200, first]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(heardBy(other.node)).toEqual([]);
    for (const follower of [node, twin, other.node]) follower.stop();
  });

  it('the node is asked with canonical addresses, credentials, and 80 or 443 where no port is given', async () => {
    const { node, ask } = await scene();
    const variants: Array<[object, object]> = [
      [{ from: '::ffff:192.0.2.9' }, { from: '192.0.2.9', method: 'CONNECT' }],
      [{ method: 'GET' }, { method: 'GET', destination_port: 80 }],
      [{ destination_port: 8443 }, { destination_port: 8443 }],
      [
        { user: 'alice', token: secret },
        { user: 'alice', claims: null },
      ],
    ];
    for (const [sent, heard] of variants) {
      const question = ask(sent);
      const least = { verdict: 'allow', status: 200, reason: 'token', message: 'ok', revision: 0 };
      expect(await answerNext(node, least)).toBe(204);
      expect(heardBy(node).at(-1)?.value).toMatchObject(heard);
      expect((await question).body).toEqual({ node: expect.any(String), ...least });
    }
    node.stop();
  });

  it('a login to a VPN is a question of its own kind, about the first exit where none is named', async () => {
    const { server, node } = await scene();
    const path = `/servers/${server}/explain-login`;
    const login = { service: 'vpn-ikev2', login: 'alice@acme' };
    const [{ ip: first }] = (await t.operator.get(`/servers/${server}`)).body.exit_ips;
    for (const [more, sent] of [
      [{}, { exit_ip: first }],
      [{ exit_ip: '192.0.2.9' }, { exit_ip: '192.0.2.9' }],
      [{ from: '2001:DB8::7' }, { exit_ip: first, from: '2001:db8::7' }],
    ] as const) {
      const asking = t.operator.post(path, { ...login, ...more });
      expect(await answerNext(node)).toBe(204);
      expect(node.heard('explain_login').at(-1)?.value).toEqual({ ...login, ...sent });
      expect((await asking).body).toEqual({ node: `${server}-a`, ...verdict });
    }
    for (const [more, field] of [
      [{ service: 'proxy' }, 'service'],
      [{ login: 'alice' }, 'login'],
      [{ exit_ip: 7 }, 'exit_ip'],
      [{ exit_ip: 'fra1' }, 'exit_ip'],
      [{ from: 'x' }, 'from'],
    ] as const) {
      const { status, body } = await t.operator.post(path, { ...login, ...more });
      expect([status, body.field]).toEqual([400, field]);
    }
    node.stop();
  });

  it.each([
    [{ from: 'x' }, /^from: "x" is not an IP address/],
    [{ port: 0 }, /^port: /],
    [{ host: 'https://www.example.com/' }, /^host: /],
    [{ method: 'get' }, /^method: /],
    [{ user: 'alice' }, /^token: is missing next to `user`/],
    [{ token: secret }, /^user: is missing next to `token`/],
    [{ hostname: 'a.example' }, /^hostname: is not a field/],
  ])('%o gets 400, which names the field', async (more, says) => {
    const { node, ask } = await scene();
    const { status, body } = await ask(more);
    expect([status, body.message]).toEqual([400, expect.stringMatching(says)]);
    expect(JSON.stringify(body)).not.toContain(secret);
    node.stop();
  });

  it('without a live node, and for a server that is not there, the answer comes at once', async () => {
    const { server, node, ask } = await scene();
    expect((await t.operator.post('/servers/none/explain', {})).status).toBe(404);
    node.stop();
    await t.pass(61);
    const before = performance.now();
    const { status, body, headers } = await ask();
    expect([status, body.message]).toEqual([
      503,
      `No node of ${server} is live, so none can answer.`,
    ]);
    expect(headers.get('retry-after')).toBe('5');
    // An answer that is waited for takes five.
    expect(performance.now() - before).toBeLessThan(4900);
    expect(await questions()).toEqual([]);
  });

  it('when no node answers within five seconds the operator gets 503, and the question is over', async () => {
    const { server, node, ask } = await scene();
    const before = performance.now();
    const { status, body } = await ask({ user: 'alice', token: secret });
    expect([status, body.message]).toEqual([
      503,
      expect.stringContaining(`No node of ${server} answered within 5 seconds`),
    ]);
    expect(performance.now() - before).toBeGreaterThan(4900);
    const { id } = heardBy(node)[0] ?? {};
    expect((await node.send('POST', '/answers', { id, answer: verdict })).status).toBe(404);
    expect(await questions()).toEqual([]);
    node.stop();
  });

  it('only a live node of that server may answer, and only in the shape that is asked for', async () => {
    const { server, node, ask } = await scene();
    const other = await scene();
    const silent = await t.node(server, 'silent');
    const asking = ask();
    await node.until((follower) => heardBy(follower).length > 0);
    const { id } = heardBy(node)[0] ?? {};
    const answer = async (by: TestNode, body: object) =>
      (await by.send('POST', '/answers', body)).status;
    expect(await answer(other.node, { id, answer: verdict })).toBe(404);
    expect(await answer(silent, { id, answer: verdict })).toBe(404);
    expect(await answer(node, { id: 999_999, answer: verdict })).toBe(404);
    for (const wrong of [
      { ...verdict, verdict: 'maybe' },
      { ...verdict, reason: 'Two words' },
      { ...verdict, message: 'x'.repeat(1001) },
      { ...verdict, status: 99 },
      { ...verdict, token: secret },
      { ...verdict, revision: undefined },
    ]) {
      expect(await answer(node, { id, answer: wrong })).toBe(400);
    }
    expect(await answer(node, { id, answer: verdict })).toBe(204);
    expect((await asking).body.node).toBe(`${server}-a`);
    for (const follower of [node, other.node]) follower.stop();
  });

  it('no node is sent the token of a client, genuine or not: only what it says, when it is genuine', async () => {
    const { node, ask } = await scene();
    const { secrets } = t.running.ctx;
    const claims = { account: 7, user: 3, token_version: 2, expiry: t.now() + 100 };
    const { account: account_id, user: user_id, ...rest } = claims;
    const genuine = secrets.signProxyToken({ account_id, user_id, ...rest });
    const kid = secrets.publicKeys().at(-1)?.kid;
    const said: Array<[string, unknown]> = [
      [genuine, { kid, ...claims }],
      [`${genuine.slice(0, 8)}AA${genuine.slice(10)}`, null],
      [secret, null],
    ];
    for (const [token, expected] of said) {
      const asking = ask({ user: 'alice', token });
      expect(await answerNext(node)).toBe(204);
      await asking;
      const record = heardBy(node).at(-1);
      expect(record).toMatchObject({
        kind: 'explain_token',
        value: { user: 'alice', claims: expected },
      });
      expect(JSON.stringify(node.events)).not.toContain(token.split('.')[1] ?? token);
    }
    node.stop();
  });

  it('an old question is sent as null, and a snapshot has none', async () => {
    const { server, node, ask } = await scene();
    const from = node.revision;
    const asking = ask({ user: 'alice', token: secret });
    expect(await answerNext(node)).toBe(204);
    await asking;
    const late = await t.node(server, 'late');
    expect((await late.snapshot()).filter(({ kind }) => kind === 'explain')).toEqual([]);
    late.revision = from;
    await late.follow();
    await late.until((follower) => heardBy(follower).length > 0);
    expect(heardBy(late)).toEqual([{ kind: 'explain', id: expect.any(Number), value: null }]);
    for (const follower of [node, late]) follower.stop();
  });

  it('a question changes nothing: no status, no lag, no cached response, no entry in the audit log', async () => {
    const { server, built, node, ask } = await scene();
    const { db } = t.running.ctx;
    const override = { server, hostname: 'a.example', ip: '192.0.2.1', expiry: t.now() + 100 };
    await t.as(built).post('/contract/overrides', override);
    await node.until((follower) => follower.heard('override').length > 0);
    await node.ack();
    const list = await t.as(built).get('/contract/overrides');
    expect(list.body[0].status).toBe('active');
    const audited = (await t.operator.get('/audit?limit=1')).body;
    const stamps = await db.all('select * from versions order by account_id');
    const { revision } = (await t.operator.get('/status')).body.database;
    const asking = ask();
    expect(await answerNext(node)).toBe(204);
    await asking;
    expect((await t.operator.get('/status')).body.database.revision).toBe(revision + 1);
    const nodes = (await t.operator.get('/nodes')).body as Array<{ id: number; lag: number }>;
    expect(nodes.find(({ id }) => id === node.id)?.lag).toBe(0);
    expect(await db.all('select * from versions order by account_id')).toEqual(stamps);
    const etag = list.headers.get('etag') as string;
    expect((await t.as(built).get('/contract/overrides', { 'if-none-match': etag })).status).toBe(
      304,
    );
    expect((await t.operator.get('/audit?limit=1')).body).toEqual(audited);
    node.stop();
  });

  it('the token is sealed while the question is open, gone once it is answered, and in no log', async () => {
    const { node, ask } = await scene();
    const asking = ask({ user: 'alice', token: secret });
    await node.until((follower) => heardBy(follower).length > 0);
    const [open] = await questions();
    expect(open).toMatchObject({ sealed: expect.stringMatching(/^[\w-]{100,}$/), answer: null });
    expect(JSON.stringify(open)).not.toContain('canary');
    expect(Buffer.from(String(open?.sealed), 'base64url').toString('latin1')).not.toContain(
      'canary',
    );
    const { id } = heardBy(node)[0] ?? {};
    await node.send('POST', '/answers', { id, answer: verdict });
    expect((await asking).status).toBe(200);
    expect(await questions()).toEqual([]);
    expect(lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(10);
    expect(JSON.stringify(lines)).not.toContain('canary');
    node.stop();
  });

  it('a question whose asker is gone loses its text when it is answered, and is forgotten after a minute', async () => {
    const { server, node } = await scene();
    const { secrets } = t.running.ctx;
    const question = { ...connection, method: 'CONNECT', destination_port: 443 };
    await t.write(async (tx) => askNodes(tx, secrets, await requireServer(tx, server), question));
    await node.until((follower) => heardBy(follower).length > 0);
    const { id } = heardBy(node)[0] ?? {};
    for (const status of [204, 404]) {
      const answered = await node.send('POST', '/answers', { id, answer: verdict });
      expect(answered.status).toBe(status);
    }
    await t.pass(59);
    expect(await questions()).toMatchObject([{ sealed: null, answered_by: `${server}-a` }]);
    await t.pass(1);
    expect(await questions()).toEqual([]);
    node.stop();
  });

  it('a question that is asked at one process is answered by way of another', async () => {
    const { config } = t.running.ctx;
    const other = await startTestApp(url, {
      EXITWARD_KEYS_FILE: config.keys_file,
      EXITWARD_ADMIN_TOKEN_FILE: config.admin_token_file,
    });
    other.clock.seconds = t.clock.seconds;
    const { node, ask } = await scene();
    node.stop();
    const elsewhere = new TestNode(other.running.node_url, node.id, node.token);
    await elsewhere.start();
    const asking = ask();
    expect(await answerNext(elsewhere)).toBe(204);
    expect((await asking).body).toMatchObject(verdict);
    elsewhere.stop();
    await other.stop();
  });
});

describe('exitward explain', () => {
  const cli = new CommandLine();
  let node: TestNode;

  beforeAll(async () => {
    await cli.serve();
    const server = ['--hostname', 'fra1.example.net', '--title', 'F', '--city', 'F'];
    const place = [
      '--country',
      'DE',
      '--latitude',
      '50',
      '--longitude',
      '8',
      '--services',
      'proxy',
    ];
    expect(await cli.run('server', 'add', 'fra1', ...server, ...place)).toMatchObject({ code: 0 });
    const { code } = JSON.parse((await cli.run('node', 'invite', 'fra1', '--json')).stdout);
    node = await TestNode.invited(cli.base_url, code);
    await node.start();
  });
  afterAll(async () => {
    node.stop();
    await cli.clean();
  });

  const asking = ['explain', '--server', 'fra1', '--from', '192.0.2.10', '--port', '10001'];
  const words = [...asking, '--host', 'www.example.com'];

  it('prints what the node said, and which node said it', async () => {
    const answered = answerNext(node);
    const { code, stdout, stderr } = await cli.run(...words, '--destination-port', '8443');
    expect([code, stderr, await answered]).toEqual([0, '', 204]);
    expect(heardBy(node).at(-1)?.value).toMatchObject({ destination_port: 8443 });
    expect(stdout.split('\n')).toEqual([
      'verdict\tdeny',
      'status\t403',
      'reason\tsuspended',
      'message\tThe account is suspended.',
      'rule\tcontract 1',
      'account\tacme',
      'user\talice',
      'exit\t198.51.100.1',
      'dial\t203.0.113.7:443',
      'answered by\tfra1-a',
      'at revision\t7',
      '',
    ]);
    const again = answerNext(node);
    const { stdout: json } = await cli.run(...words, '--json');
    expect([await again, JSON.parse(json)]).toEqual([204, { node: 'fra1-a', ...verdict }]);
  });

  deepTest('takes the token from standard input, a file, or the command line', async () => {
    const file = join(cli.data_dir, 'proxy-token');
    writeFileSync(file, `${secret}\n`);
    const ways = [
      ['--token', '-'],
      ['--token-file', file],
      ['--token', secret],
    ];
    for (const way of ways) {
      const answered = answerNext(node);
      const { code } = await cli.runWith(`${secret}\n`, ...words, '--user', 'alice', ...way);
      expect([code, await answered]).toEqual([0, 204]);
      expect(heardBy(node).at(-1)?.value).toMatchObject({ user: 'alice', claims: null });
    }
  });

  it('says what is missing, and what cannot be read', async () => {
    expect(await cli.run(...asking)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--host/),
    });
    const both = ['--token', '-', '--token-file', 'x'];
    expect(await cli.run(...words, ...both)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/one of them/),
    });
    const none = ['--user', 'alice', '--token-file', '/none/there'];
    expect(await cli.run(...words, ...none)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/none\/there.*ENOENT/),
    });
    expect(await cli.run(...words, '--user', 'alice')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--token: is missing next to --user; /),
    });
  });
});
