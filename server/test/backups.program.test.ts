// Backups by the server itself: made on a schedule while it runs, verified, few kept, and reported
// when they fail.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { readConfig } from '../src/config.ts';
import { CommandLine } from './cli_process.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-backups-'));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const backupsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.db'));

/** A server on a database file of its own, whose schedule looks only when the test says so. */
async function startOn(env: Record<string, string> = {}) {
  const folder = newFolder();
  const t = await startTestApp(`sqlite:${join(newFolder(), 'exitward.db')}`, {
    EXITWARD_BACKUP_DIR: folder,
    EXITWARD_BACKUP_EVERY_SECONDS: '3600',
    EXITWARD_BACKUP_KEEP: '2',
    ...env,
  });
  // So that an attempt which failed is made again when the test lets time pass.
  t.clock.steady = () => t.clock.seconds;
  const look = () => t.running.ctx.backups?.look();
  const status = async () => (await t.operator.get('/status')).body.backups;
  return { t, folder, look, status };
}

/** An account with a token that is sealed, and a user. */
async function fill(t: TestApp) {
  await t.server('fra1');
  return t.account('acme', { servers: ['fra1'] });
}

/**
 * Of each step with real processes, whose threads read their sources first: on a machine that is
 * busy with all tests.
 */
const patienceSeconds = 60;

test('a backup is made when one is due, is verified, and the oldest beyond the count go', async () => {
  const { t, folder, look, status } = await startOn();
  await fill(t);
  const times: number[] = [];
  expect(await status()).toMatchObject({ last: null, last_verified: null, late: false });
  for (let round = 0; round < 3; round += 1) {
    await look();
    times.push(t.now());
    // None is due again.
    await look();
    t.clock.advance(3600);
  }
  const files = backupsIn(folder);
  expect(files).toEqual(
    times
      .slice(1)
      .map((at) => `exitward-${new Date(at * 1000).toISOString().replace(/[-:]|\.\d+/g, '')}.db`),
  );
  const newest = join(folder, files[1] as string);
  expect(statSync(newest).mode & 0o777).toBe(0o600);
  expect(await status()).toEqual({
    folder,
    every_seconds: 3600,
    keep: 2,
    verify: true,
    last: { file: newest, at: times[2], bytes: statSync(newest).size },
    last_verified: { file: newest, at: times[2], verified_at: times[2] },
    fault: null,
    late: false,
  });
  const metrics = await (await fetch(t.running.metrics_url as string)).text();
  expect(metrics).toContain(`exitward_backup_last_seconds ${times[2]}\n`);
  expect(metrics).toContain(`exitward_backup_last_verified_seconds ${times[2]}\n`);
  expect(metrics).toContain('exitward_backup_late 0\n');
  t.clock.advance(2 * 3600);
  expect(await status()).toMatchObject({ late: true });
  await t.stop();
});

test('a backup that does not verify is reported, is no good one, and the good one before it stays', async () => {
  const { t, folder, look, status } = await startOn({ EXITWARD_BACKUP_KEEP: '1' });
  await fill(t);
  await look();
  const [good] = backupsIn(folder);
  const at = t.now();
  // Other keys: what is sealed in the backup cannot be opened by them.
  const { keys_file } = t.running.ctx.config;
  const keysBefore = readFileSync(keys_file);
  const other = JSON.parse(keysBefore.toString());
  other.seal = Buffer.alloc(32, 1).toString('base64url');
  writeFileSync(keys_file, JSON.stringify(other));
  t.clock.advance(3600);
  await look();
  expect(await status()).toMatchObject({
    last: { at: at + 3600 },
    last_verified: { at, file: join(folder, good as string) },
    fault: expect.stringMatching(/was written with other keys/),
    late: false,
  });
  expect(backupsIn(folder)).toHaveLength(2);
  writeFileSync(keys_file, keysBefore);
  t.clock.advance(3600);
  await look();
  expect(await status()).toMatchObject({ fault: null, last_verified: { at: at + 7200 } });
  expect(backupsIn(folder)).toHaveLength(1);
  await t.stop();
});

