// One server for all tests of a file: `eachApp` describes them once on each database.
import { afterAll, beforeAll } from 'vitest';
import { eachDatabase, type TestDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

/**
 * Describes the body on each engine, as `eachDatabase`, with a server that its tests share. The
 * server is there once hooks and tests run: the body itself must not read from it.
 */
export function eachApp(body: (t: TestApp, database: TestDatabase) => void): void {
  eachDatabase((database) => {
    const t = {} as TestApp;
    beforeAll(async () => {
      Object.assign(t, await startTestApp(await database.url()));
    });
    afterAll(() => t.stop());
    body(t, database);
  });
}
