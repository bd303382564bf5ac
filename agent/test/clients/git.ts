// Git as a foreign client: a clone downloads the bytes, and a push uploads them.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deed, Outcome } from './clients.ts';
import { run } from './programs.ts';
import { digestOf } from './site.ts';

function options({ proxy, authorities }: Deed): string[] {
  const trust = { sslCAInfo: authorities, proxySSLCAInfo: authorities };
  // Sending by HTTP/2, Git 2.39 waits for itself for ever now and then:
  // https://github.com/git/git/pull/1608.
  const settings = { proxy, ...trust, version: 'HTTP/1.1' };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `http.${name}=${value}`]);
}

export const cloneByGit = (deed: Deed) => clone(deed, 'main');

async function clone(deed: Deed, branch: string): Promise<Outcome> {
  const from = `${deed.site}/repository.git`;
  const args = [...options(deed), 'clone', '--quiet', '--branch', branch, from, 'clone'];
  const { code, output } = await run('git', args, deed.home);
  const file = join(deed.home, 'clone', 'blob');
  return { digest: code === 0 ? digestOf(readFileSync(file)) : undefined, output };
}

/**
 * Pushes the bytes as a branch without common history, and clones it.
 */
export async function pushByGit(deed: Deed): Promise<Outcome> {
  const { home, site, blob } = deed;
  const branch = site.slice(site.lastIndexOf('/') + 1);
  const tree = join(home, 'tree');
  const git = (...args: string[]) => run('git', ['-C', tree, ...args], home);
  await run('git', ['init', '--quiet', `--initial-branch=${branch}`, tree], home);
  copyFileSync(blob, join(tree, 'blob'));
  await git('add', 'blob');
  const author = ['-c', 'user.name=Bob', '-c', 'user.email=bob@example'];
  await git(...author, 'commit', '--quiet', `--message=${branch}`);
  const to = `${site}/repository.git`;
  const { code, output } = await git(...options(deed), 'push', '--quiet', to, branch);
  return code === 0 ? clone(deed, branch) : { digest: undefined, output };
}
