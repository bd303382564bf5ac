// The operators' tools to watch a network: each metric that rules, dashboards and documents name is
// one that is exposed.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../agent/src/config.ts';
import { joinNetwork } from '../agent/src/identity.ts';
import { runAgent } from '../agent/src/main.ts';
import { Metrics as AgentMetrics } from '../agent/src/metrics.ts';
import { createInvite } from '../server/src/nodes/nodes.ts';
import { requireServer } from '../server/src/servers/servers.ts';
import { newCertificate } from '../server/test/certificate.ts';
import { startTestApp } from '../server/test/harness.ts';
import { until } from '../server/test/waiting.ts';
import { type Dashboard, dashboards, ops, queriesOf } from './ops_files.ts';

const cleaners: Array<() => unknown> = [];
afterAll(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean();
});

/** The metrics of a real server and of a real agent that follows it, by name. */
let exposed: { server: Map<string, string>; agent: Map<string, string> };
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-ops-'));
  cleaners.push(() => rmSync(folder, { recursive: true, force: true }));
  const t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  cleaners.push(() => t.stop());
  await t.server('fra1');
  // Metrics that only a server with TLS has.
  const { cert, key } = newCertificate('localhost');
  const EXITWARD_TLS_CERT = join(folder, 'cert.pem');
  const EXITWARD_TLS_KEY = join(folder, 'key.pem');
  writeFileSync(EXITWARD_TLS_CERT, cert);
  writeFileSync(EXITWARD_TLS_KEY, key);
  const withTls = await startTestApp(`sqlite:${join(folder, 'tls.db')}`, {
    EXITWARD_TLS_CERT,
    EXITWARD_TLS_KEY,
    EXITWARD_BACKUP_DIR: join(folder, 'backups'),
  });
  cleaners.push(() => withTls.stop());
  const { code } = await t.write(async (tx) =>
    createInvite(tx, t.running.ctx.secrets, await requireServer(tx, 'fra1')),
  );
  const state_dir = join(folder, 'agent');
  const url = t.running.node_url;
  await joinNetwork({ state_dir, url, code, name: 'fra1-a', again: false });
  const settings = {
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_LISTEN_HOST: '127.0.0.1',
    EXITWARD_AGENT_METRICS_LISTEN: '127.0.0.1:0',
  };
  const agent = await runAgent(readConfig(settings), { log: pino({ level: 'silent' }) });
  cleaners.push(() => agent.stop());
  await until(() => agent.metrics_url, 30);
  exposed = {
    server: new Map([
      ...(await typesAt(t.running.metrics_url as string)),
      ...(await typesAt(withTls.running.metrics_url as string)),
    ]),
    agent: await typesAt(agent.metrics_url as string),
  };
  const ofAgent = new AgentMetrics(
    () => null as never,
    () => 0,
    state_dir,
  );
  labels = new Map([...labelsOf(withTls.running.ctx.metrics), ...labelsOf(ofAgent)]);
});

/** By name: its type. */
async function typesAt(url: string): Promise<Map<string, string>> {
  const text = await (await fetch(url)).text();
  return new Map(
    Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', type = '']) => [name, type]),
  );
}

/** The labels of each metric, by name; undefined for those of Node. */
let labels: ReadonlyMap<string, readonly string[] | undefined>;

function labelsOf({
  registry,
}: Pick<AgentMetrics, 'registry'>): Array<[name: string, labels: readonly string[] | undefined]> {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, labelNames = [] } = metric as unknown as { name: string; labelNames?: string[] };
    return [name, name.startsWith('exitward_') ? labelNames : undefined];
  });
}

const ofTarget = ['job', 'instance'];
/** Prometheus' own, and those of functions and rules. */
const isOthers = (name: string) => /^(up|exitward(_agent)?:.*)$/.test(name);

/**
 * Each metric that a query names, without the ending of its series, with the labels that it is
 * selected by.
 */
function namedIn(query: string): Array<{ name: string; selected: string[] }> {
  const plain = query.replaceAll(/\b(?:by|without)\s*\([^)]*\)/g, ' ');
  const matches = plain.matchAll(
    /\b(?:exitward|process|nodejs)_[a-z0-9_]+\b(?!:)(?:\s*\{([^}]*)\})?/g,
  );
  return Array.from(matches, ([text, selectors = '']) => ({
    name: text.replace(/\s*\{.*/s, ''),
    selected: Array.from(selectors.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g), ([, label = '']) => label),
  }));
}

/** The metric of a series: a histogram has several. */
function metricOf(series: string, types: Map<string, string>): string | undefined {
  if (types.has(series)) return series;
  const metric = series.replace(/_(bucket|sum|count)$/, '');
  return types.get(metric) === 'histogram' ? metric : undefined;
}

function faultsOf(query: string): string[] {
  const types = new Map([...exposed.server, ...exposed.agent]);
  return namedIn(query).flatMap(({ name, selected }) => {
    if (isOthers(name)) return [];
    const metric = metricOf(name, types);
    if (metric === undefined) return [`${name} is not exposed`];
    const expected = labels.get(metric);
    const renamed = { exported_job: 'job' } as Record<string, string>;
    return selected
      .filter((label) => !ofTarget.includes(label) && label !== 'le')
      .filter((label) => expected && !expected.includes(renamed[label] ?? label))
      .map((label) => `${name} has no label ${label}`);
  });
}

