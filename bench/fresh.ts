// A fresh database for a measurement: the one of EXITWARD_DATABASE_URL, or SQLite in a folder that
// goes with it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../server/src/clock.ts';
import type { Actor } from '../server/src/db/database.ts';
import { migrate } from '../server/src/db/migrate.ts';
import { openDatabase } from '../server/src/db/open.ts';

export const actor: Actor = { kind: 'system', name: 'bench', address: '', request_id: '' };

const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const url = process.env.EXITWARD_DATABASE_URL ?? `sqlite:${join(folder, 'exitward.db')}`;
export const db = await openDatabase(url, { clock: systemClock });
await migrate(db);

/**
 * Milliseconds of CPU that this process has used, where SQLite runs. Of PostgreSQL, the time that
 * passes until it answers.
 */
export function costMs(): number {
  if (db.engine === 'postgres') return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function close(): Promise<void> {
  await db.close();
  rmSync(folder, { recursive: true, force: true });
}
