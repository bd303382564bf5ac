// How the tests run: threads without isolation (fast), one PostgreSQL for all, and no setting that hides a skip.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
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

/** Tests with Debian's Squid and network namespaces: as root, on Linux. CI has both. */
const squid = ['**/*.squid.test.ts'];
const isRoot = process.getuid?.() === 0;
const hasSquid = process.env.CI !== undefined || (isRoot && existsSync('/usr/sbin/squid'));
if (!hasSquid) {
  console.error('The tests with Squid are left out: they need /usr/sbin/squid, and root.');
}

/** Tests in a real terminal, which tmux makes. CI installs it. */
const terminal = ['**/*.terminal.test.ts'];
const hasTerminal =
  process.env.CI !== undefined ||
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'tmux')));
if (!hasTerminal) {
  console.error('The tests in a terminal are left out: they need tmux.');
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
      // The agent's own tests need no database.
      {
        test: {
          ...shared,
          name: 'agent',
          include: ['agent/test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...squid],
        },
      },
      // What the console works out in the browser needs neither a browser nor a database.
      { test: { ...shared, name: 'console', include: ['console/test/**/*.test.ts'] } },
      // The client's tests start the server on SQLite.
      {
        test: {
          ...shared,
          name: 'client',
          include: ['client/test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...(hasTerminal ? [] : terminal)],
        },
      },
      {
        test: {
          ...shared,
          name: 'server',
          include: ['server/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            ...repository,
            ...squid,
            ...(hasBrowser ? [] : browser),
            ...(hasTerminal ? [] : terminal),
          ],
          provide: { databases: ['SQLite', 'PostgreSQL'] },
          globalSetup: ['server/test/postgres.ts'],
        },
      },
      // After all others, and one file at a time: they share ports, namespaces and the kernel's rules.
      ...(hasSquid
        ? [
            {
              test: {
                ...shared,
                name: 'squid',
                include: squid,
                exclude: ['**/node_modules/**'],
                maxWorkers: 1,
                sequence: { groupOrder: 1 },
              },
            },
          ]
        : []),
    ],
  },
});
