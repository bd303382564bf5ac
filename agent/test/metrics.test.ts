// The metrics of an agent: the state of its node, without labels that a client can choose, and
// without effect on other work.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import type { VpnOffer } from '../src/engine.ts';
import { joinNetwork } from '../src/identity.ts';
import { type Running, runAgent, type TestDoubles } from '../src/main.ts';
import { bucketSeconds, DecisionTally } from '../src/policy/decision_tally.ts';
import { briskClock } from './brisk_clock.ts';
import { alice, FakeEngine, listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';

const later = 4_000_000_000;

async function startNode(metrics_listen = '127.0.0.1:0', offer?: VpnOffer) {
  const control = await ScriptedControl.start();
  onTestFinished(() => control.stop());
  control.records = listed(later);
  const folder = mkdtempSync(join(tmpdir(), 'exitward-metrics-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const state_dir = join(folder, 'state');
  await joinNetwork({ state_dir, url: control.url, code: 'ewi_x', name: 'a', again: false });
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_METRICS_LISTEN: metrics_listen,
  });
  let engine: FakeEngine | undefined;
  const options: TestDoubles = {
    clock: briskClock(),
    log: pino({ level: 'silent' }),
    startEngine: async ({ dir, rules, clock }) => {
      engine = new FakeEngine(dir, () => clock.now(), rules);
      engine.offer = offer;
      return engine;
    },
  };
  const running = await runAgent(config, options);
  onTestFinished(() => running.stop());
  await control.until(() => control.acknowledged.length > 0);
  return { control, running, config, options, engine: engine as unknown as FakeEngine };
}

async function read(running: Running): Promise<string> {
  await expect.poll(() => running.metrics_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
  const response = await fetch(running.metrics_url as string);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
}

/** The samples of one metric, by labels. */
function samples(text: string, name: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => /^[{ ]/.test(line.slice(name.length)));
  return Object.fromEntries(
    lines
      .filter((line) => line.startsWith(name))
      .map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(name.length, end).replaceAll(/[{}"]/g, ''), Number(line.slice(end + 1))];
      }),
  );
}

test('decisions are counted by authority and by reason, and nothing that a client sends becomes a label', async () => {
  const { running, engine } = await startNode();
  engine.connect();
  engine.connect();
  engine.connect({ source: '203.0.113.99', host: 'victim.example' });
  engine.connect({ destination_port: 25 });
  engine.connect({ credentials: { user: 'mallory"} 1', password: 'x' } });
  const text = await read(running);
  expect(samples(text, 'exitward_agent_allowed_total')).toEqual({
    'by=authlist': 2,
    'by=token': 0,
    'by=vpn': 0,
    'by=probe': 0,
  });
  const refusals = samples(text, 'exitward_agent_refusals_total');
  expect(Object.fromEntries(Object.entries(refusals).filter(([, count]) => count > 0))).toEqual({
    'reason=unknown_address': 1,
    'reason=destination_refused': 1,
    'reason=bad_token': 1,
  });
  expect(text).not.toMatch(/mallory|victim|203\.0\.113\.99|192\.0\.2\.10|acme|alice/);
});

test('the policy, the link, traffic, faults and exits are reported', async () => {
  const { control, running, engine } = await startNode();
  engine.finished = [
    {
      connection: 'c1',
      account: 1,
      user: 1,
      up: 100,
      down: 2000,
      at: Math.floor(Date.now() / 1000),
    },
  ];
  engine.currentFaults = [{ kind: 'port', subject: '10001', message: 'Port 10001 is taken.' }];
  await expect
    .poll(async () => samples(await read(running), 'exitward_agent_traffic_bytes_total'))
    .toEqual({ 'direction=up': 100, 'direction=down': 2000 });
  const text = await read(running);
  const sample = (name: string) => Object.values(samples(text, `exitward_agent_${name}`))[0];
  expect(samples(text, 'exitward_agent_policy_entries')).toEqual({
    'kind=accounts': 1,
    'kind=users': 1,
    'kind=authlist': 1,
    'kind=overrides': 0,
  });
  expect(samples(text, 'exitward_agent_revision')).toEqual({
    'at=heard': 1,
    'at=stored': 1,
    'at=applied': 1,
  });
  expect([sample('following'), sample('lag_revisions'), sample('lag_seconds')]).toEqual([1, 0, 0]);
  expect(Math.abs(Date.now() / 1000 - (sample('heard_timestamp_seconds') as number))).toBeLessThan(
    60,
  );
  expect(samples(text, 'exitward_agent_faults')).toMatchObject({ 'kind=port': 1 });
  expect(samples(text, 'exitward_agent_connections')).toEqual({
    'service=proxy,exit_ip=198.51.100.1': 0,
  });
  expect(sample('disk_free_bytes')).toBeGreaterThan(0);
  expect(sample('disk_size_bytes')).toBeGreaterThan(sample('disk_free_bytes') as number);
  expect(text).toMatch(/^exitward_agent_build_info\{version="\d+\.\d+\.\d+",node_version="v\d+/m);
  expect(text).toContain('process_start_time_seconds');

  // A change that cannot be put in force shows as a lag, until it can.
  engine.fault = new Error('the decider does not answer');
  const change = JSON.stringify([alice(false)]);
  control.write(`id: e1:4\nevent: change\ndata: ${change}\n\n`);
  const lag = async () => {
    const text = await read(running);
    return [
      samples(text, 'exitward_agent_lag_revisions')[''],
      (samples(text, 'exitward_agent_lag_seconds')[''] as number) > 0,
    ];
  };
  await expect.poll(lag).toEqual([3, true]);
  engine.fault = undefined;
  await expect.poll(lag).toEqual([0, false]);
});

test('a VPN service that does not answer, and the end of the certificate, are reported by metrics, status and report', async () => {
  const [service, ip, expiry] = ['vpn-ikev2', '127.0.0.250', later] as const;
  const { control, running } = await startNode('127.0.0.1:0', {
    services: [{ service, ip, version: '2', isLacking: false }],
    certificate: { expiry, isSoon: false },
  });
  await control.until(() => control.health.length > 0);
  const { services = [], ...rest } = running.status().vpn ?? {};
  expect(services).toEqual([{ service, ip, status: 'crit', checked_at: expect.any(Number) }]);
  expect(rest).toEqual({ certificate_expiry: expiry });
  expect(control.health[0]).toMatchObject({ vpn: { services, certificate_expiry: expiry } });
  const text = await read(running);
  const labels = `service=${service},exit_ip=${ip}`;
  expect(samples(text, 'exitward_agent_vpn_up')).toEqual({ [labels]: 0 });
  expect(samples(text, 'exitward_agent_vpn_checked_timestamp_seconds')).toEqual({
    [labels]: services[0]?.checked_at,
  });
  expect(samples(text, 'exitward_agent_vpn_certificate_expiry_timestamp_seconds')).toEqual({
    '': expiry,
  });
});

test('usage that the control plane does not take shows with its age', async () => {
  const { control, running, engine } = await startNode();
  await control.stop();
  const at = Math.floor(Date.now() / 1000);
  engine.finished = [{ connection: 'c1', account: 1, user: 1, up: 1, down: 1, at }];
  await expect
    .poll(async () => {
      const text = await read(running);
      return [
        samples(text, 'exitward_agent_usage_waiting_rows')[''],
        (samples(text, 'exitward_agent_usage_waiting_seconds')[''] as number) >= 2,
        samples(text, 'exitward_agent_following')[''],
      ];
    })
    .toEqual([1, true, 0]);
});

test('what is not known has no sample', async () => {
  const { control, running, config, options } = await startNode();
  await running.stop();
  await control.stop();
  const again = await runAgent(config, options);
  onTestFinished(() => again.stop());
  const applied = async () => samples(await read(again), 'exitward_agent_revision');
  await expect.poll(applied).toMatchObject({ 'at=applied': 1 });
  const text = await read(again);
  for (const name of ['heard_timestamp_seconds', 'deciders', 'exit_up', 'squid_up']) {
    expect([name, samples(text, `exitward_agent_${name}`)]).toEqual([name, {}]);
  }
  expect(samples(text, 'exitward_agent_following')).toEqual({ '': 0 });
});

test('the listener answers GET and HEAD of /metrics alone', async () => {
  const { running } = await startNode();
  await read(running);
  const { origin } = new URL(running.metrics_url as string);
  for (const path of ['/', '/metrics/', '/metrics?x=1', '/status']) {
    expect((await fetch(`${origin}${path}`)).status).toBe(404);
  }
  const head = await fetch(`${origin}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(1000);
  expect((await fetch(`${origin}/metrics`, { method: 'POST' })).status).toBe(404);
});

test('off, nothing listens', async () => {
  const { running } = await startNode('off');
  expect(running.metrics_url).toBe(undefined);
});

test('a port that is taken is a fault, and the node works without metrics', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const { running, engine } = await startNode(`127.0.0.1:${port}`);
  const message = `The part metrics failed: Can't listen on 127.0.0.1:${port} (metrics): the port is in use. Set EXITWARD_AGENT_METRICS_LISTEN to another address, or off.`;
  await expect
    .poll(() => running.status().faults)
    .toContainEqual({ kind: 'agent', subject: 'metrics', message, since: expect.any(Number) });
  expect(engine.connect().verdict).toBe('allow');
});

test('the time of decisions is a histogram, whose buckets grow', async () => {
  const { running, engine } = await startNode();
  engine.decisions.noteTime(0.00001, 3);
  engine.decisions.noteTime(0.0003);
  engine.decisions.noteTime(5);
  const text = await read(running);
  const buckets = samples(text, 'exitward_agent_decision_seconds_bucket');
  expect(Object.keys(buckets)).toEqual([...bucketSeconds, '+Inf'].map((le) => `le=${le}`));
  expect(buckets).toMatchObject({ 'le=0.00025': 3, 'le=0.0005': 4, 'le=1': 4, 'le=+Inf': 5 });
  expect(samples(text, 'exitward_agent_decision_seconds_count')).toEqual({ '': 5 });
  expect(samples(text, 'exitward_agent_decision_seconds_sum')['']).toBeCloseTo(5.00033, 5);
});

test('a tally takes from another process what is a count, under names that it knows', () => {
  const tally = new DecisionTally();
  const took = bucketSeconds.map(() => 0);
  tally.add({ outcomes: { authlist: 2, evil: 9 } as never, took: [...took, 2], seconds: 3 });
  tally.add({ outcomes: { token: -1, probe: 0.5 }, took: [1], seconds: 1 });
  tally.add({ outcomes: null, took: 'x', seconds: Number.POSITIVE_INFINITY } as never);
  tally.add({ outcomes: { stale: '1' } as never, took: [...took, -1], seconds: -1 });
  expect(tally.counts).toEqual({ outcomes: { authlist: 2 }, took: [...took, 2], seconds: 3 });
  expect(tally.take()).toEqual({ outcomes: { authlist: 2 }, took: [...took, 2], seconds: 3 });
  expect(tally.take()).toBe(undefined);
});
