// Vitest's global setup: a kind of test whose programs are missing fails, and says what to install.
// None is skipped.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { kinds } from './lanes.mjs';

/** Errors: one that names the missing programs, and the Debian packages that bring them. */
export default function requirePrograms({ name }: TestProject): void {
  const [, kind = ''] = name.split('/');
  const { programs = [], packages = [] } = kinds[kind] ?? {};
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  throw new Error(
    `Tests of the kind "${kind}" need ${missing.join(', ')}: apt-get install ${packages.join(' ')}`,
  );
}

function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program);
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}
