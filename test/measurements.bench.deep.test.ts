// `npm run bench`, each measurement as small as can be: it ends, and says what it measured. No test
// says how fast something is.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measurements } from '../bench/measurements.ts';

const program = join(import.meta.dirname, '..', 'bench', 'run.ts');

test.each(measurements)('bench/$file measures, and ends', { timeout: 600_000 }, ({ file }) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--smoke', file], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).not.toMatch(/NaN|undefined|FAILED/);
  expect(stdout).toMatch(/^\| work .*\n\| ---.*\n(\| .+\n)+$/m);
});
