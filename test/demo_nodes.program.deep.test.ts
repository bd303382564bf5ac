// The nodes of `npm start`: every server has one, they live, and both processes end together and
// begin again as they were.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { otherServers } from '../demo/inventory.ts';
import { conditionsAt, draws, rateAt } from '../demo/life.ts';
import { TestClient } from '../server/test/client.ts';
import { Demo, type Facts, freeBase } from './demo_process.ts';

const hour = 3600;
const day = 24 * hour;
const servers = otherServers();
const names = servers.map(({ name }) => name);
const start = Date.UTC(2026, 0, 5) / 1000;

describe('the life of the demo', () => {
  test('is the same on every machine, for each time', () => {
    expect(conditionsAt(start, names)).toEqual(conditionsAt(start, names));
    expect(draws('a')()).toBe(draws('a')());
    expect(draws('a')()).not.toBe(draws('b')());
  });

  test('most servers are well at any time, and each trouble comes up within a day', () => {
    const seen = new Set<string>();
    for (let at = start; at < start + day; at += 60) {
      const conditions = conditionsAt(at, names);
      expect(conditions.size).toBeLessThanOrEqual(6);
      for (const condition of conditions.values()) seen.add(condition);
    }
    expect(Array.from(seen).sort()).toEqual(['behind', 'down', 'failing', 'slow']);
  });

  test('what a server carries for an account in 31 days stays below the least limit of a server, and moves in a day', () => {
    for (const server of servers) {
      const hours = Array.from({ length: 31 * 24 }, (_, at) => rateAt(start + at * hour, server));
      const bytes = hours.reduce((sum, rate) => sum + rate * hour, 0);
      expect(bytes, server.name).toBeLessThan(200e9);
      expect(Math.max(...hours)).toBeGreaterThan(3 * Math.min(...hours));
    }
  });
});

describe('the nodes of npm start', () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'exitward-demo-nodes-'));
  const listen: [string, string] = ['127.0.0.1:0', '127.0.0.1:0'];
  const patience = { timeout: 100_000 };
  let base: number;
  let demo: Demo;
  let facts: Facts;

  const begin = async () => {
    demo = new Demo(data_dir, String(base), listen, 'simulated');
    facts = await demo.ready();
  };
  const operator = () =>
    new TestClient(`${facts.admin_url}/admin`, { authorization: `Bearer ${facts.admin_token}` });
  const nodes = async () =>
    (await operator().get('/nodes')).body as Array<{
      id: number;
      server: string;
      live: boolean;
      certificate_expiry: number | null;
    }>;
  const live = async () => (await nodes()).filter((node) => node.live);

  beforeAll(async () => {
    base = await freeBase();
    await begin();
  });
  afterAll(async () => {
    await demo.stop('SIGKILL');
    rmSync(data_dir, { recursive: true, force: true });
  });

  test('each server has a node that is live, except one that is down at times', async () => {
    await expect.poll(async () => (await live()).length, patience).toBeGreaterThanOrEqual(52);
    const all = await nodes();
    expect(new Set(all.map(({ server }) => server)).size).toBe(53);
    expect(demo.err).toBe('');
  });

  test('their traffic counts, and the health of their exits and their VPN is reported', async () => {
    const usage = async () =>
      (await operator().get('/accounts/globex')).body.period.usage as number;
    const before = await usage();
    await expect.poll(usage, patience).toBeGreaterThan(before);
    const withVpn = async () =>
      (await nodes()).filter((node) => node.certificate_expiry !== null).length;
    await expect.poll(withVpn, patience).toBeGreaterThan(20);
  });

  test('one answers what it would do with a connection, by its policy', async () => {
    const inTrouble = conditionsAt(Date.now() / 1000, names);
    const server = names.find((name) => !inTrouble.has(name));
    const question = { from: '192.0.2.7', port: base + 1, host: 'www.example.com' };
    const { status, body } = await operator().post(`/servers/${server}/explain`, question);
    expect({ status, reason: body.reason }).toEqual({ status: 200, reason: 'unknown_address' });
  });

  test('both processes end with a signal to the first, with its death too, and begin again with the same nodes', async () => {
    const ids = (await nodes()).map(({ id }) => id);
    const { nodes_pid } = facts;
    expect(await demo.stop()).toBe(0);
    expect(isThere(nodes_pid)).toBe(false);

    await begin();
    await demo.stop('SIGKILL');
    await expect.poll(() => isThere(facts.nodes_pid), patience).toBe(false);

    await begin();
    await expect.poll(async () => (await live()).length, patience).toBeGreaterThanOrEqual(52);
    expect((await nodes()).map(({ id }) => id)).toEqual(ids);
  });

  test('the server goes on without its nodes, and says that they have ended', async () => {
    process.kill(facts.nodes_pid, 'SIGKILL');
    await expect.poll(() => demo.err, patience).toContain('The nodes of the demo have ended');
    expect((await operator().get('/status')).status).toBe(200);
    expect(await demo.stop()).toBe(0);
  });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
