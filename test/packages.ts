// The Debian packages of this tree, for the tests that install them: built once for all of them in
// CI, by the first that comes.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackages } from '../packaging/deb.ts';
import { findNode } from '../packaging/node.ts';
import { layPrograms } from '../packaging/programs.ts';
import { until } from '../server/test/waiting.ts';

export const architecture = execFileSync('dpkg', ['--print-architecture'], {
  encoding: 'utf8',
}).trim();

/** The time that everything in the packages bears. */
export const epoch = 1_795_000_000;

/** Builds both packages in a folder, which is made; returns their files, the server's first. */
async function build(folder: string): Promise<string[]> {
  const programs = await layPrograms(join(folder, 'programs'));
  const node = await findNode(architecture, folder);
  return buildPackages({ programs, node, architecture, epoch, out: join(folder, 'out') });
}

/**
 * The files of both packages, to be left as they are: of the whole run where it shares a folder, or
 * built in this one.
 */
export async function packagesOfRun(folder: string): Promise<string[]> {
  const shared = process.env.EXITWARD_TEST_PACKAGES;
  if (!shared) return build(folder);
  const lock = join(shared, 'lock');
  const files = join(shared, 'files.json');
  await until(() => takes(lock), 240);
  try {
    if (!existsSync(files)) writeFileSync(files, JSON.stringify(await build(shared)));
    return JSON.parse(readFileSync(files, 'utf8')) as string[];
  } finally {
    rmdirSync(lock);
  }
}

/** Whether the lock is ours now. Other processes take it, too. */
function takes(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
