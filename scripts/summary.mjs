// Reads vitest's JSON report and prints `N passed, N failed`; a test that was not run counts as failed.
//
//   node scripts/summary.mjs REPORT EXIT_CODE CHECKS_FAILED
//
// EXIT_CODE is vitest's: it also fails for an error outside of any test, which the report leaves out.
import { existsSync, readFileSync } from 'node:fs';
import { argv, exit, stdout } from 'node:process';

const [report, exitCode, checksFailed] = argv.slice(2);
const files =
  report && existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];

let passed = 0;
const faults = [];
for (const file of files) {
  for (const test of file.assertionResults) {
    if (test.status === 'passed') passed += 1;
    else faults.push(`${test.status}: ${file.name}: ${test.fullName}`);
  }
  // A file that could not be loaded has no tests to blame.
  if (
    file.status === 'failed' &&
    !file.assertionResults.some(({ status }) => status === 'failed')
  ) {
    faults.push(`failed: ${file.name}: ${file.message}`);
  }
}
if (files.length === 0) faults.push('failed: no test was run');
if (exitCode !== '0' && faults.length === 0) faults.push('failed: an error outside of any test');

const failed = faults.length + Number(checksFailed);
for (const fault of faults) stdout.write(`${fault}\n`);
stdout.write(`${passed} passed, ${failed} failed\n`);
exit(failed === 0 ? 0 : 1);
