// Rules and dashboards as Prometheus itself reads them, by promtool.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { dashboards, ops, queriesOf } from './ops_files.ts';

const run = promisify(execFile);
const folder = join(ops, 'prometheus');
const named = (ending: string) => readdirSync(folder).filter((name) => name.endsWith(ending));

/** Errors: with what promtool found. */
async function promtool(...args: string[]): Promise<string> {
  try {
    const { stdout } = await run('promtool', args, { cwd: folder });
    return stdout;
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & Record<string, string>;
    throw new Error([message, stdout, stderr].join('\n'));
  }
}

test('the rules and the example of a configuration are valid', async () => {
  expect(await promtool('check', 'rules', ...named('.rules.yml'))).toMatch(/SUCCESS: \d+ rules/);
  expect(await promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS');
});

test('each rule does what its unit tests say', async () => {
  const tests = named('.test.yml');
  expect(tests).toHaveLength(named('.rules.yml').length);
  expect(await promtool('test', 'rules', ...tests)).toContain('SUCCESS');
});

/** Has promtool parse queries, as expressions of rules. */
async function parse(queries: readonly string[]): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'exitward-queries-'));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  const rules = queries.map((query, at) => {
    // As Grafana fills its variables in.
    const expr = query.replaceAll('$__rate_interval', '5m').replaceAll(/\$\{?\w+\}?/g, 'x');
    return { record: `query:${at}`.replace(/:(\d)/, ':n$1'), expr };
  });
  const path = join(scratch, 'queries.yml');
  // JSON is YAML.
  writeFileSync(path, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  return promtool('check', 'rules', path);
}

test('each query of the dashboards is one that Prometheus can parse', async () => {
  const queries = dashboards().flatMap(([, board]) => queriesOf(board));
  expect(await parse(queries)).toContain(`SUCCESS: ${queries.length} rules found`);
  await expect(parse([...queries, 'sum by (x (up)'])).rejects.toThrow(/parse error/);
});
