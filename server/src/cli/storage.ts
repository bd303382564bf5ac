// The database of this machine's settings, for commands that work without a server.
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open.ts';

/** Opens the database, and closes it after use. */
export async function withDatabase<T>(
  config: Config,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(config.database_url, { clock: systemClock });
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}
