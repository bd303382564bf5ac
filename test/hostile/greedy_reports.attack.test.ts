// A node that reports without measure: each kind of report has a size, a rate, and nothing to say
// of what its server does not serve.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Pace } from '../../server/src/api/node/pace.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';

const at = 1_800_000_000;
const long = (length: number) => 'x'.repeat(length);
const many = <T>(length: number, value: T): T[] => Array<T>(length).fill(value);

const row = { account: 1, user: 1, at, up: 1, down: 1 };
const use = { account: 1, entry: 1, at };
const exit = { ip: '198.51.100.1', status: 'ok', checked_at: at };
const vpn = { certificate_expiry: null };
const fault = { kind: 'disk', message: 'Full.', since: at };
const answer = { verdict: 'deny', status: 403, reason: 'why', message: 'No.', revision: 1 };
const rest = { groups: 0, connections: 0, up: 0, down: 0 };
const group = {
  ...{
    service: 'proxy',
    account: 1,
    user: 1,
    address: '192.0.2.1',
    exit_ip: exit.ip,
    by: ['token'],
  },
  ...{ connections: 1, since: at, last_byte_at: at, up: 1, down: 1 },
};

const refusal = { at, reason: 'drained', source: '192.0.2.1', service: 'proxy', count: 1 };

const refusals = { boot: 'b', seq: 1 };

/** By path: reports that are a little too large, each in one way. */
const tooLarge: Record<string, object[]> = {
  '/usage': [
    { boot: 'b', seq: 1, rows: many(20_001, row) },
    { boot: long(65), seq: 1, rows: [] },
    { boot: 'b', seq: 1, rows: [{ ...row, up: 2 ** 50 + 1 }] },
    { boot: 'b', seq: 1, rows: [{ ...row, down: 2 ** 50 + 1 }] },
    { boot: 'b', seq: 2 ** 53, rows: [] },
  ],
  '/last-used': [{ uses: many(5001, use) }, { uses: [{ ...use, at: 9e15 }] }],
  '/health': [
    { exit_ips: [{ ...exit, checked_at: 9e15 }] },
    { exit_ips: [], vpn: { certificate_expiry: 9e15 } },
    { exit_ips: many(1001, exit) },
    { exit_ips: [{ ...exit, ip: long(65) }] },
    { exit_ips: [{ ...exit, status: long(9) }] },
    { exit_ips: [], vpn: { ...vpn, services: many(3001, { ...exit, service: 'vpn-ikev2' }) } },
    { exit_ips: [], vpn: { ...vpn, services: [{ ...exit, service: `vpn-${long(17)}` }] } },
  ],
  '/faults': [
    { faults: [{ ...fault, since: 9e15 }] },
    { faults: many(101, fault) },
    { faults: [{ ...fault, kind: long(33) }] },
    { faults: [{ ...fault, subject: long(301) }] },
    { faults: [{ ...fault, message: long(1001) }] },
  ],
  '/answers': [
    { id: 1, answer: { ...answer, reason: long(65) } },
    { id: 1, answer: { ...answer, message: long(1001) } },
    { id: 1, answer: { ...answer, rule: long(1001) } },
    { id: 1, answer: { ...answer, account: long(256) } },
    { id: 1, answer: { ...answer, user: long(256) } },
    { id: 1, answer: { ...answer, exit_ip: long(65) } },
    { id: 1, answer: { ...answer, dial: long(301) } },
  ],
  '/connections': [
    { watch: 1, groups: many(1001, group), rest },
    { watch: 1, groups: [{ ...group, address: long(65) }], rest },
    { watch: 1, groups: [{ ...group, service: long(33) }], rest },
    { watch: 1, groups: [{ ...group, up: 2 ** 50 + 1 }], rest },
    { watch: 1, groups: [{ ...group, since: 9e15 }], rest },
    { watch: 1, groups: [], rest: { ...rest, connections: 2 ** 32 + 1 } },
  ],
  '/refusals': [
    { refusals: [], boot: long(65), seq: 1 },
    { refusals: [], boot: 'b', seq: 2 ** 53 },
    { ...refusals, refusals: many(501, refusal) },
    { ...refusals, refusals: [{ ...refusal, source: long(65) }] },
    { ...refusals, refusals: [{ ...refusal, reason: long(33) }] },
    { ...refusals, refusals: [{ ...refusal, service: long(33) }] },
    { ...refusals, refusals: [{ ...refusal, count: 10 ** 9 + 1 }] },
    { ...refusals, refusals: [{ ...refusal, at: 9e15 }] },
    { ...refusals, refusals: [{ ...refusal, destination: 'a.example' }] },
  ],
  '/acks': [{ epoch: long(65), revision: 1 }],
};

