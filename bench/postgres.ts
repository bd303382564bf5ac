// A script of this folder on PostgreSQL: a server of its own for the measurement, or the one of
// TEST_DATABASE_URL.
//   node bench/postgres.ts writes.ts [--rounds 5 …]
//   node bench/postgres.ts fair.ts [--changes 100000 …]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const [script = 'requests.ts', ...args] = process.argv.slice(2);
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const own = process.env.TEST_DATABASE_URL
  ? undefined
  : spawn(process.execPath, [file('../server/test/postgres_server.ts')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
const [said] = own
  ? ((await once(createInterface({ input: own.stdout }), 'line')) as [string])
  : [process.env.TEST_DATABASE_URL ?? ''];

const url = new URL(said);
const client = new pg.Client({ connectionString: url.href });
const name = `exitward_bench_${process.pid}`;
await client.connect();
await client.query(`create database ${name}`);
url.pathname = `/${name}`;
const { status } = spawnSync(process.execPath, [file(script), ...args], {
  stdio: 'inherit',
  env: { ...process.env, EXITWARD_DATABASE_URL: url.href },
});
await client.query(`drop database ${name} with (force)`);
await client.end();
own?.stdin.end();
process.exitCode = status ?? 1;
