// How the tests run: a project for each kind of test/lanes.mjs, in threads without isolation
// (fast).
import type { ProvidedContext } from 'vitest';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { effort } from './test/effort.ts';
import { kinds } from './test/lanes.mjs';

const isDeep = effort === 'deep';
const filesOf = (kind: string) => `**/test/**/*.${kind}{,.deep}.test.ts`;

const seeded = 'test/seeded.ts';
const databases: ProvidedContext['databases'] = ['SQLite', 'PostgreSQL'];
const bothDatabases = {
  provide: { databases },
  globalSetup: ['server/test/postgres.ts'],
  setupFiles: [seeded, 'test/statements.ts'],
};
const sqlite = { ...bothDatabases, provide: { databases: databases.slice(0, 1) } };
const browser = { globalSetup: ['test/browser.ts'] };

/** The parts that the files of a kind share, where they share something. */
const shared: Record<string, TestProjectInlineConfiguration['test'] & { globalSetup: string[] }> = {
  unit: isDeep ? bothDatabases : sqlite,
  attack: isDeep ? bothDatabases : sqlite,
  program: isDeep ? bothDatabases : sqlite,
  postgres: bothDatabases,
  death: bothDatabases,
  network: bothDatabases,
  machine: bothDatabases,
  e2e: browser,
  firefox: browser,
};

/** One file at a time, after all other kinds: where tests share ports or the kernel's rules. */
const alone = { pool: 'forks', maxWorkers: 1, sequence: { groupOrder: 1 } } as const;

const projects = Object.entries(kinds).map(
  ([kind, { lane, isAlone }]): TestProjectInlineConfiguration => {
    const { globalSetup = [], ...rest } = shared[kind] ?? {};
    return {
      test: {
        name: `${lane}/${kind}`,
        include: [kind === 'unit' ? '**/test/**/*.test.ts' : filesOf(kind)],
        exclude: [
          '**/node_modules/**',
          ...(isDeep ? [] : ['**/*.deep.test.ts']),
          ...(kind === 'unit' ? Object.keys(kinds).map(filesOf) : []),
        ],
        pool: 'threads',
        isolate: false,
        // Left to itself it takes one on two cores, and the tests wait for processes and databases
        // more than they compute.
        maxWorkers: 3,
        setupFiles: seeded,
        globalSetup: ['test/programs.ts', ...globalSetup],
        // Patience, for a machine that is busy with something else: what takes longer has stopped.
        testTimeout: 180_000,
        hookTimeout: 360_000,
        expect: { poll: { timeout: 90_000 } },
        ...rest,
        ...(isAlone ? alone : {}),
      },
    };
  },
);

export default defineConfig({
  test: {
    // Named, so that the report is the same on every machine.
    reporters: ['default'],
    // A focused test would silently leave out the others.
    allowOnly: false,
    projects,
  },
});