deepTest('a manifest that cannot be read is reported, and its backup still counts', async () => {
  const { t, folder, look, status } = await startOn();
  await look();
  const [name] = backupsIn(folder);
  const manifest = join(folder, `${name}.manifest`);
  const before = readFileSync(manifest);
  writeFileSync(manifest, '{');
  const fault = expect.stringContaining(`${manifest} cannot be read (it is damaged)`);
  const file = join(folder, name as string);
  expect(await status()).toMatchObject({ last: { file }, last_verified: null, fault });
  // A new manifest would vouch for bytes that nothing was compared with.
  await look();
  expect(readFileSync(manifest, 'utf8')).toBe('{');
  expect(await status()).toMatchObject({ fault });
  writeFileSync(manifest, before);
  t.clock.advance(3600);
  await look();
  expect(await status()).toMatchObject({ fault: null });
  await t.stop();
});

deepTest('a folder that cannot be written is a sentence, and the server goes on', async () => {
  const { t, folder, look, status } = await startOn();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'no folder');
  await look();
  expect(await status()).toMatchObject({
    last: null,
    fault: expect.stringMatching(/EEXIST|ENOTDIR/),
  });
  const metrics = await (await fetch(t.running.metrics_url as string)).text();
  expect(metrics).toContain('exitward_backup_failures_total 1\n');
  expect(metrics).toContain('exitward_backup_fault 1\n');
  await t.stop();
});

test('while another process makes a backup in the folder, none is made, and afterwards not a second one', async () => {
  const { t, folder, look } = await startOn();
  const lock = new DatabaseSync(join(folder, '.lock'));
  lock.exec('begin exclusive');
  await look();
  expect(backupsIn(folder)).toEqual([]);
  lock.close();
  await look();
  expect(backupsIn(folder)).toHaveLength(1);
  await t.stop();
});

deepTest(
  'a backup in the place of a removed one of the same second is reported as what it is',
  async () => {
    const { t, folder, look, status } = await startOn();
    await look();
    const [name] = backupsIn(folder) as [string];
    rmSync(join(folder, name));
    await fill(t);
    await look();
    expect(backupsIn(folder)).toEqual([name]);
    expect(await status()).toMatchObject({ fault: null, last_verified: { at: t.now() } });
    await t.stop();
  },
);

deepTest(
  "another network's backups in the folder are neither counted, verified nor removed",
  async () => {
    const shared = { EXITWARD_BACKUP_DIR: newFolder(), EXITWARD_BACKUP_KEEP: '1' };
    const folder = shared.EXITWARD_BACKUP_DIR;
    const other = await startOn(shared);
    await other.look();
    const [file = ''] = backupsIn(folder);
    // Made before manifests named the network.
    const { network, ...manifest } = JSON.parse(
      readFileSync(join(folder, `${file}.manifest`), 'utf8'),
    );
    expect(network).toBe(other.t.running.ctx.secrets.key_id);
    writeFileSync(join(folder, `${file}.manifest`), JSON.stringify(manifest));

    const own = await startOn(shared);
    expect(await own.status()).toMatchObject({ last: null, last_verified: null });
    for (let round = 1; round <= 2; round += 1) {
      own.t.clock.advance(3600);
      await own.look();
    }
    expect(backupsIn(folder)).toEqual([file, expect.any(String)]);
    expect((await own.status()).last.file).not.toContain(file);
    expect((await other.status()).last.file).toContain(file);
  },
);

test('on PostgreSQL a folder for backups is refused, with the reason', () => {
  const env = { EXITWARD_DATABASE_URL: 'postgres://a@b/c', EXITWARD_BACKUP_DIR: '/backups' };
  expect(() => readConfig(env)).toThrow(/EXITWARD_BACKUP_DIR: .*schedule pg_dump/);
});

