// The imports of source files, in any of the ways to write them, for the house rules.
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const root = join(import.meta.dirname, '..');

const writtenImport =
  /(?:\b(?:import|export)(?: type)?\s*(?:\w+\s*,\s*)?(?:\{[^}]*\}|\*(?: as \w+)?|\w+)\s*from\s*|\bimport\s*\(?\s*)(['"`])([^'"`\n]+)\1/g;

export interface Import {
  /** As it is written: a package, or a path from the file. */
  name: string;
  line: number;
  /** Types alone: nothing of it is there when the program runs. */
  isType: boolean;
}

export function findImports(text: string): Import[] {
  return [...text.matchAll(writtenImport)].map((match) => ({
    name: match[2] ?? '',
    line: text.slice(0, match.index + match[0].length).split('\n').length,
    isType: /^(import|export) type\b/.test(match[0]),
  }));
}

/**
 * The files of a folder, by their paths from there, each with those of them that it imports, by
 * value or by type.
 */
export function importsWithin(folder: string): Map<string, string[]> {
  const cwd = join(root, folder);
  const paths = globSync('**/*.{ts,tsx,mjs}', { cwd }).map((path) => path.replaceAll('\\', '/'));
  const files = new Set(paths);
  return new Map(
    paths.map((path) => {
      const targets = findImports(readFileSync(join(cwd, path), 'utf8'))
        .filter(({ name }) => name.startsWith('.'))
        .map(({ name }) => posix.join(posix.dirname(path), name));
      return [path, targets.filter((target) => files.has(target))];
    }),
  );
}
