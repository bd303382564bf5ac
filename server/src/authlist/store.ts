// The SQL of the IP authlist.

import type { Address } from '../../../kit/src/address.ts';
import { deleteByKeys, findByIds } from '../db/by_ids.ts';
import type { Reader, Transaction, Value } from '../db/database.ts';
import { type Key, listOfKeys, paddedTexts } from '../db/one_of.ts';
import { inserter, updater } from '../db/rows.ts';
import { type Ids, slice } from '../db/slices.ts';
import {
  type Batch,
  isRemoved,
  liveSlices,
  type OfBatch,
  openBatches,
  removalOf,
} from '../lists/batches.ts';
import { type Noted, noteColumns, noteOf } from '../lists/notes.ts';
import { noteEnds } from './past_store.ts';

export interface AuthlistRow extends Noted {
  account_id: number;
  id: number;
  port_scheme_id: number;
  ip: Address;
  user_id: number;
  expiry: number;
  /** When a request from the address, or an operator, verified the entry; null: unverified. */
  proven_at: number | null;
  /** 1 while nodes don't get it because it is not verified. */
  waits: number;
}

/** An entry's right to its address. */
export type Proof = Pick<AuthlistRow, 'proven_at' | 'waits'>;

/** A stored row, on the list or not. */
export interface StoredRow extends AuthlistRow, OfBatch {}

/** An entry as a removal keeps it; older ones have no proof or note. */
export type RemovedRow = Omit<AuthlistRow, keyof Proof | keyof Noted> & Partial<Proof & Noted>;

/** An entry, with what the answer shows of its user. */
export interface AuthlistEntry extends AuthlistRow {
  user: string;
  active: number;
  proxy: number;
}

const key = ['account_id', 'id'] as const;
const changeable = ['ip', 'user_id', 'expiry', 'proven_at', 'waits', 'note', 'added_by'] as const;
const columns = [
  ...key,
  ...(['port_scheme_id', 'ip', 'user_id', 'expiry', 'proven_at', 'waits'] as const),
  ...noteColumns,
] as const;
const removed = isRemoved('authlist', 'a');
const selectStored = `select a.*, ${removalOf('authlist', 'a')} as removal_id from authlist a`;
const select = `select a.*, u.name as "user", u.active, u.proxy from authlist a
  join users u on u.account_id = a.account_id and u.id = a.user_id`;

/** Filters for entries: a canonical address, a part of one, users by name. */
export interface Filter {
  ip?: string | undefined;
  part?: string | undefined;
  users?: readonly string[] | undefined;
}

/** A part of a list, and its place in it. */
export interface EntrySlice extends Ids {
  entries: AuthlistEntry[];
}

/** The entries of an account that hold at `now`, by id, a slice at a time. */
export async function* slices(
  db: Reader,
  account_id: number,
  now: number,
  filter: Filter = {},
): AsyncGenerator<EntrySlice, void, void> {
  if (filter.ip !== undefined) {
    const whole = { after: 0, to: Number.MAX_SAFE_INTEGER, isLast: true };
    yield { ...whole, entries: await within(db, account_id, now, filter, whole) };
    return;
  }
  for await (const ids of liveSlices(db, 'authlist', account_id)) {
    yield { ...ids, entries: await within(db, account_id, now, filter, ids) };
  }
}

function within(
  db: Reader,
  account_id: number,
  now: number,
  { ip, part, users }: Filter,
  { after, to }: Ids,
): Promise<AuthlistEntry[]> {
  const values: Value[] = [account_id, now, after, to];
  const place = (value: Value) => `$${values.push(value)}`;
  const conditions = ['a.account_id = $1', 'a.expiry > $2', 'a.id > $3', 'a.id <= $4'];
  if (ip !== undefined) {
    // Uses the claim's index: an address is listed once per port scheme.
    conditions.push('a.port_scheme_id = (select port_scheme_id from accounts where id = $1)');
    conditions.push(`a.ip = ${place(ip)}`, `not ${removed}`);
  }
  // Both databases replace plain text here: nothing in the part is a pattern.
  if (part !== undefined) conditions.push(`replace(a.ip, ${place(part)}, '') <> a.ip`);
  if (users) conditions.push(`u.name in (${paddedTexts(users).map(place)})`);
  return db.all(`${select} where ${conditions.join(' and ')} order by a.id`, values);
}

