// The log in a real journal: journald runs by itself, in a mount namespace of its own, and
// journalctl finds lines by priority.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ServerProcess } from '../server/test/server_process.ts';

const run = promisify(execFile);
const bin = fileURLToPath(new URL('../server/bin/exitward.js', import.meta.url));

/**
 * Under journald, as a service is: it learns of its stream by JOURNAL_STREAM, which systemd-cat
 * leaves to systemd.
 */
const script = `
set -eu
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mkdir -p /run/systemd/journal /run/log
/usr/lib/systemd/systemd-journald 2> /dev/null & journald=$!
until [ -S /run/systemd/journal/stdout ]; do sleep 0.1; done
service='export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2); exec "$0" "$@"'
systemd-cat --identifier=exitward sh -c "$service" "$1" "$2" serve & server=$!
until journalctl --quiet -t exitward -o cat | grep -q 'Exitward is listening'; do sleep 0.2; done
kill -TERM $server
wait $server
EXITWARD_LISTEN=nowhere systemd-cat --identifier=exitward sh -c "$service" "$1" "$2" serve || true
journalctl --sync
journalctl --quiet -t exitward -p warning -o cat
echo ---
journalctl --quiet -t exitward -p info..info -o cat
kill $journald
`;

test('the journal stores each line with its priority, and without the prefix that says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-journald-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, ...ServerProcess.settings({ EXITWARD_DATA_DIR: folder }) };
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const args = [...apart, 'sh', '-c', script, 'sh', process.execPath, bin];
  const { stdout } = await run('unshare', args, { env: env as NodeJS.ProcessEnv, timeout: 50_000 });
  const [warnings = '', others = ''] = stdout.split('---\n');
  expect(warnings).toMatch(/^EXITWARD_LISTEN: "nowhere" is not valid; .*\n$/);
  const lines = others.split('\n').filter((line) => line.startsWith('{'));
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 30, msg: 'Exitward is listening' }),
  );
  expect(others).not.toContain('<6>');
});
