// The SQL of contract servers.
import type { Reader, Transaction } from '../db/database.ts';
import { type OfContract, ofContract } from '../db/of_contract.ts';
import { type Key, listOfKeys, paddedTexts } from '../db/one_of.ts';
import { inserter, updater } from '../db/rows.ts';
import type { ExitIpRow, Server } from '../servers/servers.ts';

export interface ContractServerRow {
  account_id: number;
  server_id: number;
  /** Its own limit in each billing period; null: only the network limit applies. */
  limit_bytes: number | null;
  over_limit: number;
  /** When to evaluate `over_limit` again: the end of its billing period; 0 while it is not over. */
  over_until: number;
  added_at: number;
  /** The change that notified the server's nodes of this contract. */
  revision: number;
}

const key = ['account_id', 'server_id'] as const;
const changeable = ['limit_bytes', 'over_limit', 'over_until'] as const;

/** A server, and the terms of the contract for it. */
export type ServerOfContract = Server & {
  own_limit_bytes: number | null;
  server_over_limit: number;
  added_at: number;
};

/** The servers of a contract, all or those of these names. */
export function serversOfContract(
  db: Reader,
  account_id: number,
  names?: readonly string[],
): Promise<ServerOfContract[]> {
  const wanted = names ? paddedTexts(names) : [];
  const isWanted = names ? `and s.name in (${wanted.map((_, at) => `$${at + 2}`)})` : '';
  return db.all(
    `select s.*, c.limit_bytes as own_limit_bytes, c.over_limit as server_over_limit, c.added_at
     from contract_servers c join servers s on s.id = c.server_id
     where c.account_id = $1 ${isWanted} order by s.name`,
    [account_id, ...wanted],
  );
}

export function exitIpsOfContract(db: Reader, of: OfContract): Promise<ExitIpRow[]> {
  const { sql, values } = ofContract(of);
  return db.all(
    `select e.* from contract_servers c join exit_ips e on e.server_id = c.server_id
     where ${sql} order by e.server_id, e.port_base`,
    values,
  );
}

export function findContractServer(db: Reader, account_id: number, server_id: number) {
  return db.one<ContractServerRow>(
    'select * from contract_servers where account_id = $1 and server_id = $2',
    [account_id, server_id],
  );
}

export function findContractServers(db: Reader, keys: readonly Key[]) {
  const { list, values } = listOfKeys(keys);
  return db.all<ContractServerRow>(
    `select * from contract_servers where (account_id, server_id) in ${list}`,
    values,
  );
}

/** The accounts that have a server on their contract. */
export function accountsOfServer(
  db: Reader,
  server_id: number,
): Promise<Array<{ account_id: number }>> {
  return db.all('select account_id from contract_servers where server_id = $1', [server_id]);
}

/** False when the server is on the contract already. */
export const insert = inserter<ContractServerRow>('contract_servers', [
  ...key,
  ...changeable,
  'added_at',
  'revision',
]);

export const update = updater<ContractServerRow>('contract_servers', key, changeable);

export function remove(tx: Transaction, account_id: number, server_id: number): Promise<number> {
  return tx.run('delete from contract_servers where account_id = $1 and server_id = $2', [
    account_id,
    server_id,
  ]);
}

/**
 * The own limit of a server that is off the contract. A limit is the operator's, even if the
 * account removed the server.
 */
interface KeptLimit {
  server_id: number;
  limit_bytes: number;
}

const insertLimit = inserter<ContractServerRow>('kept_limits', [...key, 'limit_bytes']);

/**
 * Stores the own limit of a server that leaves its contract; a server without one leaves nothing.
 */
export async function keepLimit(tx: Transaction, row: ContractServerRow): Promise<void> {
  if (row.limit_bytes === null) return;
  await insertLimit(tx, row);
}

/** Returns and removes the stored limit of a server that comes back. */
export async function takeKeptLimit(
  tx: Transaction,
  account_id: number,
  server_id: number,
): Promise<KeptLimit | undefined> {
  const rows = await tx.put<KeptLimit>(
    'delete from kept_limits where account_id = $1 and server_id = $2 returning server_id, limit_bytes',
    [account_id, server_id],
  );
  return rows[0];
}

/** The limits that servers off the contract get again when they are added. */
export function keptLimits(db: Reader, account_id: number): Promise<KeptLimit[]> {
  return db.all('select server_id, limit_bytes from kept_limits where account_id = $1', [
    account_id,
  ]);
}

/** Contract servers over their own limit in a billing period that has ended. */
export function overLimit(db: Reader, now: number, maxRows: number): Promise<ContractServerRow[]> {
  return db.all(
    'select * from contract_servers where over_limit = 1 and over_until <= $1 order by over_until limit $2',
    [now, maxRows],
  );
}