describe('with real processes', () => {
  test(
    'what a killed process left half done is removed, and the next one makes a whole backup',
    async () => {
      const folder = newFolder();
      const settings = ServerProcess.settings({
        EXITWARD_BACKUP_DIR: folder,
        EXITWARD_BACKUP_EVERY_SECONDS: '3600',
      });
      const first = await ServerProcess.start(settings);
      // Killed as soon as the copy is under way, or behind it: both must do.
      const isBegun = () => readdirSync(folder).some((name) => name.startsWith('exitward-'));
      await until(isBegun, patienceSeconds);
      await first.end('SIGKILL');
      const unfinished = join(folder, 'exitward-20260101T000000Z.db.0123456789ab.unfinished');
      writeFileSync(unfinished, 'half');
      mkdirSync(join(folder, '.verifying-abc'));
      for (const name of backupsIn(folder)) rmSync(join(folder, name));
      const second = await ServerProcess.start(settings);
      const { backups } = await until(async () => {
        const { body } = await second.operator.get('/status');
        return body.backups.last_verified !== null && body;
      }, patienceSeconds);
      expect(backups).toMatchObject({ fault: null, late: false });
      expect(existsSync(unfinished)).toBe(false);
      expect(readdirSync(folder).filter((name) => name.startsWith('.verifying'))).toEqual([]);
      await second.end('SIGTERM');
      expect((await second.ended).code).toBe(0);
      await second.remove();
    },
    4 * patienceSeconds * 1000,
  );
});

describe('exitward backup verify', () => {
  const cli = new CommandLine();
  const copy = join(cli.data_dir, 'copy.db');
  afterAll(() => cli.clean());

  test('a good backup is restored and compared, and the command says what it compared', async () => {
    await cli.serve();
    await cli.run('account', 'create', 'acme', '--plan', 'p', '--limit', '1TB', '--expiry', '+1y');
    await cli.run('backup', copy);
    const { code, stderr } = await cli.run('backup', 'verify', copy);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /is good\. It is byte for byte.*rows of \d+ tables are there with every value\..*opened 1 sealed value/,
      ),
    ]);
    const { stdout } = await cli.run('backup', 'verify', copy, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      file: copy,
      as_written: true,
      migrations: [],
      sealed: 1,
    });
    expect(readdirSync(cli.data_dir).filter((name) => name.startsWith('.verifying'))).toEqual([]);
    await cli.stop();
  });

  test('one changed byte, other keys, no file and no database are each distinguished', async () => {
    const verify = async (file: string) => (await cli.run('backup', 'verify', file)).stderr;
    const cut = join(cli.data_dir, 'cut.db');
    writeFileSync(cut, readFileSync(copy).subarray(0, 20_000));
    expect(await verify(cut)).toMatch(/is not a whole SQLite database/);
    expect(await verify(join(cli.data_dir, 'none.db'))).toMatch(/There is no file/);

    // A letter within a value: SQLite finds nothing wrong with it.
    const bytes = readFileSync(copy);
    const at = bytes.indexOf('acme');
    const handle = openSync(copy, 'r+');
    writeSync(handle, 'b', at);
    expect(await verify(copy)).toMatch(/is not what was written/);
    writeSync(handle, 'a', at);
    expect(await verify(copy)).toMatch(/is good/);
    const manifest = readFileSync(`${copy}.manifest`);
    writeFileSync(`${copy}.manifest`, '');
    expect(await verify(copy)).toMatch(/\.manifest cannot be read \(it is damaged\)/);
    writeFileSync(`${copy}.manifest`, manifest);

    const keys = join(cli.data_dir, 'keys.json');
    const keysBefore = readFileSync(keys);
    const other = JSON.parse(keysBefore.toString());
    other.hash = Buffer.alloc(32, 1).toString('base64url');
    writeFileSync(keys, JSON.stringify(other));
    expect(await verify(copy)).toMatch(/was written with other keys/);
    writeFileSync(keys, keysBefore);
  });

  deepTest('without a file the newest of the schedule is taken', async () => {
    expect((await cli.run('backup', 'verify')).stderr).toMatch(/EXITWARD_BACKUP_DIR is not set/);
    const folder = newFolder();
    cli.env = { ...cli.env, EXITWARD_BACKUP_DIR: folder };
    expect((await cli.run('backup', 'verify')).stderr).toMatch(/There is no backup in/);
    const file = join(folder, 'exitward-20261123T120000Z.db');
    await cli.run('backup', file);
    expect((await cli.run('backup', 'verify')).stderr).toContain(`${file} is good.`);
  });
});
