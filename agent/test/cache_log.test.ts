// Squid's own log, which Squid's user may fill with anything: it is kept small, and reports are
// short.
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { boundCacheLog, lastWords } from '../src/squid/agent/cache_log.ts';

const maxBytes = 16 * 1024 * 1024;
let dir: string;
let path: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-cache-log-'));
  path = join(dir, 'cache.log');
});
afterAll(() => rmSync(dir, { recursive: true }));

test('a log of more than 16 MiB is emptied, a smaller one is left', () => {
  writeFileSync(path, 'FATAL: first\n');
  truncateSync(path, maxBytes);
  boundCacheLog(path);
  expect(statSync(path).size).toBe(maxBytes);
  truncateSync(path, maxBytes + 1);
  boundCacheLog(path);
  expect(statSync(path).size).toBe(0);
});

test('reports at most 500 characters of the last words', () => {
  writeFileSync(path, `Starting Squid Cache\nFATAL: ${'x'.repeat(100_000)}`);
  expect(lastWords(path)).toBeUndefined();
  writeFileSync(path, `Starting Squid Cache\nFATAL: ${'x'.repeat(50_000)}\n`);
  expect(lastWords(path)).toBe('x'.repeat(500));
});

test('last words are looked for in the last 64 KiB', () => {
  const words = 'FATAL: no port\n';
  writeFileSync(path, words + 'y'.repeat(64 * 1024 - words.length));
  expect(lastWords(path)).toBe('no port');
  writeFileSync(path, words + 'y'.repeat(64 * 1024));
  expect(lastWords(path)).toBeUndefined();
});
