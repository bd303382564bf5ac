// The database behind PgBouncer: its sessions are used like PostgreSQL's own, its transactions are
// refused.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { type PostgresServer, startPostgres } from './postgres.ts';

const actor = { kind: 'system', name: 'test', address: '', request_id: '' } as const;
const folder = mkdtempSync(join(tmpdir(), 'exitward-pooler-'));
const poolers: ChildProcess[] = [];
let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  for (const pooler of poolers) pooler.kill();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A PgBouncer as Debian sets it up, in this mode; returns its URL. It does not run as root. */
async function startPooler(pool_mode: string): Promise<string> {
  const url = new URL(postgres.url);
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  const files = { users: join(folder, 'users'), settings: join(folder, `${pool_mode}.ini`) };
  const port = await freePort();
  writeFileSync(files.users, `"${url.username}" "${url.password}"\n`);
  writeFileSync(
    files.settings,
    `[databases]\n* = host=${url.hostname} port=${url.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1
listen_port = ${port}\nunix_socket_dir =\nauth_type = plain\nauth_file = ${files.users}
pool_mode = ${pool_mode}\n`,
  );
  chmodSync(folder, 0o700);
  for (const path of [folder, files.users, files.settings]) chownSync(path, id('-u'), id('-g'));
  const identity = { uid: id('-u'), gid: id('-g') };
  const pooler = spawn('/usr/sbin/pgbouncer', [files.settings], { ...identity, stdio: 'pipe' });
  poolers.push(pooler);
  let log = '';
  await new Promise<void>((resolve, reject) => {
    pooler.once('close', () => reject(new Error(log)));
    pooler.stderr.on('data', (text) => {
      log += text;
      if (log.includes('process up')) resolve();
    });
  });
  url.port = String(port);
  return url.href;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

test('the sessions of PgBouncer carry changes, announce them, and have the limits of ours', async () => {
  const url = await startPooler('session');
  const db = await openDatabase(url, { clock: systemClock });
  const limits = `select current_setting('statement_timeout') as statement,
    current_setting('idle_in_transaction_session_timeout') as transaction`;
  try {
    await migrate(db);
    const heard = new Promise<void>((resolve) => db.listen(resolve));
    expect(await db.write(actor, (tx) => tx.one(limits))).toEqual({
      statement: '10s',
      transaction: '10s',
    });
    await heard;
    expect(await db.one(limits)).toEqual({ statement: '10s', transaction: '10s' });
  } finally {
    await db.close();
  }
  const patient = await openDatabase(`${url}?statement_timeout=50000`, { clock: systemClock });
  expect(await patient.one(limits)).toEqual({ statement: '50s', transaction: '10s' });
  await patient.close();
});

test.each(['transaction', 'statement'])('PgBouncer is refused in %s mode', async (pool_mode) => {
  await expect(openDatabase(await startPooler(pool_mode), { clock: systemClock })).rejects.toThrow(
    /^EXITWARD_DATABASE_URL leads to a pooler .*PgBouncer: pool_mode = session\)\.$/,
  );
});
