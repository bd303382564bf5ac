// The Debian packages on a machine with nothing but Debian's essential packages: apt chooses all
// that comes with them.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packagesOfRun } from './packages.ts';
import { testFolder } from './test_folder.ts';

const folder = testFolder('minimal');

test('neither package brings a mail server or a cron', async () => {
  // Nothing is installed there.
  const status = join(folder, 'status');
  writeFileSync(status, '');
  for (const file of await packagesOfRun(folder)) {
    const simulated = ['--simulate', '-o', `Dir::State::status=${status}`, 'install', file];
    const output = execFileSync('apt-get', simulated, { encoding: 'utf8', maxBuffer: 2 ** 26 });
    const names = Array.from(output.matchAll(/^Inst (\S+)/gm), ([, name]) => name);
    expect(names).toContain('libc6');
    expect(names.filter((name) => /^(cron|exim4|postfix|.*mailx)\b/.test(name ?? ''))).toEqual([]);
  }
});
