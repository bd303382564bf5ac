// The package as others install it: built, and put where Node and tsc find it.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the package below this folder's `node_modules`. */
export async function installClient(folder: string): Promise<void> {
  const target = join(folder, 'node_modules', '@exitward', 'client');
  mkdirSync(target, { recursive: true });
  cpSync(join(root, 'client', 'package.json'), join(target, 'package.json'));
  await run(process.execPath, [join(root, 'scripts', 'client_package.mjs'), target]);
}

/** Checks files with tsc, and writes what they compile to. Returns the faults that it finds. */
export async function compile(folder: string, ...more: string[]): Promise<string> {
  const typeRoots = join(root, 'node_modules', '@types');
  const strict = ['--strict', '--noUncheckedIndexedAccess'];
  const modules = ['--module', 'nodenext', '--target', 'es2022', '--typeRoots', typeRoots];
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  try {
    await run(tsc, ['--ignoreConfig', ...strict, ...modules, ...more], { cwd: folder });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** Node as the machine has it: npm puts a newer one, of node_modules, before it. */
export function ownNode(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const node = folders
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .find((file) => existsSync(file));
  return node ?? process.execPath;
}

/**
 * Runs a file with the machine's own Node; answers what it prints. Errors: when it fails, with all
 * it said.
 */
export async function runOnOwnNode(
  args: string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<string> {
  const { PATH = '' } = process.env;
  const env = { PATH, ...options.env };
  const { stdout } = await run(ownNode(), args, { cwd: options.cwd, env, timeout: 60_000 });
  return stdout;
}
