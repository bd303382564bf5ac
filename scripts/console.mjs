// Builds the console into server/console/ when its sources are newer than what was built.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { compressFile } from './compressed.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'server/console');
const built = join(folder, 'index.html');
const vite = join(root, 'node_modules/vite/bin/vite.js');
const folders = ['console/src', 'console/build', 'console/public'];
const files = ['package.json', 'vite.config.ts', 'index.html'].map((name) => join('console', name));

/** Whether the console was never built, or changed since. */
export function isConsoleStale() {
  if (!existsSync(built)) return true;
  const made = statSync(built).mtimeMs;
  const inFolders = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
  );
  return ['package-lock.json', 'scripts/compressed.mjs', ...files, ...inFolders].some(
    (path) => statSync(join(root, path)).mtimeMs > made,
  );
}

/** Raises an Error when the build fails; what it printed says why. */
export function buildConsole({ quiet = false } = {}) {
  const started = new Date();
  const run = spawnSync(execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: join(root, 'console'),
    encoding: 'utf8',
    stdio: quiet ? 'pipe' : 'inherit',
    // The caller's own mode, as tests have one, would build it for development, with the paths of
    // its sources.
    env: { ...env, NODE_ENV: 'production' },
  });
  if (run.status !== 0) {
    throw new Error(`the console could not be built\n${run.stdout ?? ''}${run.stderr ?? ''}`);
  }
  for (const name of readdirSync(folder, { recursive: true })) compressFile(join(folder, name));
  // A source that changed while it was built counts as newer.
  utimesSync(built, started, started);
}

if (argv[1] === fileURLToPath(import.meta.url) && isConsoleStale()) buildConsole();
