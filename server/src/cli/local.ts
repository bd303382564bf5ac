// exitward serve, migrate, backup, backup verify, restore: commands that run on this machine with
// the server's settings.
import { chmodSync, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Failure } from '../../../kit/src/cli/failures.ts';
import { counted, done, record, type Shown } from '../../../kit/src/cli/output.ts';
import { makeFolderDurably } from '../../../kit/src/durable.ts';
import { isThere } from '../../../kit/src/private_files.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import { migrate as migrateDatabase, schemaVersion } from '../db/migrate.ts';
import { loadSecrets } from '../keys/keys_file.ts';
import { command } from './command.ts';
import { withDatabase } from './storage.ts';

export const serve = command({
  name: 'serve',
  summary: 'run the server until SIGTERM or SIGINT',
  serves: true,
  reportsSettings: true,
  run: async (_given, env) => {
    await (await import('./serve.ts')).runServer(env);
    return 0;
  },
});

export const migrate = command({
  name: 'migrate',
  summary: 'upgrade the database to the schema of this version',
  run: (_given, env) => runMigrations(env),
});

export const backup = command({
  name: 'backup',
  summary: 'back up a SQLite database, even while the server runs',
  arguments: { file: { read: String } },
  run: ({ arguments: { file } }, env) => makeBackup(env, file),
});

export const verifyBackup = command({
  name: 'backup verify',
  summary: 'test a backup by restoring it to a scratch folder (default: the newest scheduled one)',
  arguments: { file: { read: String, optional: true } },
  options: {
    scratch: {
      summary: 'where to create the scratch folder (default: next to the backup)',
      value: '<folder>',
      read: String,
    },
  },
  run: ({ arguments: { file }, options: { scratch } }, env) => verify(env, file, scratch),
});

export const restore = command({
  name: 'restore',
  summary: 'replace a SQLite database with a backup; stop the server first',
  arguments: { file: { read: String } },
  question: ({ arguments: { file } }) => `This replaces the SQLite database with ${file}.`,
  extent: async (_given, env) => `It is ${sqliteFile(readConfig(env), 'restore')}.`,
  run: ({ arguments: { file } }, env) => restoreBackup(env, file),
});

/** The path of the SQLite database, from the settings. Errors: a failure on PostgreSQL. */
function sqliteFile(config: Config, command: string): string {
  if (config.database_url.startsWith('sqlite:'))
    return resolve(config.database_url.slice('sqlite:'.length));
  throw new Failure(
    `exitward ${command} is for SQLite; use PostgreSQL's own tools (pg_dump, pg_restore) here, see docs/postgresql.md.`,
  );
}

async function runMigrations(env: Environment): Promise<Shown> {
  const config = readConfig(env);
  if (config.database_url.startsWith('sqlite:')) {
    makeFolderDurably(dirname(sqliteFile(config, 'migrate')));
  }
  const value = await withDatabase(config, async (db) => ({
    ran: await migrateDatabase(db),
    schema: await schemaVersion(db),
  }));
  const sentence =
    value.ran.length === 0 ? 'Nothing to do.' : `Ran ${counted(value.ran.length, 'migration')}.`;
  return record(value, [['ran', 'ran', 'list'], 'schema'], sentence);
}

async function makeBackup(env: Environment, file: string): Promise<Shown> {
  const config = readConfig(env);
  const source = sqliteFile(config, 'backup');
  const target = resolve(file);
  if (!isThere(source)) throw new Failure(`There is no database at ${source}.`);
  if (isThere(target)) throw new Failure(`${target} already exists; use another name.`);
  if (!isThere(dirname(target))) throw new Failure(`There is no folder ${dirname(target)}.`);
  // The copy holds the whole database: no other user may read it, from its first byte on.
  const before = process.umask(0o077);
  try {
    await withDatabase(config, (db) => db.backup(target));
    const { manifestOf, writeManifest } = await import('../backups/folder.ts');
    writeManifest(target, await manifestOf(target, systemClock.now()));
  } finally {
    process.umask(before);
  }
  const sentence = `Wrote ${target}. Not inside: the keys file ${config.keys_file}. Back it up elsewhere, once, by "exitward keys backup": without it no API token of the backup can be recognised or viewed.`;
  return done(sentence, { file: target, not_inside: [config.keys_file] });
}

async function verify(
  env: Environment,
  file: string | undefined,
  scratch: string | undefined,
): Promise<Shown> {
  const config = readConfig(env);
  sqliteFile(config, 'backup verify');
  const { listBackups } = await import('../backups/folder.ts');
  const verification = await import('../backups/verify.ts');
  const folder = config.backups?.folder;
  const secrets = loadSecrets(config.keys_file, true, config.mounted_secrets);
  const newest = folder === undefined ? [] : listBackups(folder, secrets.key_id);
  const target = file ?? newest[0]?.file;
  if (target === undefined) {
    throw new Failure(
      folder === undefined
        ? 'Specify the file: EXITWARD_BACKUP_DIR is not set, so there is no newest backup.'
        : `There is no backup in ${folder} yet.`,
    );
  }
  const value = await verification.verifyBackup(
    resolve(target),
    secrets,
    scratch && resolve(scratch),
  );
  const written = value.as_written
    ? 'It is byte for byte what was written.'
    : 'There is no manifest next to it, so its bytes were compared with nothing.';
  const moved =
    value.migrations.length > 0 ? `, and ${value.migrations.length} migration(s) ran` : '';
  const sentence = `${value.file} is good. ${written} SQLite finds it whole. It was restored from schema ${value.schema}${moved}; ${value.rows.toLocaleString('en')} rows of ${value.tables} tables are there${moved ? '' : ' with every value'}. The keys file ${config.keys_file} belongs to it, and opened ${value.sealed.toLocaleString('en')} sealed value(s).`;
  return done(sentence, { ...value });
}

async function restoreBackup(env: Environment, file: string): Promise<Shown> {
  const config = readConfig(env);
  const target = sqliteFile(config, 'restore');
  makeFolderDurably(dirname(target));
  const { restoreSqlite } = await import('../db/restore.ts');
  const { idGap } = await import('../db/history.ts');
  const restored = await restoreSqlite(target, resolve(file), systemClock);
  chmodSync(target, 0o600);
  const aside = restored.set_aside ? `The old database is ${restored.set_aside}. ` : '';
  const advice = keysAdvice(config, restored.key_id) + tokenAdvice(config);
  const sentence = `Restored ${resolve(file)} as ${target}. ${aside}Nodes take a new snapshot when they connect. New records get ids at least ${idGap.toLocaleString('en')} higher than those of the backup, so ids that were given out since then are not used again, unless there were more.${advice}`;
  const keys_fit = keysAdvice(config, restored.key_id) === '';
  return done(sentence, { file: target, ...restored, keys_fit });
}

/** A new machine has no operator token: the database has only hashes. */
function tokenAdvice({ admin_token_file }: Config): string {
  if (existsSync(admin_token_file)) return '';
  return ' There is no operator token on this machine: once the keys are there, and the server has started, "exitward operator-token create NAME --local" makes one.';
}

/** Advice about the keys before a server can start; empty when they match. */
function keysAdvice(config: Config, key_id: string | null): string {
  if (key_id === null) return '';
  if (
    existsSync(config.keys_file) &&
    loadSecrets(config.keys_file, true, config.mounted_secrets).key_id === key_id
  )
    return '';
  return ` The keys file ${config.keys_file} does not belong to this database: put that one there before you start the server, by "exitward keys restore" if you have a backup of it.`;
}
