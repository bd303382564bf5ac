// The published package: its types are those of the document, and it works where it says it does.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ClientTypes, clientTypes, clientTypesText } from '../../scripts/client_types.ts';
import type { Document } from '../../scripts/openapi/shapes.ts';
import { startTestApp } from '../../server/test/harness.ts';
import { deepTest } from '../../test/deep_test.ts';
import { testFolder } from '../../test/test_folder.ts';
import { compile, runOnOwnNode } from './built.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const folder = testFolder('package');

describe.each(clientTypes)('the types of $of', (types) => {
  test('are what docs/openapi.json says now; `npm run client-types` writes them', () => {
    // Compared without a diff of a thousand lines.
    expect(readFileSync(types.file, 'utf8') === clientTypesText(types)).toBe(true);
  });
});

test('types follow the document', () => {
  const [ofAccounts] = clientTypes as [ClientTypes];
  const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as Document;
  const { Override } = document.components.schemas;
  Object.assign(Override?.properties ?? {}, { note: { type: 'string' } });
  expect(clientTypesText(ofAccounts, document)).toContain('  note?: string;\n');
  Object.assign(Override?.properties ?? {}, { note: { type: 'nonsense' } });
  expect(() => clientTypesText(ofAccounts, document)).toThrow('the schema is not understood');
});

test('the codes of errors are those of the document', () => {
  const [ofAccounts] = clientTypes as [ClientTypes];
  const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as Document;
  const textOf = (...codes: string[]) => {
    document.components.schemas.ErrorCode = { type: 'string', enum: codes };
    return clientTypesText(ofAccounts, document);
  };
  expect(textOf('conflict', 'not_found')).toContain(
    "export type ErrorCode = 'conflict' | 'not_found';\n",
  );
  const long = ['a'.repeat(60), 'b'.repeat(60)];
  expect(textOf(...long)).toContain(
    `export type ErrorCode =\n  | '${long[0]}'\n  | '${long[1]}';\n`,
  );
});

test('a list of one of several words takes every word, and is a list of each', () => {
  const [ofAccounts] = clientTypes as [ClientTypes];
  const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as Document;
  const { Override } = document.components.schemas;
  const textOf = (items: object) => {
    Object.assign(Override?.properties ?? {}, { note: { type: 'array', items } });
    return clientTypesText(ofAccounts, document);
  };
  expect(textOf({ type: 'string', enum: ['a', 'b'] })).toContain("  note?: ('a' | 'b')[];\n");
  expect(textOf({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toContain(
    '  note?: (string | null)[];\n',
  );
  expect(textOf({ type: 'string', enum: ['a'] })).toContain("  note?: 'a'[];\n");
});

deepTest('the library asks for nothing that browsers do not have', async () => {
  const library = ['--noEmit', '--allowImportingTsExtensions', '--types', ''];
  const browser = [...library, '--lib', 'es2022,dom'];
  expect(await compile(root, ...browser, 'client/src/index.ts')).toBe('');
  // The control: what only Node has is seen.
  writeFileSync(join(folder, 'node_only.ts'), "process.stdout.write('x');");
  expect(await compile(folder, ...browser, 'node_only.ts')).toContain("Cannot find name 'process'");
});

describe('the packed package', () => {
  let files: string[];
  let version: string;

  beforeAll(async () => {
    const pack = ['pack', '--workspace', 'client', '--json', '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { cwd: root });
    const [packed] = JSON.parse(stdout) as [
      { filename: string; version: string; files: Array<{ path: string }> },
    ];
    version = packed.version;
    files = packed.files.map(({ path }) => path);
    const target = join(folder, 'node_modules', '@exitward', 'client');
    mkdirSync(target, { recursive: true });
    await run('tar', ['-xzf', join(folder, packed.filename), '-C', target, '--strip-components=1']);
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  });

  test('holds the code, its declarations, the command, README, licence and notice, and nothing else', () => {
    const kinds = files.map((path) =>
      path.replace(/^dist\/(client|kit)\/src\/(cli\/)?\w+\./, 'dist/$1/*.'),
    );
    expect([...new Set(kinds)].sort()).toEqual([
      'LICENSE',
      'NOTICE',
      'README.md',
      'bin/exw.js',
      'dist/client/*.d.ts',
      'dist/client/*.js',
      'dist/kit/*.d.ts',
      'dist/kit/*.js',
      'package.json',
    ]);
    expect(files).toContain('dist/client/src/index.d.ts');
  });

  test('needs no other package', () => {
    const text = readFileSync(join(folder, 'node_modules/@exitward/client/package.json'), 'utf8');
    const { dependencies, peerDependencies } = JSON.parse(text) as Record<string, unknown>;
    expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
    const imported = files
      .filter((path) => /\.(d\.ts|js)$/.test(path))
      .flatMap((path) => {
        const code = readFileSync(join(folder, 'node_modules/@exitward/client', path), 'utf8');
        const matches = code.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g);
        return Array.from(matches, ([, name = '']) => ({ path, name }));
      })
      .filter(({ name }) => name !== '@exitward/client');
    expect(imported.length).toBeGreaterThan(10);
    // The command is for Node alone; the library is not.
    const isOwn = ({ path, name }: { path: string; name: string }) =>
      /^dist\/client\/src\/\w+\./.test(path)
        ? /^\.\/\w+\.js$/.test(name)
        : /^((\.\.?\/)+(kit\/src\/)?([a-z]+\/)?\w+\.js|node:[\w/]+)$/.test(name);
    expect(imported.filter((name) => !isOwn(name))).toEqual([]);
  });

  deepTest('is typed for Node and for browsers, without types of the other', async () => {
    const code = `import { Exitward, type Override } from '@exitward/client';
const client = new Exitward({ baseUrl: 'https://api.example.com', token: 'ewa_1' });
export const find = async (): Promise<Override[]> => client.overrides.list();
`;
    writeFileSync(join(folder, 'typed.ts'), code);
    for (const world of [
      ['--types', 'node', '--lib', 'es2022'],
      ['--types', '', '--lib', 'es2022,dom'],
    ]) {
      expect(
        await compile(folder, '--noEmit', '--exactOptionalPropertyTypes', ...world, 'typed.ts'),
      ).toBe('');
    }
  });

  deepTest(
    "loads on the machine's own Node, the oldest that it is for or a newer one",
    async () => {
      const code = `import { Exitward } from '@exitward/client';
console.log(process.versions.node, typeof Exitward);`;
      writeFileSync(join(folder, 'loads.mjs'), code);
      const printed = await runOnOwnNode(['loads.mjs'], { cwd: folder });
      expect(printed).toMatch(/^\d+\.\d+\.\d+ function\n$/);
      expect(Number.parseInt(printed, 10)).toBeGreaterThanOrEqual(20);
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
    },
  );

  test('brings the command exw, which runs there, too', async () => {
    const exw = join(folder, 'node_modules/@exitward/client/bin/exw.js');
    expect(statSync(exw).mode & 0o111).toBe(0o111);
    expect(await runOnOwnNode([exw, '--version'], { cwd: folder })).toBe(`${version}\n`);
    const t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
    const { api_token } = await t.account('acme');
    const env = { EXW_URL: t.base_url, EXW_TOKEN: api_token, HOME: folder };
    const printed = await runOnOwnNode([exw, 'whoami', '--json'], { cwd: folder, env });
    await t.stop();
    expect(JSON.parse(printed)).toMatchObject({ contract: 'acme', token_from: 'EXW_TOKEN' });
  });
});
