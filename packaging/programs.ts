// The three programs as they are installed: JavaScript, the console, and the packages that they
// need at run time.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Tree } from './tree.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

/**
 * Of a package, by the path in it: types, sources of what is compiled, and what people read.
 * Licences stay.
 */
const notLoaded =
  /^(node_modules|\.github|test|docs|examples|integration)$|\.([cm]?ts|map)$|^(?!.*licen[cs]e).*\.(md|yml)$/i;

interface Manifest {
  name: string;
  version: string;
  license?: string;
  dependencies?: Record<string, string>;
}

/** A package that the programs need: its folder in node_modules, and what its package.json says. */
export interface Bundled {
  path: string;
  manifest: Manifest;
}

/** The programs of one Debian package, in a folder that becomes /usr/lib/PACKAGE. */
export interface Programs {
  folder: string;
  bundled: Bundled[];
}

/**
 * Lays both packages' programs into a folder. Errors: TypeScript or the console cannot be compiled.
 */
export async function layPrograms(folder: string): Promise<Record<string, Programs>> {
  // Both do nothing where what they make is there and new enough.
  for (const script of ['scripts/vendor.mjs', 'scripts/console.mjs']) {
    await run(process.execPath, [script], { cwd: root });
  }
  const server = new Tree(join(folder, 'exitward'));
  const agent = new Tree(join(folder, 'exitward-agent'));
  await Promise.all([
    layWorkspace(server, 'server'),
    layWorkspace(server, 'client'),
    layWorkspace(agent, 'agent'),
  ]);
  server.copyFolder('server/console', join(root, 'server/console'));
  server.copyFolder('server/install', join(root, 'server/install'));
  server.copyFolder('server/vendor', join(root, 'server/vendor'));
  server.copy('server/openapi.json', join(root, 'docs/openapi.json'));
  return {
    exitward: { folder: server.folder, bundled: layNeeded(server, ['server', 'client']) },
    'exitward-agent': { folder: agent.folder, bundled: layNeeded(agent, ['agent']) },
  };
}

async function layWorkspace(tree: Tree, name: string): Promise<void> {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const config = ['--project', `${name}/tsconfig.pack.json`, '--declaration', 'false'];
  // Types are checked by `npm run check`.
  const outDir = join(tree.folder, name, 'dist');
  await run(tsc, [...config, '--noCheck', '--outDir', outDir], { cwd: root });
  tree.copy(join(name, 'package.json'), join(root, name, 'package.json'));
  tree.copyFolder(join(name, 'bin'), join(root, name, 'bin'));
}

/** Lays what the workspaces need at run time, where Node finds it as it does in the checkout. */
function layNeeded(tree: Tree, workspaces: readonly string[]): Bundled[] {
  const packages = new Map<string, Bundled>();
  const follow = (path: string) => {
    const manifest = manifestOf(path);
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const at = resolvePackage(name, path);
      if (packages.has(at)) continue;
      packages.set(at, { path: at, manifest: manifestOf(at) });
      follow(at);
    }
  };
  for (const workspace of workspaces) follow(workspace);
  const bundled = [...packages.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path } of bundled) {
    tree.copyFolder(path, join(root, path), notLoaded);
  }
  return bundled;
}

/**
 * The folder of a package as Node finds it from another one: the nearest node_modules that has it.
 */
function resolvePackage(name: string, from: string): string {
  for (let at = from; ; at = at.split('/').slice(0, -1).join('/')) {
    const path = join(at, 'node_modules', name);
    if (existsSync(join(root, path, 'package.json'))) return path;
    if (at === '') throw new Error(`${name}, which ${from} needs, is not in node_modules.`);
  }
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
}
