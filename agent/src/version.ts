// The version of this program, as its package says it.
import { readFileSync } from 'node:fs';

const { version: written } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

export const version = written;
