// Every example in the docstrings and the README is compiled against the built package, run, and
// held to what it says.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { writeSqlite } from '../../server/test/databases.ts';
import { startTestApp } from '../../server/test/harness.ts';
import { deepTest } from '../../test/deep_test.ts';
import { testFolder } from '../../test/test_folder.ts';
import * as client from '../src/index.ts';
import { compile, installClient, runOnOwnNode } from './built.ts';

interface Example {
  /** File and line. */
  place: string;
  code: string;
  /** The lines that it should print: the comments after console.log. */
  prints: string[];
}

const root = join(import.meta.dirname, '..');

/** The blocks of TypeScript in a file; those of a docstring without its asterisks. */
function findExamples(path: string): Example[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/^( \* | {3}\* )?```ts\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length;
    const code = (match[2] ?? '').replace(/^ *\* ?/gm, '');
    const logs = code.split('\n').filter((line) => line.includes('console.log('));
    return {
      place: `${path}:${line}`,
      code,
      prints: logs.map((log) => log.split('; // ')[1] ?? 'nothing was said'),
    };
  });
}

const examples = globSync(['src/**/*.ts', 'README.md'], { cwd: root }).sort().flatMap(findExamples);

const address = 'https://api.example.com';
const names = Object.keys(client).join(', ');
/**
 * The names that an example without imports may take as given: all of the package, and a client.
 */
const given = `import { ${names} } from '@exitward/client';
const client = new Exitward({ baseUrl: '${address}', token: process.env.EXITWARD_TOKEN ?? '' });
`;

const folder = testFolder('examples');

/**
 * A server with what the examples speak of: acme with alice, fra1 that no machine serves, ams1 that
 * one does.
 */
async function startExampleNetwork(database: string) {
  const t = await startTestApp(await writeSqlite(join(folder, database)));
  // The examples read the real time.
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1', { exit_ips: ['192.0.2.1', '192.0.2.2'] });
  await t.server('ams1', { city: 'Amsterdam', country: 'NL' });
  const acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
  const override = { server: 'fra1', hostname: 'a.example', ip: '203.0.113.7' };
  await t.as(acme).post('/contract/overrides', { ...override, expiry: t.now() + 3600 });
  const node = await t.node('ams1');
  await node.start();
  const endAcknowledging = node.keepAcknowledging();
  return {
    env: { EXITWARD_URL: t.base_url, EXITWARD_TOKEN: acme.api_token },
    stop: async () => {
      endAcknowledging();
      node.stop();
      await t.stop();
    },
  };
}

/** Runs each file of EXAMPLES with its environment; prints the lines that each printed. */
const runAll = `
import { format } from 'node:util';
const printed = {};
for (const [file, env] of Object.entries(JSON.parse(process.env.EXAMPLES))) {
  const lines = (printed[file] = []);
  Object.assign(process.env, env);
  console.log = (...values) => lines.push(...format(...values).split('\\n'));
  await import('./' + file + '.js').catch((error) => lines.push(error.stack));
}
process.stdout.write(JSON.stringify(printed));
`;

describe('the examples', () => {
  const fileOf = (index: number) => `example_${index}`;

  beforeAll(async () => {
    await installClient(folder);
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const [index, { code }] of examples.entries()) {
      const whole = /^import /m.test(code) ? code : given + code;
      writeFileSync(join(folder, `${fileOf(index)}.ts`), whole);
    }
  });

  test('are found in each file that has something to show', () => {
    const files = new Set(examples.map(({ place }) => place.split(':')[0]));
    expect([...files]).toEqual([
      'README.md',
      'src/authlist.ts',
      'src/client.ts',
      'src/errors.ts',
      'src/overrides.ts',
      'src/proxy_url.ts',
      'src/records.ts',
      'src/servers.ts',
      'src/users.ts',
    ]);
  });

  test('compile, strictly, against the built package and its declarations', async () => {
    const files = examples.map((_, index) => `${fileOf(index)}.ts`);
    expect(await compile(folder, '--exactOptionalPropertyTypes', '--types', 'node', ...files)).toBe(
      '',
    );
  });

  deepTest('control: what is wrong is seen', async () => {
    writeFileSync(join(folder, 'wrong.ts'), `${given}await client.authlist.add({ user: 5 });`);
    expect(await compile(folder, '--types', 'node', '--noEmit', 'wrong.ts')).toContain('TS2322');
  });

  describe('run, each on a network of its own, all in one process', () => {
    let printed: Record<string, string[]>;

    beforeAll(async () => {
      const networks = await Promise.all(
        examples.map((_, index) => startExampleNetwork(`${index}.db`)),
      );
      try {
        for (const [index, { env }] of networks.entries()) {
          const file = join(folder, `${fileOf(index)}.js`);
          writeFileSync(file, readFileSync(file, 'utf8').replaceAll(address, env.EXITWARD_URL));
        }
        const envs = Object.fromEntries(networks.map(({ env }, index) => [fileOf(index), env]));
        writeFileSync(join(folder, 'all.mjs'), runAll);
        const env = { EXAMPLES: JSON.stringify(envs) };
        printed = JSON.parse(await runOnOwnNode(['all.mjs'], { cwd: folder, env }));
      } finally {
        await Promise.all(networks.map((network) => network.stop()));
      }
    });

    test.each(examples.map((example, index) => ({ ...example, index })))(
      '$place does what it says',
      ({ index, prints }) => expect(printed[fileOf(index)]).toEqual(prints),
    );
  });
});
