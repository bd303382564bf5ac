// `npm run bench`: every measurement, one after another, and at the end one table of them. As root;
// needs wrk, taskset, cc, Squid, tinyproxy, nftables and Chromium (Debian: wrk, util-linux, gcc,
// squid-openssl, tinyproxy-bin, nftables, chromium).
//   npm run bench -- [--smoke] [NAME…]     as proxy.ts; without a name, all
//       --smoke: each as small as can be, in seconds: that it works, not how fast
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Row, tableOf } from './goals.ts';
import { measurements } from './measurements.ts';

const { values, positionals } = parseArgs({
  options: { smoke: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const chosen = measurements.filter(
  ({ file }) => positionals.length === 0 || positionals.includes(file),
);
if (chosen.length === 0) throw new Error(`${positionals.join(' ')}: no such measurement`);
/** A measurement that takes longer does not end by itself. */
const deadlineMs = values.smoke ? 180_000 : 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const table = join(folder, 'table');

for (const { file, smoke, onPostgres } of chosen) {
  for (const database of onPostgres ? ['SQLite', 'PostgreSQL'] : ['SQLite']) {
    const args = [file, ...(values.smoke ? smoke : [])];
    if (database === 'PostgreSQL') args.unshift('postgres.ts');
    console.log(`\n# bench/${args.join(' ')}`);
    const path = fileURLToPath(new URL(args[0] as string, import.meta.url));
    const { status, signal } = spawnSync(process.execPath, [path, ...args.slice(1)], {
      stdio: 'inherit',
      env: { ...process.env, BENCH_TABLE: table, ...(values.smoke ? { BENCH_SMOKE: '1' } : {}) },
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    if (signal) console.log(`FAILED: not over after ${deadlineMs / 1000} s`);
    else if (status !== 0) console.log(`FAILED: exit code ${status}`);
    if (status !== 0) process.exitCode = 1;
  }
}
const rows = existsSync(table) ? readFileSync(table, 'utf8').trimEnd().split('\n') : [];
console.log(`\n${tableOf(rows.map((row) => JSON.parse(row) as Row))}`);
rmSync(folder, { recursive: true });