const ruleFiles = readdirSync(join(ops, 'prometheus')).filter((name) =>
  name.endsWith('.rules.yml'),
);
const textOf = (name: string) => readFileSync(join(ops, 'prometheus', name), 'utf8');

test('a metric that is not there, and a label that it does not have, are found', () => {
  expect(faultsOf('rate(exitward_agent_refusals_totals[5m])')).toEqual([
    'exitward_agent_refusals_totals is not exposed',
  ]);
  expect(
    faultsOf('sum by (reason) (exitward_agent_refusals_total{cause="x", instance="a"})'),
  ).toEqual(['exitward_agent_refusals_total has no label cause']);
  expect(faultsOf('exitward_agent_decision_seconds_bucket{le="1"}')).toEqual([]);
  expect(faultsOf('exitward_agent_lag_seconds_bucket')).toHaveLength(1);
});

test('the registries that labels are taken from are those that are exposed', () => {
  const names = [...exposed.server.keys(), ...exposed.agent.keys()];
  expect([...new Set(names)].toSorted()).toEqual([...labels.keys()].toSorted());
});

test.each(ruleFiles)('each metric and label in %s is exposed', (name) => {
  const text = textOf(name).replaceAll(/^\s*#.*$/gm, '');
  expect(namedIn(text).length).toBeGreaterThan(10);
  expect(faultsOf(text)).toEqual([]);
});

test.each(ruleFiles)(
  'each alert of %s has a summary, a description, a severity, and a unit test in which it fires',
  (name) => {
    const tests = textOf(name.replace('.rules.', '.test.'));
    const alerts = textOf(name)
      .split(/^ {6}- alert: /m)
      .slice(1);
    expect(alerts.length).toBeGreaterThan(10);
    for (const alert of alerts) {
      const title = alert.slice(0, alert.indexOf('\n'));
      expect([title, alert]).toEqual([
        title,
        expect.stringMatching(/severity: (info|warning|critical) /),
      ]);
      expect([title, alert]).toEqual([
        title,
        expect.stringMatching(/summary: .+\n\s+description: .+/),
      ]);
      const checks = tests.split(`alertname: ${title}\n`).slice(1);
      expect([title, checks.some((check) => /^\s+exp_alerts: \[\]/.test(check))]).toEqual([
        title,
        true,
      ]);
      expect([
        title,
        checks.some((check) => /^\s+exp_alerts:\n\s+- exp_labels/.test(check)),
      ]).toEqual([title, true]);
    }
  },
);

describe.each(dashboards())('the dashboard %s', (_, board: Dashboard) => {
  test('has what Grafana needs to show it', () => {
    expect(board).toMatchObject({
      uid: expect.stringMatching(/^exitward-[a-z]+$/),
      title: expect.any(String),
      schemaVersion: 39,
      tags: ['exitward'],
    });
    const ids = board.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, title, gridPos, targets = [], datasource } of board.panels) {
      expect(['stat', 'timeseries', 'table', 'gauge', 'row']).toContain(type);
      const { x, w, h } = gridPos;
      expect([title, x >= 0 && w > 0 && h > 0 && x + w <= 24]).toEqual([title, true]);
      if (type === 'row') continue;
      expect([title, targets.length > 0]).toEqual([title, true]);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
      for (const holder of [{ datasource }, ...targets]) {
        expect(holder.datasource).toEqual({ type: 'prometheus', uid: '$' + '{datasource}' });
      }
    }
  });

  test('has no panel that lies over another', () => {
    const places = new Map<string, string>();
    for (const { title, gridPos } of board.panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, places.get(`${x} ${y}`)]).toEqual([title, undefined]);
          places.set(`${x} ${y}`, title);
        }
      }
    }
  });

  test('asks for metrics and labels that are exposed, by variables that it has', () => {
    const variables = board.templating.list.map(({ name }) => name);
    for (const query of queriesOf(board)) {
      expect(faultsOf(query)).toEqual([]);
      const used = Array.from(query.matchAll(/\$\{?(\w+)/g), ([, name = '']) => name);
      const unknown = used.filter((name) => !name.startsWith('__') && !variables.includes(name));
      expect([query, unknown]).toEqual([query, []]);
    }
    for (const { type, query } of board.templating.list) {
      if (type === 'query') expect(faultsOf(JSON.stringify(query))).toEqual([]);
    }
  });
});

test('docs/observability.md has each metric with its labels, and no other', () => {
  const text = readFileSync(join(ops, '../docs/observability.md'), 'utf8');
  const documented = Array.from(
    text.matchAll(/^\| `(exitward_\w+)(?:\{([\w,]+)\})?` +\|/gm),
    ([, name = '', names = '']) => [name, names.split(',').filter(Boolean)] as const,
  );
  const exposed = [...labels].filter(([name]) => name.startsWith('exitward_'));
  expect(documented.toSorted()).toEqual(exposed.toSorted());
});

test('docs/observability.md has each alert, and no other', () => {
  const text = readFileSync(join(ops, '../docs/observability.md'), 'utf8');
  const table = text.slice(text.indexOf('## Alerts'), text.indexOf('## Dashboards'));
  const documented = Array.from(table.matchAll(/`(Exitward\w+)`/g), ([, name = '']) => name);
  const alerts = ruleFiles.flatMap((name) =>
    Array.from(textOf(name).matchAll(/- alert: (\w+)/g), ([, alert = '']) => alert),
  );
  expect(documented.toSorted()).toEqual(alerts.toSorted());
});
