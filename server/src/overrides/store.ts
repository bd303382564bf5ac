// The SQL of custom DNS entries (hostname overrides).

import type { Address } from '../../../kit/src/address.ts';
import { deleteByKeys, findByIds } from '../db/by_ids.ts';
import type { Reader, Transaction, Value } from '../db/database.ts';
import { type Key, listOfKeys, paddedTexts } from '../db/one_of.ts';
import { inserter, updater } from '../db/rows.ts';
import { type Ids, slice } from '../db/slices.ts';
import {
  isRemoved,
  liveSlices,
  type OfBatch,
  removalOf,
  restoredRevision,
} from '../lists/batches.ts';
import { type Noted, noteColumns, noteOf } from '../lists/notes.ts';
import type { Hostname } from '../values/hostname.ts';

export interface OverrideRow extends Noted {
  account_id: number;
  id: number;
  server_id: number;
  hostname: Hostname;
  ip: Address;
  expiry: number;
  /** The last change of the entry. */
  revision: number;
  /** The change that reported its end to the nodes; null while it is wanted. */
  removed_revision: number | null;
}

/** A stored row, on the list or not. */
export interface StoredRow extends OverrideRow, OfBatch {}

/** An entry with the facts that its status follows from. */
export interface Override extends OverrideRow {
  /** The change that last brought it back after a "remove all"; null if none did. */
  restored_revision: number | null;
  server: string;
  /** Every node of the server has applied every change up to this revision. */
  applied_revision: number;
  /** 1 when the server is on the contract, and all its nodes have applied the last change. */
  applied: number;
  /** The change that put the server on the contract; null if it is not on it. */
  contract_revision: number | null;
}

const removed = isRemoved('overrides', 'o');
const selectStored = `select o.*, ${removalOf('overrides', 'o')} as removal_id from overrides o`;
const restored = restoredRevision('overrides', 'o');
/** SQL: the fact that, with the expiry, decides the status of an entry. */
export const isApplied = `c.revision is not null and s.applied_revision >= c.revision
  and s.applied_revision >= o.revision and s.applied_revision >= coalesce(${restored}, 0)
  and (o.removed_revision is null or s.applied_revision < o.removed_revision)`;
/** SQL: the columns of an entry, and the tables next to the list that they come from. */
export const columns = `o.*, s.name as server, s.applied_revision, c.revision as contract_revision,
  ${restored} as restored_revision, case when ${isApplied} then 1 else 0 end as applied`;
export const joins = `join servers s on s.id = o.server_id
  left join contract_servers c on c.account_id = o.account_id and c.server_id = o.server_id`;
const select = `select ${columns} from overrides o ${joins}`;

/** Filters for entries: a canonical address, servers by name, a part of a hostname or address. */
export interface Filter {
  part?: string | undefined;
  ip?: string | undefined;
  servers?: readonly string[] | undefined;
}

/** A part of a list, and its place in it. */
export interface OverrideSlice extends Ids {
  entries: Override[];
}

/** The entries of an account that expire after `since`, by id, a slice at a time. */
export async function* slices(
  db: Reader,
  account_id: number,
  since: number,
  filter: Filter = {},
): AsyncGenerator<OverrideSlice, void, void> {
  for await (const ids of liveSlices(db, 'overrides', account_id)) {
    yield { ...ids, entries: await within(db, account_id, since, filter, ids) };
  }
}

function within(
  db: Reader,
  account_id: number,
  since: number,
  { ip, servers, part }: Filter,
  { after, to }: Ids,
): Promise<Override[]> {
  const values: Value[] = [account_id, since, after, to];
  const place = (value: Value) => `$${values.push(value)}`;
  const conditions = ['o.account_id = $1', 'o.expiry > $2', 'o.id > $3', 'o.id <= $4'];
  if (ip !== undefined) conditions.push(`o.ip = ${place(ip)}`);
  // Both databases replace plain text here: nothing in the part is a pattern.
  if (part !== undefined) {
    conditions.push(
      `replace(o.hostname || ' ' || o.ip, ${place(part)}, '') <> o.hostname || ' ' || o.ip`,
    );
  }
  if (servers) conditions.push(`s.name in (${paddedTexts(servers).map(place)})`);
  return db.all(`${select} where ${conditions.join(' and ')} order by o.id`, values);
}

/** A node of a server, and the revision up to which it has applied every change. */
export interface ServerNode {
  server_id: number;
  name: string;
  live: number;
  applied_revision: number;
}

/** The nodes of all servers: fewer rows than the entries that would name an account's servers. */
export function nodesOfServers(db: Reader): Promise<ServerNode[]> {
  return db.all(
    `select server_id, name, live, applied_revision from nodes where revoked_at is null
     order by server_id, id`,
  );
}

/** The nodes of one server. */
export function nodesOfOverride(db: Reader, server_id: number): Promise<ServerNode[]> {
  return db.all(
    `select server_id, name, live, applied_revision from nodes
     where revoked_at is null and server_id = $1 order by id`,
    [server_id],
  );
}

/** The ids of all servers. */
export async function serverIds(db: Reader): Promise<Set<number>> {
  const rows = await db.all<{ id: number }>('select id from servers');
  return new Set(rows.map(({ id }) => id));
}

