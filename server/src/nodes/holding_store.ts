// The SQL of holdings: the connections and addresses of users with limits, by node.
import type { Reader, Transaction } from '../db/database.ts';
import { type Key, listOfKeys } from '../db/one_of.ts';

export interface HoldingRow {
  account_id: number;
  user_id: number;
  node_id: number;
  /** Since when the user has connections there, in epoch seconds. */
  since: number;
  connections: number;
  /** The addresses with the time since which each is used. */
  sealed: string;
}

/** Users by account and id: those after one and up to another, if given. */
export interface UserRange {
  after?: { account: number; user: number };
  through?: { account: number; user: number };
}

const maxKeys = 512;

function* batches(keys: readonly Key[]): Generator<readonly Key[]> {
  for (let at = 0; at < keys.length; at += maxKeys) yield keys.slice(at, at + maxKeys);
}

/** The holdings of these users on all live nodes. */
export async function holdingsOf(db: Reader, keys: readonly Key[]): Promise<HoldingRow[]> {
  const rows: HoldingRow[] = [];
  for (const batch of batches(keys)) {
    const { list, values } = listOfKeys(batch);
    rows.push(
      ...(await db.all<HoldingRow>(
        `select h.account_id, h.user_id, h.node_id, h.since, h.connections, h.sealed
         from user_holdings h join nodes n on n.id = h.node_id
         where (h.account_id, h.user_id) in ${list} and n.live = 1 and n.revoked_at is null
         order by h.account_id, h.user_id, h.since, h.node_id`,
        values,
      )),
    );
  }
  return rows;
}

/** The condition, with its values, of a node's holdings of these users. */
function within(node_id: number, { after, through }: UserRange) {
  const first = [after?.account ?? 0, after?.user ?? 0];
  const last = [through?.account ?? Number.MAX_SAFE_INTEGER, through?.user ?? 0];
  const users = '(account_id, user_id) > ($2, $3) and (account_id, user_id) <= ($4, $5)';
  return { where: `where node_id = $1 and ${users}`, values: [node_id, ...first, ...last] };
}

export async function countOfNode(db: Reader, node_id: number, range: UserRange): Promise<number> {
  const { where, values } = within(node_id, range);
  const row = await db.one<{ count: number }>(
    `select count(*) as count from user_holdings ${where}`,
    values,
  );
  return Number(row?.count ?? 0);
}

export function addHoldings(tx: Transaction, rows: readonly HoldingRow[]): Promise<void> {
  return tx.insertMany(
    'user_holdings',
    rows.map((row) => ({ ...row })),
    `on conflict (account_id, user_id, node_id) do update
       set since = excluded.since, connections = excluded.connections, sealed = excluded.sealed`,
  );
}

export async function removeHoldings(
  tx: Transaction,
  node_id: number,
  keys: readonly Key[],
): Promise<void> {
  for (const batch of batches(keys)) {
    const { list, values } = listOfKeys(batch);
    await tx.run(
      `delete from user_holdings where (account_id, user_id) in ${list}
         and node_id = $${values.length + 1}`,
      [...values, node_id],
    );
  }
}

export function removeOfNode(
  tx: Transaction,
  node_id: number,
  range: UserRange = {},
): Promise<number> {
  const { where, values } = within(node_id, range);
  return tx.run(`delete from user_holdings ${where}`, values);
}

export function removeOfUser(tx: Transaction, account_id: number, user_id: number) {
  return tx.run('delete from user_holdings where account_id = $1 and user_id = $2', [
    account_id,
    user_id,
  ]);
}

export function removeOfOffline(tx: Transaction, maxRows: number): Promise<number> {
  return tx.run(
    `delete from user_holdings where (account_id, user_id, node_id) in
       (select h.account_id, h.user_id, h.node_id
        from user_holdings h join nodes n on n.id = h.node_id
        where n.live = 0 or n.revoked_at is not null limit $1)`,
    [maxRows],
  );
}
