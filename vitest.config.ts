// How the tests run: threads without isolation (fast), one PostgreSQL for all, and no setting that hides a skip.
import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** What every project shares. */
const shared = {
  pool: 'threads',
  isolate: false,
  // Left to itself it takes one on two cores, and the tests wait for databases more than they compute.
  maxWorkers: 2,
  testTimeout: 30_000,
  hookTimeout: 30_000,
} as const;

const repository = ['test/tidy.test.ts'];

/** Tests in a real browser. CI installs one; a machine without any runs the rest, and is told. */
const browser = ['test/**/*.e2e.test.ts'];
const chromium = process.env.EXITWARD_TEST_CHROMIUM ?? '/usr/bin/chromium';
const hasBrowser = process.env.CI !== undefined || existsSync(chromium);
if (!hasBrowser) {
  console.error(
    `There is no ${chromium}: the tests in a browser are left out (EXITWARD_TEST_CHROMIUM names another one).`,
  );
}

export default defineConfig({
  test: {
    // Named, so that the report is the same on every machine.
    reporters: ['default'],
    // A focused test would silently leave out the others.
    allowOnly: false,
    projects: [
      // The rules of the repository read files only: no database is started for them.
      { test: { ...shared, name: 'repository', include: repository } },
      {
        test: {
          ...shared,
          name: 'server',
          include: ['server/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...repository, ...(hasBrowser ? [] : browser)],
          globalSetup: ['server/test/postgres.ts'],
        },
      },
    ],
  },
});
