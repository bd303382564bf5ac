// The package of this program: its folder, and its version.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';

const file = findPackageJSON(import.meta.url) as string;
const { version: written } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };

/**
 * Holds the files that are served unchanged: the console, and the scripts and documents next to the
 * program.
 */
export const packageFolder = dirname(file);

export const version = written;

/** Less than 0 when `a` is older. Compares only the numbers; a suffix does not count. */
export function compareVersions(a: string, b: string): number {
  const [partsOfA, partsOfB] = [a, b].map((text) =>
    text.split(/[.+-]/).map((part) => Number(part) || 0),
  );
  for (const at of [0, 1, 2]) {
    const difference = (partsOfA?.[at] ?? 0) - (partsOfB?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
