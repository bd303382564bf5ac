// The record of deep runs, on a repository of its own: which parts have passed on which tree.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { missingParts, parts, recordPart, requireDeepRun } from '../scripts/release/deep_record.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-deep-record-'));
afterAll(() => rmSync(folder, { recursive: true }));
const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { stdio: 'pipe' });
const commit = (text: string) => {
  writeFileSync(join(folder, 'file'), text);
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--message', 'a commit');
};

test('a release needs each part of a deep run on its own tree, whatever commit has it', () => {
  git('init', '--quiet');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@t');
  commit('one');
  expect(missingParts(folder)).toEqual(parts);
  const [first = '', ...others] = parts;
  for (const part of others) recordPart(folder, part, '1 passed, 2 s');
  expect(missingParts(folder)).toEqual([first]);
  expect(() => requireDeepRun(folder)).toThrow(new RegExp(`^${first} .*test:deep.* not passed`));
  recordPart(folder, first, '3 passed, 4 s');
  recordPart(folder, first, '5 passed, 6 s');
  expect(missingParts(folder)).toEqual([]);
  requireDeepRun(folder);

  commit('one');
  expect(missingParts(folder)).toEqual([]);
  commit('another');
  expect(missingParts(folder)).toEqual(parts);
  commit('one');
  expect(missingParts(folder)).toEqual([]);
});
