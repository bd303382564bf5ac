// Names the files whose tests failed, a line each, for one more run: `FILE`, or `FILE SEED` where
// the failure names its seed.
//
//   node scripts/failed_files.mjs REPORT…
//
// Of more than six files none is named: so many do not fail by chance.
import { relative } from 'node:path';
import { argv, cwd, stdout } from 'node:process';
import { readReport } from './reports.mjs';

const maxFiles = 6;

const failed = argv
  .slice(2)
  .flatMap(readReport)
  .filter(({ status }) => status === 'failed');
if (failed.length <= maxFiles) {
  for (const { name, assertionResults } of failed) {
    const messages = assertionResults.flatMap((test) => test.failureMessages ?? []).join('\n');
    const seed = messages.match(/EXITWARD_TEST_SEED=(\d+)|\bseed: (-?\d+)/);
    stdout.write(`${relative(cwd(), name)} ${seed?.[1] ?? seed?.[2] ?? ''}\n`);
  }
}