eachDatabase((database) => {
  let t: TestApp;
  let names = 0;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
  });
  afterAll(() => t?.stop());

  async function scene() {
    const server = `srv${++names}`;
    await t.server(server);
    const node = await t.node(server);
    await node.start();
    const send = async (path: string, body: object) => {
      const response = await node.send('POST', path, body);
      const text = await response.text();
      return { response, status: response.status, body: text ? JSON.parse(text) : undefined };
    };
    return { server, node, send };
  }

  describe('a report that is too large is refused as a whole', () => {
    for (const [path, bodies] of Object.entries(tooLarge)) {
      it(path, async () => {
        const { node, send } = await scene();
        for (const body of bodies) expect((await send(path, body)).status).toBe(400);
        expect((await t.operator.get(`/nodes/${node.id}`)).body.faults).toEqual([]);
        node.stop();
      });
    }

    it('more bytes than any report has', async () => {
      const { node, send } = await scene();
      const refused = { body: { code: 'body_too_large' } };
      const large = { boot: long(9_000_000), seq: 1, rows: [] };
      expect(await send('/usage', large)).toMatchObject(refused);
      expect(await send('/health', { exit_ips: long(530_000) })).toMatchObject(refused);
      for (const path of ['/faults', '/answers', '/acks']) {
        expect(await send(path, { faults: long(70_000) })).toMatchObject(refused);
      }
      node.stop();
    });
  });

  it('made-up accounts, users, exit IPs and questions change nothing, and leave nothing behind', async () => {
    const { node, send } = await scene();
    const other = await t.account(`other${names}`, {});
    const { id } = other.account;
    const rows = [
      { ...row, account: id },
      { ...row, account: 10 ** 15 },
    ];
    const { body } = await send('/usage', { boot: 'b', seq: 1, rows });
    expect(body).toEqual({
      counted: true,
      held: false,
      left_out: [0, 1],
      limits: [],
      user_limits: [],
    });
    const uses = [
      { ...use, account: id },
      { ...use, account: 10 ** 15 },
    ];
    expect((await send('/last-used', { uses })).status).toBe(204);
    const exit_ips = [
      { ...exit, ip: '203.0.113.250' },
      { ...exit, ip: 'no address' },
    ];
    const services = exit_ips.map((exit) => ({ ...exit, service: 'vpn-ikev2' }));
    const report = { exit_ips, vpn: { ...vpn, services } };
    expect((await send('/health', report)).body).toEqual({ known: 0 });
    expect((await send('/answers', { id: 10 ** 15, answer })).status).toBe(404);
    const connections = { watch: 10 ** 15, groups: [group], rest };
    expect((await send('/connections', connections)).status).toBe(404);
    const future = { epoch: node.epoch, revision: 10 ** 15 };
    expect((await send('/acks', future)).status).toBe(409);
    await t.pass(61);
    const { db } = t.running.ctx;
    for (const table of [
      'node_health',
      'node_vpn_health',
      'usage_hours',
      'authlist_uses',
      'held_usage',
    ]) {
      expect(await db.all(`select * from ${table}`)).toEqual([]);
    }
    node.stop();
  });

  it('a node that reports without a pause must wait, and another one need not', async () => {
    const { server, node, send } = await scene();
    const victim = await t.node(server, 'victim');
    const flood = async (path: string, body: (at: number) => object, times: number) => {
      const statuses = new Map<number, number>();
      for (let number = 0; number < times; number += 20) {
        const sending = Array.from({ length: 20 }, (_, index) => send(path, body(number + index)));
        for (const { status, response } of await Promise.all(sending)) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status !== 429) continue;
          expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
        }
      }
      return statuses;
    };
    // A minute's worth may come at once: 120 lists of faults, 300 of health; and what is earned
    // meanwhile.
    const faults = await flood(
      '/faults',
      (since) => ({ faults: [{ ...fault, since: since + 1 }] }),
      400,
    );
    expect(faults.get(204)).toBeGreaterThanOrEqual(119);
    expect(faults.get(429)).toBeGreaterThan(0);
    expect((await victim.send('POST', '/faults', { faults: [] })).status).toBe(204);
    expect((await send('/health', { exit_ips: [] })).status).toBe(200);
    node.stop();
  });

  it('a node that sends its longest reports at once, and without a pause, must wait, and one that sends them one after another need not', async () => {
    const { node, send } = await scene();
    let seq = 0;
    const full = () => send('/usage', { boot: 'b', seq: ++seq, rows: many(20_000, row) });
    expect((await full()).status).toBe(200);
    const statuses = (await Promise.all(Array.from({ length: 8 }, full))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(8);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    for (let times = 0; times < 5; times += 1) expect((await full()).status).toBe(200);
    node.stop();
  });

  it('a node that takes back what it acknowledged, again and again, must wait', async () => {
    const { node } = await scene();
    let status = 204;
    let times = 0;
    while (status === 204 && times < 300) {
      await node.ack(node.revision);
      status = await node.ack(node.revision - 1);
      times += 1;
    }
    expect(status).toBe(429);
    expect(times).toBeGreaterThan(29);
    expect(await node.ack()).toBe(204);
    node.stop();
  });
});

it('each node has a minute of each kind at once, and what it earns from then on', () => {
  let now = 5;
  const pace = new Pace({ now: () => 0, steady: () => now });
  const accepted = (node_id: number, what: string, times = 50_000) => {
    for (let at = 0; at < times; at += 1) {
      try {
        pace.take(node_id, what);
      } catch {
        return at;
      }
    }
    return times;
  };
  for (const node of [1, 2]) {
    expect(accepted(node, '/node/faults')).toBe(120);
    expect(accepted(node, '/node/usage')).toBe(1200);
    expect(accepted(node, 'back')).toBe(30);
    expect(accepted(node, '/node/echo')).toBe(50_000);
  }
  now += 10;
  expect(accepted(1, '/node/faults')).toBe(20);
  expect(accepted(1, 'back')).toBe(5);
  now += 10_000;
  expect(accepted(1, '/node/faults')).toBe(120);
  // The longest report of an honest agent, each third second.
  for (let at = 0; at < 1000; at += 1) {
    pace.take(3, '/node/usage', 30);
    now += 3;
  }
});