export function find(
  db: Reader,
  account_id: number,
  id: number,
  now: number,
): Promise<AuthlistEntry | undefined> {
  return db.one(
    `${select} where a.account_id = $1 and a.id = $2 and a.expiry > $3 and not ${removed}`,
    [account_id, id, now],
  );
}

/** Those of these entries that hold. */
export function findMany(
  db: Reader,
  account_id: number,
  ids: readonly number[],
  now: number,
): Promise<(id: number) => AuthlistEntry | undefined> {
  const isOn = `a.expiry > $1 and not ${removed}`;
  return findByIds(db, { select, row: 'a', where: isOn, values: [now] }, account_id, ids);
}

/** Sets the expiry of each of these entries, by id. */
export async function updateExpiries(
  tx: Transaction,
  account_id: number,
  expiries: ReadonlyArray<readonly [id: number, expiry: number]>,
): Promise<void> {
  for (let at = 0; at < expiries.length; at += slice) {
    const { list, values } = listOfKeys(expiries.slice(at, at + slice));
    await tx.run(
      `update authlist set expiry = v.column2 from ${list} as v
       where authlist.account_id = $${values.length + 1} and authlist.id = v.column1`,
      [...values, account_id],
    );
  }
}

/** Takes entries off the list. Also forgets when they were used. */
export async function removeMany(tx: Transaction, keys: readonly Key[]): Promise<void> {
  for (let at = 0; at < keys.length; at += slice) await noteEnds(tx, keys.slice(at, at + slice));
  await purgeMany(tx, keys);
}

/** Deletes rows, which may have left the list long ago. */
export async function purgeMany(tx: Transaction, keys: readonly Key[]): Promise<void> {
  await deleteByKeys(tx, 'authlist', keys);
  await deleteByKeys(tx, 'authlist_uses', keys, 'entry_id');
}

/** False, and writes nothing, when the address is claimed on the port scheme. */
export const insert = inserter<AuthlistRow>('authlist', columns);

/** Restores entries as they were. Errors: when an address is claimed on its port scheme. */
export function putBack(tx: Transaction, rows: readonly RemovedRow[]): Promise<void> {
  return tx.insertMany(
    'authlist',
    rows.map(({ account_id, id, port_scheme_id, ip, user_id, expiry, ...row }) => ({
      ...{ account_id, id, port_scheme_id, ip, user_id, expiry },
      ...{ proven_at: row.proven_at ?? null, waits: row.waits ?? 0 },
      ...noteOf(row),
    })),
  );
}

/** The entries that claim any of these addresses, of any account. */
export function claimsOnAny(
  db: Reader,
  port_scheme_id: number,
  ips: readonly string[],
): Promise<StoredRow[]> {
  const places = paddedTexts(ips).map((_, at) => `$${at + 2}`);
  return db.all(`${selectStored} where a.port_scheme_id = $1 and a.ip in (${places})`, [
    port_scheme_id,
    ...paddedTexts(ips),
  ]);
}

export const update = updater<AuthlistRow>('authlist', key, changeable);

/** The row that has an address, of any account; a removed one gives way. */
export function claimOn(
  db: Reader,
  port_scheme_id: number,
  ip: string,
): Promise<StoredRow | undefined> {
  return db.one(`${selectStored} where a.port_scheme_id = $1 and a.ip = $2`, [port_scheme_id, ip]);
}

/** Also forgets when it was used. */
export async function remove(tx: Transaction, account_id: number, id: number): Promise<number> {
  await noteEnds(tx, [[account_id, id]]);
  const [removed] = await Promise.all([
    tx.run('delete from authlist where account_id = $1 and id = $2', [account_id, id]),
    tx.run('delete from authlist_uses where account_id = $1 and entry_id = $2', [account_id, id]),
  ]);
  return removed;
}

/** The next rows after an id, removed or not. */
export function rowsAfter(db: Reader, account_id: number, after_id: number): Promise<StoredRow[]> {
  return db.all(
    `${selectStored} where a.account_id = $1 and a.id > $2 order by a.id limit ${slice}`,
    [account_id, after_id],
  );
}

