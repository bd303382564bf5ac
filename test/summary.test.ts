// The last lines of CI, which scripts/summary.mjs makes of the parts' reports: each file is run by
// one part, and none is missing.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'exitward-summary-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A part's report, of files with one test each that passed. */
function report(part: string, ...files: string[]): string {
  return write(part, files, 'passed', 'passed');
}

/** A part's report, of files with one test each. */
function write(part: string, files: string[], status: string, ofTest: string): string {
  const testResults = files.map((file) => ({
    ...{ name: join(root, file), status, message: 'no time', startTime: 0, endTime: 1500 },
    assertionResults: [{ fullName: 'holds', status: ofTest, failureMessages: ['no time'] }],
  }));
  const path = join(folder, `${part}.json`);
  writeFileSync(path, JSON.stringify({ testResults }));
  return path;
}

function summaryOf(...reports: string[]): { status: number | null; stdout: string } {
  const runs = reports.flatMap((path) => [path, '0']);
  return summaryFrom(...runs, '--again');
}

function summaryFrom(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, ['scripts/summary.mjs', '0', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
}

test('the files of all parts are counted once', () => {
  const { status, stdout } = summaryOf(
    report('one', 'test/a.ts'),
    report('other', 'agent/test/a.ts'),
  );
  expect([status, stdout]).toEqual([
    0,
    '   1.5 s  test/a.ts\n   1.5 s  agent/test/a.ts\n2 passed, 0 failed\n',
  ]);
});

test('a file that two parts run fails: it is paid twice', () => {
  const { status, stdout } = summaryOf(
    report('one', 'agent/test/a.ts'),
    report('other', 'test/a.ts', 'agent/test/a.ts'),
  );
  expect([status, stdout]).toEqual([
    1,
    expect.stringContaining('failed: agent/test/a.ts was run twice\n3 passed, 1 failed\n'),
  ]);
});

test('a part without a report fails', () => {
  const { status, stdout } = summaryOf(report('one', 'test/a.ts'), join(folder, 'none.json'));
  expect([status, stdout]).toEqual([1, expect.stringContaining('1 passed, 1 failed\n')]);
});

test.each([
  ['whose test failed', 'failed', 'test/a.ts: holds'],
  ['that could not be prepared', 'skipped', 'test/a.ts'],
])('a file %s, and that passes alone, is unsteady', (_, ofTest, named) => {
  const failed = write('failed', ['test/a.ts'], 'failed', ofTest);
  const { status, stdout } = summaryFrom(failed, '1', '--again', report('again', 'test/a.ts'));
  expect([status, stdout]).toEqual([
    0,
    expect.stringContaining(`unsteady: ${named}: no time\n1 passed, 0 failed\n`),
  ]);
});

test('a file that fails again alone has failed', () => {
  const failed = write('failed', ['test/a.ts'], 'failed', 'skipped');
  const { status, stdout } = summaryFrom(failed, '1', '--again', failed);
  expect([status, stdout]).toEqual([1, expect.stringContaining('0 passed, 2 failed\n')]);
});

test('a second run that ran no test is a fault of its own: it says nothing of the first', () => {
  const failed = write('failed', ['test/a.ts'], 'failed', 'failed');
  const { status, stdout } = summaryFrom(failed, '1', '--again', join(folder, 'none.json'));
  expect([status, stdout]).toEqual([1, expect.stringContaining('failed: no test was run again')]);
});
