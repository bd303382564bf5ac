// One URL says which database: SQLite or PostgreSQL; only that engine's driver is loaded.
import type { Database, DatabaseOptions } from './database.ts';

/**
 * Opens the database that `url` names: `sqlite:PATH` or `postgres://…`.
 * Errors: a plain Error with one sentence when it cannot be opened.
 */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite.ts');
    return openSqlite(url.slice('sqlite:'.length), options);
  }
  if (url.startsWith('postgres://') || url.startsWith('postgresql://')) {
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres(url, options);
  }
  throw new Error('The database URL must start with sqlite: or postgres://.');
}
