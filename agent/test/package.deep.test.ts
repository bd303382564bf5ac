// The package that operators install: JavaScript that runs as it is, with the processes that the
// agent starts.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'agent/package.json'), 'utf8'));
const tarball = `exitward-agent-${version}.tgz`;
let folder: string;
const run = (...args: string[]) =>
  execFileSync(process.execPath, [join(folder, 'package/bin/exitward-agent.js'), ...args], {
    encoding: 'utf8',
  });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-package-'));
  execFileSync('npm', ['pack', '-w', 'agent', '--pack-destination', folder], {
    cwd: root,
    stdio: 'ignore',
  });
  execFileSync('tar', ['-xzf', tarball], { cwd: folder });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the packed command line runs, and says its version', () => {
  expect(run('--version').trim()).toBe(version);
});

test('what it starts as a process or thread of its own is in the package', () => {
  for (const file of ['squid/decider/main.js', 'store/compaction.js']) {
    expect([file, existsSync(join(folder, 'package/dist/agent/src', file))]).toEqual([file, true]);
  }
});

test('it carries the licence, the notice and a README', () => {
  for (const paper of ['LICENSE', 'NOTICE', 'README.md']) {
    expect([paper, readFileSync(join(folder, 'package', paper), 'utf8').length > 300]).toEqual([
      paper,
      true,
    ]);
  }
});

test('it holds no TypeScript and no tests', () => {
  const names = execFileSync('tar', ['-tzf', tarball], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(names).not.toMatch(/\.ts$|\/test\//m);
});
