// Vitest's global setup: one real PostgreSQL for the whole run, our own or the one that
// TEST_DATABASE_URL names.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../src/clock.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL user who may create databases, and a database to connect to for that. */
    postgresUrl: string;
    /**
     * The name of a database with the current schema, which the tests copy and never connect to.
     */
    postgresTemplate: string;
    /**
     * The URL of a database with the current schema in which statements are prepared, and none is
     * run.
     */
    postgresStatements: string;
  }
}

export interface PostgresServer {
  url: string;
  stop(): Promise<unknown>;
}

/** Shared by the projects of one run: each of them loads this file by itself. */
const run = globalThis as {
  exitward_test_postgres?: { databases: Promise<Databases>; uses: number };
};

interface Databases {
  url: string;
  template: string;
  statements: string;
  remove(): Promise<unknown>;
}

/**
 * Has PostgreSQL started and the template of the tests' databases migrated, once for all projects;
 * passes both to the tests, and returns what removes them after the last project.
 * Errors: one Error that names TEST_DATABASE_URL. It fails the run: nothing is skipped for want of
 * a database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<unknown>> {
  run.exitward_test_postgres ??= { databases: makeDatabases(), uses: 0 };
  const shared = run.exitward_test_postgres;
  shared.uses += 1;
  const { url, template, statements, remove } = await shared.databases;
  project.provide('postgresUrl', url);
  project.provide('postgresTemplate', template);
  project.provide('postgresStatements', databaseUrl(url, statements));
  return async () => {
    shared.uses -= 1;
    if (shared.uses > 0) return;
    run.exitward_test_postgres = undefined;
    await remove();
  };
}

async function makeDatabases(): Promise<Databases> {
  const given = process.env.TEST_DATABASE_URL;
  try {
    const server = given ? { url: given, stop: async () => {} } : await startPostgres();
    await requireAnswer(server);
    const template = `exitward_template_${randomBytes(8).toString('hex')}`;
    await makeTemplate(server.url, template);
    const statements = `${template}_statements`;
    await runStatement(server.url, `create database ${statements} template ${template}`);
    const remove = async () => {
      await runStatement(server.url, `drop database ${statements} with (force)`);
      await runStatement(server.url, `drop database ${template}`);
      await server.stop();
    };
    return { url: server.url, template, statements, remove };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      given
        ? `The PostgreSQL server that TEST_DATABASE_URL names cannot be used: ${reason}`
        : `PostgreSQL for the tests did not start. Let TEST_DATABASE_URL name one that runs ` +
            `(postgres://USER:PASSWORD@HOST:PORT/DATABASE, a user who may create databases). ${reason}`,
    );
  }
}

/**
 * Runs the server under a process of its own, which lives as long as our end of its standard input:
 * also a run that is killed leaves neither a server nor a folder behind. With the URL of a primary
 * it starts a standby.
 */
export async function startPostgres(primary?: string): Promise<PostgresServer> {
  const program = fileURLToPath(new URL('postgres_server.ts', import.meta.url));
  const child = spawn(process.execPath, [program, ...(primary ? [primary] : [])], {
    // Its own process group: Ctrl-C reaches us alone.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  let problem = '';
  child.stderr.on('data', (chunk) => {
    problem += chunk;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error(problem.trim())));
    child.stdout.on('data', (chunk) => {
      said += chunk;
      if (said.endsWith('\n')) resolve(said.trim());
    });
  });
  return {
    url,
    async stop() {
      const ended = once(child, 'close');
      child.stdin.end();
      await ended;
    },
  };
}

async function makeTemplate(administrator: string, name: string): Promise<void> {
  // As people have it: its order of texts is a language's, while SQLite's is that of the bytes.
  const order = `locale_provider icu icu_locale 'en-US'`;
  await runStatement(administrator, `create database ${name} template template0 ${order}`);
  const db = await openDatabase(databaseUrl(administrator, name), { clock: systemClock });
  try {
    await migrate(db);
  } finally {
    await db.close();
  }
}

/** The URL of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs one statement on a connection of its own. */
export async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Connects once, so that an unusable server is reported once and not by every test. */
async function requireAnswer(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    await client.end();
  } catch (error) {
    await server.stop();
    throw error;
  }
}
