// A disk that is full when the server starts: root makes one. It runs where Squid's tests do, which are root's, too.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('serve.ts', import.meta.url));
const run = promisify(execFile);

test.each([4, 64, 400])(
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
  90_000,
);
