// A disk that is full when the server starts: root makes one. It runs where Squid's tests do, which
// are root's, too.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { drawn } from '../../test/deep_test.ts';
import { until } from './waiting.ts';

const program = fileURLToPath(new URL('serve.ts', import.meta.url));
const run = promisify(execFile);

test.each(drawn([4, 64, 400]))(
  'a disk of %i KiB: the server says in one sentence that it is full, and which',
  async (kibibytes) => {
    const folder = mkdtempSync(join(tmpdir(), 'exitward-full-'));
    const script = `mount -t tmpfs -o size=${kibibytes}k none ${folder} && exec "$0" ${program}`;
    const env = {
      PATH: process.env.PATH,
      EXITWARD_DATA_DIR: join(folder, 'data'),
      EXITWARD_LISTEN: '127.0.0.1:0',
      EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
      EXITWARD_METRICS_LISTEN: '127.0.0.1:0',
    };
    const args = ['--mount', 'sh', '-c', script, process.execPath];
    const ended = await run('unshare', args, { env, timeout: 60_000 }).catch((error) => error);
    rmSync(folder, { recursive: true });
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The disk is full: \S+ has no space left for the server to start\.\n$/,
      ),
    ]);
  },
);

test('a disk that is full of backups: the fault is a sentence in the log and the metrics, and the server goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-full-'));
  const backups = join(folder, 'backups');
  const script = `mkdir ${backups} && mount -t tmpfs -o size=100k none ${backups} && exec "$0" ${program}`;
  const env = {
    PATH: process.env.PATH,
    EXITWARD_DATA_DIR: join(folder, 'data'),
    EXITWARD_BACKUP_DIR: backups,
    EXITWARD_LISTEN: '127.0.0.1:0',
    EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
    EXITWARD_METRICS_LISTEN: '127.0.0.1:0',
  };
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, process.execPath], { env });
  const ended = once(child, 'close');
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => {
    log += chunk;
  });
  const logged = (pattern: RegExp) =>
    until(
      () => pattern.exec(log) ?? undefined,
      60,
      () => log,
    );
  const [, metrics = ''] = await logged(/"metrics_url":"([^"]+)"/);
  const [, fault] = await logged(/"fault":"([^"]+)","msg":"a backup failed/);
  expect(fault).toBe(`The disk is full: ${backups} has no space left for a backup.`);
  const text = await (await fetch(metrics)).text();
  expect(text).toContain('exitward_backup_fault 1\n');
  expect(text).not.toMatch(/^exitward_backup_last_seconds \d/m);
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
  rmSync(folder, { recursive: true });
});
