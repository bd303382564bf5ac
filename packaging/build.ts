// npm run package:deb: makes the Debian packages, the same bytes from the same tree each time.
//
//   npm run package:deb -- [--arch amd64,arm64] [--out FOLDER]     both architectures, packages/
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { argv, env, exit, stderr, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { buildPackages } from './deb.ts';
import { architectures, findNode } from './node.ts';
import { layPrograms } from './programs.ts';
import { epochOf } from './tree.ts';

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    arch: { type: 'string', default: Object.keys(architectures).join(',') },
    out: { type: 'string', default: resolve(import.meta.dirname, '../packages') },
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'exitward-packages-'));
try {
  const epoch = epochOf(env.SOURCE_DATE_EPOCH);
  const programs = await layPrograms(join(scratch, 'programs'));
  for (const architecture of values.arch.split(',')) {
    const node = await findNode(architecture, join(scratch, 'nodes'));
    const made = buildPackages({ programs, node, architecture, epoch, out: resolve(values.out) });
    for (const file of made) stdout.write(`${file}\n`);
  }
} catch (error) {
  stderr.write(`package:deb: ${(error as Error).message}\n`);
  exit(1);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
