// Earlier versions of the programs, as git has them, to run beside this one.
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * The last release. Its agent's one package that this tree no longer needs is a development
 * dependency: commander.
 */
export const released = { version: '0.2.0', commit: 'c3ffbe83' };

/**
 * Lays these folders of a commit, as far as it has them, into another folder, with this tree's
 * packages. Errors: the history does not reach back to it.
 */
export function unpackCommit(commit: string, into: string, ...folders: string[]): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, ...args], { maxBuffer: 100_000_000, stdio: 'pipe' });
  try {
    git('cat-file', '-e', `${commit}^{commit}`);
  } catch {
    throw new Error(
      `The repository's history does not hold commit ${commit}, whose programs this test runs; a shallow clone gets it by "git fetch --unshallow".`,
    );
  }
  const there = String(git('ls-tree', '--name-only', commit)).split('\n');
  const laid = folders.filter((folder) => there.includes(folder));
  execFileSync('tar', ['-x', '-C', into], { input: git('archive', commit, ...laid) });
  symlinkSync(join(root, 'node_modules'), join(into, 'node_modules'));
}