export function find(db: Reader, account_id: number, id: number, since: number) {
  return db.one<Override>(
    `${select} where o.account_id = $1 and o.id = $2 and o.expiry > $3 and not ${removed}`,
    [account_id, id, since],
  );
}

/** Those of these entries that expire after `since`. */
export function findMany(
  db: Reader,
  account_id: number,
  ids: readonly number[],
  since: number,
): Promise<(id: number) => Override | undefined> {
  const isOn = `o.expiry > $1 and not ${removed}`;
  return findByIds(db, { select, row: 'o', where: isOn, values: [since] }, account_id, ids);
}

/** Sets the expiry of each of these entries, as of a change. */
export async function updateExpiries(
  tx: Transaction,
  account_id: number,
  rows: ReadonlyArray<Pick<OverrideRow, 'id' | 'expiry' | 'revision'>>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += slice) {
    const part = rows.slice(at, at + slice);
    for (const column of ['expiry', 'revision'] as const) {
      const { list, values } = listOfKeys(part.map((row): Key => [row.id, row[column]]));
      await tx.run(
        `update overrides set ${column} = v.column2, removed_revision = null from ${list} as v
         where overrides.account_id = $${values.length + 1} and overrides.id = v.column1`,
        [...values, account_id],
      );
    }
  }
}

export function removeMany(tx: Transaction, keys: readonly Key[]): Promise<void> {
  return deleteByKeys(tx, 'overrides', keys);
}

export function findOverrideRows(db: Reader, keys: readonly Key[]) {
  const { list, values } = listOfKeys(keys);
  return db.all<OverrideRow>(
    `select o.* from overrides o where (o.account_id, o.id) in ${list} and not ${removed}`,
    values,
  );
}

const changeable = [
  'server_id',
  'hostname',
  'ip',
  'expiry',
  'revision',
  'removed_revision',
  ...noteColumns,
] as const;

/** False when the account has a wanted entry for this server and hostname. */
export const insert = inserter<OverrideRow>('overrides', ['account_id', 'id', ...changeable]);

export const update = updater<OverrideRow>('overrides', ['account_id', 'id'], changeable);

/** The row that has this server and hostname and has not ended; a removed one gives way. */
export function holder(
  db: Reader,
  account_id: number,
  server_id: number,
  hostname: string,
): Promise<StoredRow | undefined> {
  return db.one(
    `${selectStored} where o.account_id = $1 and o.server_id = $2 and o.hostname = $3
       and o.removed_revision is null`,
    [account_id, server_id, hostname],
  );
}

export function remove(tx: Transaction, account_id: number, id: number): Promise<number> {
  return tx.run('delete from overrides where account_id = $1 and id = $2', [account_id, id]);
}

/** The next rows after an id, removed or not. */
export function rowsAfter(db: Reader, account_id: number, after_id: number) {
  return db.all<OverrideRow>(
    `select * from overrides where account_id = $1 and id > $2 order by id limit ${slice}`,
    [account_id, after_id],
  );
}

/** Restores entries that are wanted. Errors: when another entry overrides a hostname. */
export function putBack(tx: Transaction, entries: readonly OverrideRow[]): Promise<void> {
  const rows = entries.map((row) => ({ ...row, removed_revision: null, ...noteOf(row) }));
  return tx.insertMany('overrides', rows as never);
}

/** The rows that have any of these hostnames on a server and have not ended. */
export function holders(
  db: Reader,
  account_id: number,
  server_id: number,
  hostnames: readonly string[],
): Promise<StoredRow[]> {
  const places = paddedTexts(hostnames).map((_, at) => `$${at + 3}`);
  return db.all(
    `${selectStored} where o.account_id = $1 and o.server_id = $2 and o.hostname in (${places})
       and o.removed_revision is null`,
    [account_id, server_id, ...paddedTexts(hostnames)],
  );
}

/** Entries that have expired and whose nodes are not notified yet. */
export function toEnd(db: Reader, now: number, maxRows: number): Promise<StoredRow[]> {
  return db.all(
    `${selectStored} where o.expiry <= $1 and o.removed_revision is null order by o.expiry limit $2`,
    [now, maxRows],
  );
}

/** Ended entries that expired at `until` or before. */
export function toPurge(db: Reader, until: number, maxRows: number): Promise<StoredRow[]> {
  return db.all(
    `${selectStored} where o.expiry <= $1 and o.removed_revision is not null order by o.expiry limit $2`,
    [until, maxRows],
  );
}

/** The entries of one account and server whose end its nodes don't have, a slice at a time. */
export async function* overridesOfAccount(
  db: Reader,
  account_id: number,
  server_id: number,
): AsyncGenerator<OverrideRow[], void, void> {
  for await (const { after, to } of liveSlices(db, 'overrides', account_id)) {
    yield await db.all<OverrideRow>(
      // Checked again: a removal may have come between the two statements.
      `select o.* from overrides o where o.account_id = $1 and o.server_id = $2 and o.id > $3
         and o.id <= $4 and o.removed_revision is null and not ${removed} order by o.id`,
      [account_id, server_id, after, to],
    );
  }
}
