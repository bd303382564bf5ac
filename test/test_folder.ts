// A folder for the files of tests.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Makes a folder for the tests of a file or a block; it is removed after them. */
export function testFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `exitward-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
