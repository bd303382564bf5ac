// The version of this program, from its package.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

const file = findPackageJSON(import.meta.url) as string;
const { version: written } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };

export const version = written;
