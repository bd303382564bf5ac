// How the tests run: threads without isolation (fast), one PostgreSQL for all, and no setting that hides a skip.
import { defineConfig } from 'vitest/config';

/** What every project shares. */
const shared = {
  pool: 'threads',
  isolate: false,
  testTimeout: 30_000,
  hookTimeout: 30_000,
} as const;

const repository = ['test/tidy.test.ts'];

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
          exclude: ['**/node_modules/**', ...repository],
          globalSetup: ['server/test/postgres.ts'],
        },
      },
    ],
  },
});
