// The checks before a release: one version everywhere, named in the changelog, of a commit that has
// everything, and not tagged yet.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A version that may be released. */
export interface Release {
  version: string;
  /** When its commit was made, epoch seconds: the time that all files bear. */
  epoch: number;
}

/**
 * Reads which version the project in the folder is. Errors: the first reason why it cannot be
 * released.
 */
export function checkRelease(root: string): Release {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  const version = versionOf(root);
  const changed = git('status', '--porcelain').split('\n').filter(Boolean);
  if (changed.length > 0) {
    throw new Error(
      `${changed.length} files are not as in the last commit, the first is ${changed[0]?.replace(/^\S+ +/, '')}; commit them or take them away.`,
    );
  }
  if (sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version) === undefined) {
    throw new Error(
      `CHANGELOG.md has no section "## [${version}]" that says something; name what is new there.`,
    );
  }
  if (git('tag', '--list', `v${version}`) !== '') {
    throw new Error(
      `v${version} is tagged already; raise the version (npm version, in all workspaces).`,
    );
  }
  // It says itself what npm installed otherwise than the lock file has it.
  execFileSync(process.execPath, [join(root, 'scripts/installed.mjs')], { stdio: 'inherit' });
  return { version, epoch: Number(git('log', '-1', '--format=%ct')) };
}

/** The one version of the project and its workspaces. Errors: one of them has another. */
export function versionOf(root: string): string {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { version, workspaces } = read('package.json') as { version: string; workspaces: string[] };
  const locked = read('package-lock.json').packages as Record<string, { version: string }>;
  for (const name of ['', ...workspaces]) {
    const path = join(name, 'package.json');
    for (const [file, said] of [
      [path, read(path).version],
      [`package-lock.json, ${name || 'the project'}`, locked[name]?.version],
    ]) {
      if (said !== version) throw new Error(`${file} says ${said}, package.json ${version}.`);
    }
  }
  return version;
}

/** The section of the changelog about a version; undefined when that is empty. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const own = sections.find((text) => text.startsWith(`[${version}]`));
  const said = own?.slice(own.indexOf('\n')).trim();
  return said || undefined;
}
