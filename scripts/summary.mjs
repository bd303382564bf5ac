// Reads vitest's JSON reports and prints the slowest files, the faults, and `N passed, N failed`; a test that was not run
// counts as failed.
//
//   node scripts/summary.mjs CHECKS_FAILED REPORT EXIT_CODE [REPORT EXIT_CODE]…
//
// EXIT_CODE is vitest's: it also fails for an error outside of any test, which the report leaves out.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { argv, cwd, exit, stdout } from 'node:process';

const slowest = 10;

const [checksFailed, ...runs] = argv.slice(2);
let passed = 0;
const faults = [];
const durations = [];

for (let index = 0; index < runs.length; index += 2) {
  readRun(runs[index], runs[index + 1]);
}

durations.sort((one, other) => other.seconds - one.seconds);
for (const { name, seconds } of durations.slice(0, slowest)) {
  stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${name}\n`);
}
const failed = faults.length + Number(checksFailed);
for (const fault of faults) stdout.write(`${fault}\n`);
stdout.write(`${passed} passed, ${failed} failed\n`);
exit(failed === 0 ? 0 : 1);

function readRun(report, exitCode) {
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  const before = faults.length;
  for (const file of files) readFile(file);
  if (files.length === 0) faults.push(`failed: no test was run for ${report}`);
  if (exitCode !== '0' && faults.length === before) {
    faults.push('failed: an error outside of any test');
  }
}

function readFile({ name: path, status, message, assertionResults, startTime, endTime }) {
  const name = relative(cwd(), path);
  durations.push({ name, seconds: (endTime - startTime) / 1000 });
  for (const test of assertionResults) {
    if (test.status === 'passed') passed += 1;
    else faults.push(`${test.status}: ${name}: ${test.fullName}`);
  }
  // A file that could not be loaded has no tests to blame.
  if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) {
    faults.push(`failed: ${name}: ${message}`);
  }
}
