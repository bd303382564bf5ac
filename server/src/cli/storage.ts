// The database of this machine's settings, for commands that work without a server.
import { Failure } from '../../../kit/src/cli/failures.ts';
import { isThere } from '../../../kit/src/private_files.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { engineFault } from '../db/faults.ts';
import { schemaIsCurrent, schemaVersion } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import { sqliteFile } from '../doctor/disk.ts';
import { installation } from '../install/installation.ts';
import { loadSecrets } from '../keys/keys_file.ts';
import type { Secrets } from '../keys/secrets.ts';
import { listSigningKeys } from '../keys/signing_keys.ts';
import { keyIdOf } from '../network.ts';

const begin = `start its server first, by "${installation.start}".`;

/** Opens the database, and closes it after use. */
export async function withDatabase<T>(
  config: Config,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(config.database_url, { clock: systemClock });
  try {
    return await use(db);
  } catch (error) {
    throw engineFault(error);
  } finally {
    await db.close();
  }
}

/** Runs with a database of this version. Errors: a failure for none, or another version. */
export function withCurrentDatabase<T>(
  config: Config,
  run: (db: Database) => Promise<T>,
): Promise<T> {
  const file = sqliteFile(config);
  // Opening a missing file would create it, empty.
  if (file !== undefined && !isThere(file)) throw new Failure(`There is no ${file} yet: ${begin}`);
  return withDatabase(config, async (db) => {
    if (await schemaIsCurrent(db)) return run(db);
    const isEmpty = (await schemaVersion(db).catch(() => 0)) === 0;
    throw new Failure(
      `The database ${isEmpty ? 'is empty' : 'has the schema of another version'}: ${begin}`,
    );
  });
}

/** The keys of this machine's file. Errors: a failure when they are not those of the database. */
export async function requireKeysOf(db: Database, config: Config): Promise<Secrets> {
  const { keys_file, mounted_secrets } = config;
  if ((await listSigningKeys(db)).length === 0) {
    throw new Failure(`This network is new: ${begin}`);
  }
  const secrets = loadSecrets(keys_file, true, mounted_secrets);
  if (secrets.key_id === (await keyIdOf(db))) return secrets;
  throw new Failure(`The keys file ${keys_file} does not belong to this database.`);
}
