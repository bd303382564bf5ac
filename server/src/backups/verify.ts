// Verifies a backup: restores it to a scratch folder, compares it table by table, and opens it with
// the keys.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isThere } from '../../../kit/src/private_files.ts';
import { openSealedTokens } from '../api_tokens/api_tokens.ts';
import { systemClock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open.ts';
import { restoreSqlite } from '../db/restore.ts';
import { useHashKeys } from '../keys/hash_keys.ts';
import type { Secrets } from '../keys/secrets.ts';
import { openSealedSecrets } from '../sign_in/sign_in.ts';
import { readManifest, scratchStart, sha256Of } from './folder.ts';

/** The result of a verification. */
export interface Verified {
  file: string;
  bytes: number;
  /** Whether the file is, byte for byte, as its manifest says; null without a manifest. */
  as_written: true | null;
  /** Number of the newest migration in the backup. */
  schema: number;
  /** Migrations that brought the restored database to this program's schema. */
  migrations: string[];
  /** Tables whose rows were all compared with the restored ones, and the number of these rows. */
  tables: number;
  rows: number;
  /** Sealed values that were opened with the keys file. */
  sealed: number;
}

/** Tables that a restore changes by itself: it begins a new history and signs everybody out. */
const changedByRestore = new Set(
  [
    'network counters nodes servers sessions sign_in_codes sign_in_attempts changes versions audit migrations',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Restores `file` to a folder of its own in `scratch` (next to the file when omitted), compares,
 * and removes the folder.
 * Errors: a plain Error with one sentence that says why the backup is not good.
 */
export async function verifyBackup(
  file: string,
  secrets: Secrets,
  scratch = dirname(file),
): Promise<Verified> {
  if (!isThere(file)) throw new Error(`There is no file ${file}.`);
  const manifest = readManifest(file);
  if (manifest !== null && (await sha256Of(file)) !== manifest.sha256) {
    throw new Error(`${file} is not what was written: its checksum is not that of its manifest.`);
  }
  const folder = mkdtempSync(join(scratch, scratchStart));
  try {
    const restored = join(folder, 'exitward.db');
    const { migrations, key_id } = await restoreSqlite(restored, file, systemClock);
    const compared = compare(file, restored, migrations.length === 0);
    if (key_id !== null && key_id !== secrets.key_id) {
      throw new Error(`${file} was written with other keys than those of the keys file.`);
    }
    const sealed = await openAll(restored, secrets, file);
    const as_written = manifest === null ? null : true;
    return { file, bytes: statSync(file).size, as_written, ...compared, migrations, sealed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Errors: one sentence that names the first table that differs. */
function compare(file: string, restored: string, sameSchema: boolean) {
  const [before, after] = [file, restored].map(
    (path) => new DatabaseSync(path, { readOnly: true }),
  );
  if (!before || !after) throw new Error('A database was not opened.');
  try {
    const names = tablesOf(before).filter((name) => !changedByRestore.has(name));
    let rows = 0;
    for (const name of names) {
      const [expected, actual] = [summaryOf(before, name), summaryOf(after, name)];
      rows += expected.rows;
      if (expected.rows !== actual.rows) {
        throw new Error(
          `${file} cannot be restored whole: of ${expected.rows} rows of ${name} there are ${actual.rows}.`,
        );
      }
      // A migration may have added columns to the rows.
      if (sameSchema && expected.sha256 !== actual.sha256) {
        throw new Error(`${file} cannot be restored whole: rows of ${name} differ.`);
      }
    }
    const { schema } = before.prepare('select max(id) as schema from migrations').get() as {
      schema: number;
    };
    return { schema, tables: names.length, rows };
  } finally {
    before.close();
    after.close();
  }
}

function tablesOf(db: DatabaseSync): string[] {
  return db
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    .all()
    .map(({ name }) => name as string)
    .sort();
}

/** How many rows a table has, and the checksum of all their values. */
function summaryOf(db: DatabaseSync, table: string): { rows: number; sha256: string } {
  const columns = db
    .prepare('select name from pragma_table_info(?)')
    .all(table)
    .map(({ name }) => name as string)
    .sort();
  if (columns.length === 0) return { rows: 0, sha256: '' };
  // Quoted by SQLite, so that numbers of any size, bytes and null stay distinct.
  const text = columns.map((name) => `quote("${name}")`).join(` || ',' || `);
  const hash = createHash('sha256');
  let rows = 0;
  for (const { text: row } of db.prepare(`select ${text} as text from "${table}"`).iterate()) {
    hash.update(row as string).update('\n');
    rows += 1;
  }
  return { rows, sha256: hash.digest('hex') };
}

async function openAll(restored: string, secrets: Secrets, file: string): Promise<number> {
  const db = await openDatabase(`sqlite:${restored}`, { clock: systemClock });
  try {
    await useHashKeys(db, secrets, 'of this machine');
    return await openSealed(db, secrets, file);
  } finally {
    await db.close();
  }
}

async function openSealed(db: Database, secrets: Secrets, file: string): Promise<number> {
  try {
    return (await openSealedTokens(db, secrets)) + (await openSealedSecrets(db, secrets));
  } catch (error) {
    throw new Error(`The keys file does not open a sealed value of ${file}.`, { cause: error });
  }
}
