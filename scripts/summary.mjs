// Reads vitest's JSON reports and prints the slowest files, the faults, and `N passed, N failed`; a
// test that was not run counts as failed, and so does a file that was run by two parts: it would be
// paid, and counted, twice.
//
//   node scripts/summary.mjs CHECKS_FAILED REPORT EXIT_CODE [REPORT EXIT_CODE]… --again [REPORT]…
//
// EXIT_CODE is vitest's: it also fails for an error outside of any test, which the report leaves
// out. The reports after --again are of files that were run once more alone: a test that failed
// first and passed there counts as passed, and is named as unsteady.
import { relative } from 'node:path';
import { argv, cwd, exit, stdout } from 'node:process';
import { readReport } from './reports.mjs';

const slowest = 10;

const [checksFailed, ...given] = argv.slice(2);
const runs = given.slice(0, given.indexOf('--again'));
const again = given.slice(runs.length + 1);
const passedAgain = testsThatPassed(again);
let passed = 0;
const faults = [];
const unsteady = [];
const durations = [];

for (const report of again) {
  if (readReport(report).length === 0) faults.push(`failed: no test was run again for ${report}`);
}
for (let index = 0; index < runs.length; index += 2) {
  readRun(runs[index], runs[index + 1]);
}

durations.sort((a, b) => b.seconds - a.seconds);
for (const { name, seconds } of durations.slice(0, slowest)) {
  stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${name}\n`);
}
const failed = faults.length + Number(checksFailed);
for (const test of unsteady) stdout.write(`${test}\n`);
for (const fault of faults) stdout.write(`${fault}\n`);
stdout.write(`${passed} passed, ${failed} failed\n`);
exit(failed === 0 ? 0 : 1);

function testsThatPassed(reports) {
  const tests = reports
    .flatMap(readReport)
    .flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ name, ...test })));
  return new Set(tests.filter(({ status }) => status === 'passed').map(nameOf));
}

function nameOf({ name, fullName }) {
  return `${relative(cwd(), name)}: ${fullName}`;
}

function readRun(report, exitCode) {
  const files = readReport(report);
  const before = faults.length + unsteady.length;
  for (const file of files) readFile(file);
  if (files.length === 0) faults.push(`failed: no test was run for ${report}`);
  if (exitCode !== '0' && faults.length + unsteady.length === before) {
    faults.push('failed: an error outside of any test');
  }
}

function readFile({ name, status, message, assertionResults, startTime, endTime }) {
  const path = relative(cwd(), name);
  if (durations.some((duration) => duration.name === path))
    faults.push(`failed: ${path} was run twice`);
  durations.push({ name: path, seconds: (endTime - startTime) / 1000 });
  for (const test of assertionResults) {
    const title = nameOf({ name, ...test });
    if (test.status === 'passed') passed += 1;
    else if (passedAgain.has(title)) {
      passed += 1;
      if (test.status === 'failed') {
        unsteady.push(`unsteady: ${title}: ${(test.failureMessages ?? [])[0]?.split('\n')[0]}`);
      }
    } else faults.push(`${test.status}: ${title}`);
  }
  // A file that could not be loaded, or prepared, has no tests to blame.
  if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) {
    const isUnsteady =
      assertionResults.length > 0 &&
      assertionResults.every((test) => passedAgain.has(nameOf({ name, ...test })));
    if (isUnsteady) unsteady.push(`unsteady: ${path}: ${message}`);
    else faults.push(`failed: ${path}: ${message}`);
  }
}
