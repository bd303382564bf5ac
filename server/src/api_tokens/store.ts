// The SQL of API tokens.
import { deleteByKeys, findByIds } from '../db/by_ids.ts';
import type { Reader, Transaction } from '../db/database.ts';
import type { Hashes } from '../keys/secrets.ts';
import type { Use } from '../observed/last_used.ts';

export interface ApiTokenRow {
  account_id: number;
  id: number;
  name: string;
  read_only: number;
  /** The keyed hash of its text. */
  hash: string;
  /** Its text, sealed; null where it is shown once. */
  sealed: string | null;
  /** Null: it does not expire. */
  expiry: number | null;
  created_at: number;
  last_used_at: number | null;
}

/** An API token with its account, and the versions at the same moment. */
export interface PrincipalRow {
  account_id: number;
  account_name: string;
  token_id: number;
  token_name: string;
  read_only: number;
  token_expiry: number | null;
  contract_expiry: number;
  suspended: number;
  account_version: number;
  contract_version: number;
  usage_version: number;
  network_version: number;
  maintenance: number;
  epoch: string;
}

export function principalByHash(db: Reader, hashes: Hashes): Promise<PrincipalRow | undefined> {
  return db.one(
    `select a.id as account_id, a.name as account_name, t.id as token_id, t.name as token_name,
       t.read_only, t.expiry as token_expiry, a.expiry as contract_expiry, a.suspended,
       coalesce(v.revision, 0) as account_version, coalesce(v.contract_revision, 0) as contract_version,
       coalesce(v.usage_revision, 0) as usage_version,
       coalesce((select revision from versions where account_id = 0), 0) as network_version,
       n.maintenance, n.epoch
     from api_tokens t join accounts a on a.id = t.account_id join network n on n.id = 1
     left join versions v on v.account_id = a.id where t.hash in ($1, $2, $3)`,
    [...hashes],
  );
}

export function listApiTokens(db: Reader, account_id: number): Promise<ApiTokenRow[]> {
  return db.all('select * from api_tokens where account_id = $1 order by id', [account_id]);
}

/** Of all accounts, the tokens whose text is stored. */
export function sealedTokens(db: Reader) {
  return db.all<{ account_id: number; id: number; sealed: string }>(
    'select account_id, id, sealed from api_tokens where sealed is not null',
  );
}

export function findApiToken(db: Reader, account_id: number, id: number) {
  return db.one<ApiTokenRow>('select * from api_tokens where account_id = $1 and id = $2', [
    account_id,
    id,
  ]);
}

const shareName = (account_id: number, id: number) => `api token ${account_id} ${id}`;

/** Read once for all actions of a group, and again after it was created or revoked. */
export function findTokenInGroup(tx: Transaction, account_id: number, id: number) {
  return tx.group.share(shareName(account_id, id), () => findApiToken(tx, account_id, id));
}

export function insert(tx: Transaction, row: ApiTokenRow): Promise<void> {
  tx.group.forget(shareName(row.account_id, row.id));
  return tx.insertMany('api_tokens', [{ ...row }]);
}

/** Finds the tokens with these ids. Returns a function that looks one up by its id. */
export function findMany(db: Reader, account_id: number, ids: readonly number[]) {
  const select = 'select * from api_tokens';
  return findByIds<ApiTokenRow>(db, { select, row: 'api_tokens' }, account_id, ids);
}

export async function removeMany(tx: Transaction, account_id: number, ids: readonly number[]) {
  for (const id of ids) tx.group.forget(shareName(account_id, id));
  await deleteByKeys(
    tx,
    'api_tokens',
    ids.map((id) => [account_id, id]),
  );
}

/** Stores when tokens were last used, unless a later time is stored already. */
export async function markTokensUsed(tx: Transaction, uses: readonly Use[]): Promise<void> {
  await Promise.all(
    uses.map(({ account_id, id, at }) =>
      tx.run(
        'update api_tokens set last_used_at = $3 where account_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)',
        [account_id, id, at],
      ),
    ),
  );
}
