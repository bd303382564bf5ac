// npm run test:deep: the whole proof at full effort, part by part, as root on Debian. The passed
// parts are recorded on the tree.
//
//   npm run test:deep -- [--list] [PART…]
//       the parts that are not recorded for this tree; or those named
//
// Two parts run at a time: one of those that share ports and the kernel's rules, and one of the
// others. Each writes its log to a file, whose path is printed. Without the programs that a part
// needs it fails, and says what to install.
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { argv, env, execPath, exit, stderr, stdout } from 'node:process';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { kinds } from '../test/lanes.mjs';
import { missingParts, parts, recordPart } from './release/deep_record.ts';

const root = resolve(import.meta.dirname, '..');
/** A network of its own. */
const apart = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const vitest = [execPath, join(root, 'node_modules/vitest/vitest.mjs'), 'run'];
const soak = [execPath, join(root, 'test/soak/run.ts'), '--minutes', '10'];

const { values, positionals } = parseArgs({
  args: argv.slice(2),
  options: { list: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.find((part) => !parts.includes(part));
if (unknown !== undefined) {
  stderr.write(`exitward: there is no part ${unknown}; expected some of ${parts.join(', ')}.\n`);
  exit(2);
}
const chosen = positionals.length > 0 ? positionals : missingParts(root);
if (values.list) {
  stdout.write(chosen.map((part) => `${part}\n`).join(''));
  exit();
}

const isClean = execFileSync('git', ['-C', root, 'status', '--porcelain']).length === 0;
if (!isClean) stderr.write('exitward: there are uncommitted changes; nothing will be recorded.\n');
const logs = mkdtempSync(join(tmpdir(), 'exitward-deep-'));
const isAlone = (part: string) => part === 'soak' || kinds[part]?.isAlone === true;
const outcomes = await Promise.all([
  runAll(chosen.filter(isAlone)),
  runAll(chosen.filter((part) => !isAlone(part))),
]);
const failed = outcomes.flat();
const missing = isClean ? missingParts(root) : parts;
stdout.write(
  failed.length > 0
    ? `exitward: failed: ${failed.join(', ')}\n`
    : missing.length > 0
      ? `exitward: passed: ${chosen.join(', ')}; not recorded for this tree: ${missing.join(', ')}\n`
      : 'exitward: all parts have passed on this tree\n',
);
exit(failed.length === 0 ? 0 : 1);

/** Runs parts one after another; resolves with those that failed. */
async function runAll(parts: readonly string[]): Promise<string[]> {
  const failures: string[] = [];
  for (const part of parts) if (!(await runPart(part))) failures.push(part);
  return failures;
}

async function runPart(part: string): Promise<boolean> {
  const log = join(logs, `${part}.log`);
  const report = join(logs, `${part}.json`);
  const project = [`--project=*/${part}`, '--reporter=default', '--reporter=json'];
  const tests = [...vitest, ...project, `--outputFile.json=${report}`];
  const command = part === 'soak' ? soak : tests;
  const [program = '', ...args] = [...(isAlone(part) ? apart : []), ...command];
  const started = Date.now();
  const child = spawn(program, args, {
    cwd: root,
    env: { ...env, CI: 'true', EXITWARD_TEST_EFFORT: 'deep' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const file = createWriteStream(log);
  const [code] = await Promise.all([
    new Promise<number | null>((done) => child.once('close', done)),
    pipeline(child.stdout, file, { end: false }),
    pipeline(child.stderr, file, { end: false }),
  ]);
  file.end();
  const seconds = Math.round((Date.now() - started) / 1000);
  const figures = part === 'soak' ? '' : `${countOf(report)} passed, `;
  stdout.write(`${code === 0 ? 'passed' : 'FAILED'}  ${part}  ${figures}${seconds} s  ${log}\n`);
  if (code === 0 && isClean) {
    recordPart(root, part, `${figures}${seconds} s, ${new Date(started).toISOString()}`);
  }
  return code === 0;
}

function countOf(report: string): number {
  return JSON.parse(readFileSync(report, 'utf8')).numPassedTests;
}
