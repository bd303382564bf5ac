// Every test of the server runs on both databases: `eachDatabase` says a body once for each, on real engines.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, describe, inject } from 'vitest';

/** One database engine, as the body of `eachDatabase` gets it. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL';
  /**
   * Makes a fresh, empty database and returns its URL, as EXITWARD_DATABASE_URL takes it.
   * It is removed after the body's last test, also when something is still connected.
   */
  url(): Promise<string>;
}

/** A database that exists, and how it is removed. */
interface Made {
  url: string;
  remove(): Promise<void>;
}

const engines = [
  { name: 'SQLite', make: makeSqlite },
  { name: 'PostgreSQL', make: makePostgres },
] as const;

/** Describes the body once on SQLite and once on PostgreSQL. */
export function eachDatabase(body: (database: TestDatabase) => void): void {
  for (const { name, make } of engines) {
    describe(name, () => {
      const made: Made[] = [];
      // Registered first, so it runs last: after the body has closed what it opened.
      afterAll(async () => {
        await Promise.all(made.map((database) => database.remove()));
      });
      body({
        name,
        async url() {
          const database = await make();
          made.push(database);
          return database.url;
        },
      });
    });
  }
}

async function makeSqlite(): Promise<Made> {
  const folder = await mkdtemp(join(tmpdir(), 'exitward-sqlite-'));
  return {
    url: `sqlite:${join(folder, 'exitward.db')}`,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function makePostgres(): Promise<Made> {
  const name = `exitward_test_${randomBytes(8).toString('hex')}`;
  await asAdministrator(`create database ${name} template template0`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    remove: () => asAdministrator(`drop database if exists ${name} with (force)`),
  };
}

async function asAdministrator(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