/** The rows of a removal's batches if on another port scheme; all of them share one. */
export async function rowsOnOtherScheme(
  db: Reader,
  batches: readonly Batch[],
  port_scheme_id: number,
): Promise<AuthlistRow[]> {
  const all: AuthlistRow[] = [];
  for (const { account_id, after_id, up_to } of batches) {
    for (let after: number | undefined = after_id; after !== undefined; ) {
      const rows: AuthlistRow[] = await db.all<AuthlistRow>(
        `select * from authlist where account_id = $1 and id > $2 and id <= $3 order by id limit ${slice}`,
        [account_id, after, up_to],
      );
      if (rows[0]?.port_scheme_id === port_scheme_id) return [];
      all.push(...rows);
      after = rows.at(-1)?.id;
    }
  }
  return all;
}

export function expired(db: Reader, now: number, maxRows: number): Promise<StoredRow[]> {
  return db.all(`${selectStored} where a.expiry <= $1 order by a.expiry limit $2`, [now, maxRows]);
}
const expiredStatement =
  'select * from authlist where account_id = $1 and id > $2 and id <= $3 and expiry <= $4 limit $5';

/** Expired entries of one account, by its range of the primary key; removed rows are not read. */
export async function expiredOfAccount(
  db: Reader,
  account_id: number,
  now: number,
  maxRows: number,
): Promise<AuthlistRow[]> {
  const rows: AuthlistRow[] = [];
  for (const { after_id, up_to } of await openBatches(db, account_id, 'authlist')) {
    const values = [account_id, after_id, up_to, now, maxRows - rows.length];
    rows.push(...(await db.all<AuthlistRow>(expiredStatement, values)));
  }
  return rows;
}

/** The entries of an account as nodes need them, by id, a slice at a time. */
export async function* authlistOfAccount(
  db: Reader,
  account_id: number,
): AsyncGenerator<AuthlistRow[], void, void> {
  for await (const { after, to } of liveSlices(db, 'authlist', account_id)) {
    // Checked again: a removal may have come between the two statements.
    yield await db.all<AuthlistRow>(
      `select a.* from authlist a where a.account_id = $1 and a.id > $2 and a.id <= $3
         and not ${removed} order by a.id`,
      [account_id, after, to],
    );
  }
}

export function findAuthlistRows(db: Reader, keys: readonly Key[]) {
  const { list, values } = listOfKeys(keys);
  return db.all<AuthlistRow>(
    `select a.* from authlist a where (a.account_id, a.id) in ${list} and not ${removed}`,
    values,
  );
}

/** An account, and the canonical address that it called from. */
export interface Caller {
  account_id: number;
  ip: string;
}

/** One statement for any number, as below. */
const callersOfStatement = 50;
const noCaller: Caller = { account_id: 0, ip: '' };
const unverifiedStatement = `select a.* from (values ${Array.from(
  { length: callersOfStatement },
  (_, at) => `(cast($${2 * at + 1} as bigint), $${2 * at + 2})`,
)}) as v join accounts c on c.id = v.column1
  join authlist a on a.port_scheme_id = c.port_scheme_id and a.ip = v.column2 and a.account_id = v.column1
  where a.proven_at is null and not ${removed}`;

/** The unverified entries of these accounts for the callers' addresses, by the claim's index. */
export async function unverifiedOf(db: Reader, callers: readonly Caller[]): Promise<AuthlistRow[]> {
  const unverified: AuthlistRow[] = [];
  for (let at = 0; at < callers.length; at += callersOfStatement) {
    const part = callers.slice(at, at + callersOfStatement);
    const rows = [...part, ...Array<Caller>(callersOfStatement - part.length).fill(noCaller)];
    const values = rows.flatMap(({ account_id, ip }) => [account_id, ip]);
    unverified.push(...(await db.all<AuthlistRow>(unverifiedStatement, values)));
  }
  return unverified;
}

/** Unverified entries that nodes don't get (`waits` 1), or do get (0). */
export function unverifiedThat(db: Reader, waits: number, maxRows: number): Promise<StoredRow[]> {
  return db.all(`${selectStored} where a.proven_at is null and a.waits = $1 limit $2`, [
    waits,
    maxRows,
  ]);
}

export const updateProof = updater<AuthlistRow>('authlist', key, ['proven_at', 'waits']);
