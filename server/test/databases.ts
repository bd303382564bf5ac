// Every test of the server runs on both databases: `eachDatabase` says a body once for each, on
// real engines.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, inject } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { databaseUrl, runStatement } from './postgres.ts';

/** One database engine, as the body of `eachDatabase` gets it. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL';
  /**
   * Makes a fresh database with the current schema and returns its URL, as EXITWARD_DATABASE_URL
   * takes it.
   * It is removed after the body's last test, also when something is still connected.
   */
  url(): Promise<string>;
  /** The same without a schema, for tests of the migrations. */
  emptyUrl(): Promise<string>;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The engines that `eachDatabase` takes. */
    databases: readonly TestDatabase['name'][];
  }
}

/** A database that exists, and how it is removed. */
interface Made {
  url: string;
  remove(): Promise<void>;
}

/** A copy of the template, with a history of its own; or an empty database. */
type Make = (isEmpty: boolean) => Promise<Made>;

const engines: Record<TestDatabase['name'], Make> = {
  SQLite: makeSqlite,
  PostgreSQL: makePostgres,
};

/**
 * Describes the body once on each engine that the kind of the file runs on (vitest.config.ts), or
 * on those named.
 */
export function eachDatabase(
  body: (database: TestDatabase) => void,
  names = inject('databases'),
): void {
  for (const name of names) {
    describe(name, () => {
      const made: Made[] = [];
      // Registered first, so it runs last: after the body has closed what it opened.
      afterAll(async () => {
        await Promise.all(made.map((database) => database.remove()));
      });
      const make = async (isEmpty: boolean) => {
        const database = await engines[name](isEmpty);
        made.push(database);
        return database.url;
      };
      body({ name, url: () => make(false), emptyUrl: () => make(true) });
    });
  }
}

async function makeSqlite(isEmpty: boolean): Promise<Made> {
  const folder = await mkdtemp(join(tmpdir(), 'exitward-sqlite-'));
  const file = join(folder, 'exitward.db');
  if (!isEmpty) await writeSqlite(file);
  return { url: `sqlite:${file}`, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Writes a database with the current schema, and a history of its own. Answers its URL. */
export async function writeSqlite(file: string): Promise<string> {
  sqliteTemplate ??= makeSqliteTemplate();
  await writeFile(file, await sqliteTemplate);
  const db = new DatabaseSync(file);
  db.exec(newHistory());
  db.close();
  return `sqlite:${file}`;
}

/** The bytes of a database with the current schema, made once in each thread. */
let sqliteTemplate: Promise<Buffer> | undefined;

async function makeSqliteTemplate(): Promise<Buffer> {
  const { url, remove } = await makeSqlite(true);
  const db = await openDatabase(url, { clock: systemClock });
  await migrate(db);
  await db.close();
  const bytes = await readFile(url.slice('sqlite:'.length));
  await remove();
  return bytes;
}

async function makePostgres(isEmpty: boolean): Promise<Made> {
  const administrator = inject('postgresUrl');
  const name = `exitward_test_${randomBytes(8).toString('hex')}`;
  const url = databaseUrl(administrator, name);
  const template = isEmpty ? 'template0' : inject('postgresTemplate');
  // As files: a quarter cheaper than by the log, page by page.
  const copy = `create database ${name} template ${template} strategy file_copy`;
  await runStatement(administrator, copy);
  if (!isEmpty) await runStatement(url, newHistory());
  return {
    url,
    remove: () => runStatement(administrator, `drop database if exists ${name} with (force)`),
  };
}

/** Copies of one database would pass for one network: nodes know it by its epoch. */
const newHistory = () => `update network set epoch = '${randomUUID()}'`;
