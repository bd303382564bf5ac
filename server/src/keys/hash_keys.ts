// The hashing keys of the network: each new key is applied on top of the hashes of the older ones,
// so that no token has to be renewed.
import { audit } from '../changes/audit.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import type { Secrets } from './secrets.ts';
import { requireHolders } from './signing_keys.ts';

/** A hashing key, except the first, which is as old as the network; times in epoch seconds. */
export interface HashKey {
  /** Its layer, starting at 2. */
  number: number;
  /** Identifies the key without revealing anything about it. */
  id: string;
  prepared_at: number;
  /** Null: no hash uses it yet. */
  activated_at: number | null;
}

export function listHashKeys(db: Reader): Promise<HashKey[]> {
  return db.all('select * from hash_keys order by number');
}

const isInUse = ({ activated_at }: HashKey) => activated_at !== null;

/**
 * Uses the active keys for new hashes. Errors: a plain Error with one sentence when the keys file
 * lacks one of them, or has another in its place.
 */
export async function useHashKeys(db: Reader, secrets: Secrets, file: string): Promise<void> {
  const keys = (await listHashKeys(db)).filter(isInUse);
  if (!secrets.useHashKeys(keys.map(({ id }) => id))) {
    throw new Error(
      `The keys file ${file} lacks the hashing key ${keys.at(-1)?.id}, which this database works with: it may be older than the last rotation. Put one there that has it.`,
    );
  }
}

/**
 * Registers a key of the file that no hash uses yet. It replaces a key that was prepared earlier
 * and is missing in the file. Errors: 409 while hashes still use the key before the last, or when a
 * key with this number is in use by now.
 */
export async function prepareHashKey(
  tx: Transaction,
  { number, id }: { number: number; id: string },
): Promise<void> {
  const earlier = (await listHashKeys(tx)).find((key) => key.number === number);
  if (earlier?.id === id) return;
  if (earlier && isInUse(earlier)) throw conflict('another hashing key came into use meanwhile.');
  await requireRenewed(tx, number - 1);
  await tx.run('delete from hash_keys where number = $1', [number]);
  await tx.insertMany('hash_keys', [{ number, id, prepared_at: tx.now, activated_at: null }]);
  await auditKey(tx, 'hash_key.prepare', id);
}

/**
 * Makes new hashes use the prepared key. Errors: 409 when there is none, or while a running process
 * has not reported that it holds the key.
 */
export async function activateHashKey(tx: Transaction): Promise<HashKey> {
  const key = (await listHashKeys(tx)).find((candidate) => !isInUse(candidate));
  if (!key) throw conflict('no hashing key is prepared; run "exitward keys rotate --hash" first.');
  await requireHolders(tx, key.id, `the hashing key ${key.id}`);
  await tx.run('update hash_keys set activated_at = $2 where number = $1', [key.number, tx.now]);
  await auditKey(tx, 'hash_key.activate', key.id);
  return key;
}

function auditKey(tx: Transaction, action: string, id: string): Promise<void> {
  return audit(tx, { account_id: null, action, target: `hash_key/${id}` });
}

// ---- The hashes that are stored -----------------------------------------------------------

/** Every table with hashes of tokens and codes, and the key of its rows. */
const hashed = [
  { table: 'api_tokens', key: ['hash'] },
  { table: 'nodes', key: ['hash'] },
  { table: 'node_invites', key: ['hash'] },
  { table: 'admin_tokens', key: ['hash'] },
  { table: 'sessions', key: ['hash'] },
  { table: 'sign_in_codes', key: ['hash'] },
  { table: 'recovery_codes', key: ['account_id', 'user_id', 'hash'] },
] as const;

/** Hashes that are not of this layer; uses the index of each table. */
const older = (table: string) => `from ${table} where hash < $1 or hash >= $2`;
const layer = (number: number) => [`${number}.`, `${number}/`];

/** How many stored hashes do not use the newest key yet. */
export async function hashesToRenew(db: Reader, number: number): Promise<number> {
  if (number === 1) return 0;
  let all = 0;
  for (const { table } of hashed) {
    const row = await db.one<{ hashes: number }>(
      `select count(*) as hashes ${older(table)}`,
      layer(number),
    );
    all += row?.hashes ?? 0;
  }
  return all;
}

async function requireRenewed(tx: Transaction, number: number): Promise<void> {
  const hashes = await hashesToRenew(tx, number);
  if (hashes === 0) return;
  throw conflict(
    `${hashes} hashes are still of the key before the last; a running server renews them. Try again in a minute.`,
  );
}

/**
 * Applies the newest key to stored hashes that lack it, at most `maxHashes`. A job; returns how
 * many.
 */
export async function renewHashes(
  tx: Transaction,
  maxHashes: number,
  secrets: Secrets,
  file: string,
): Promise<number> {
  await useHashKeys(tx, secrets, file);
  const number = secrets.hash_keys_in_use;
  if (number === 1) return 0;
  let all = 0;
  for (const { table, key } of hashed) {
    if (all === maxHashes) break;
    const rows = await tx.all<Record<(typeof key)[number], string | number> & { hash: string }>(
      `select ${key.join(', ')} ${older(table)} limit $3`,
      [...layer(number), maxHashes - all],
    );
    const condition = key.map((column, at) => `${column} = $${at + 2}`).join(' and ');
    for (const row of rows) {
      await tx.run(`update ${table} set hash = $1 where ${condition}`, [
        secrets.renewedHash(row.hash),
        ...key.map((column) => row[column]),
      ]);
    }
    all += rows.length;
  }
  return all;
}
