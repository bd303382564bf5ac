// Stored responses: the first response to an Idempotency-Key, stored for a day, in the transaction
// of its change.
import type { Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';

const keptSeconds = 86_400;

/** A key of an account, and the request that it stands for. */
export interface IdempotencyClaim {
  account_id: number;
  key: string;
  request_hash: string;
}

export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A response may hold a new token, so it is sealed. */
interface Seals {
  seal(text: string, context: string): string;
  unseal(sealed: string, context: string): string;
}

/** Binds what is sealed to its claim. */
const sealContext = ({ account_id, key }: IdempotencyClaim) => `answer ${account_id} ${key}`;

/** The first response to this claim. Errors: 409 when the key stood for another request. */
export async function findStoredResponse(
  tx: Transaction,
  seals: Seals,
  claim: IdempotencyClaim,
): Promise<StoredResponse | undefined> {
  const stored = await tx.one<{
    request_hash: string;
    status: number;
    headers: string;
    body: string;
  }>(
    'select request_hash, status, headers, body from idempotency_keys where account_id = $1 and key = $2 and at > $3',
    [claim.account_id, claim.key, tx.now - keptSeconds],
  );
  if (!stored) return undefined;
  if (stored.request_hash !== claim.request_hash) {
    throw conflict('Idempotency-Key: this key was used for another request; choose a new one.', {
      code: 'idempotency_mismatch',
    });
  }
  return {
    status: stored.status,
    headers: JSON.parse(stored.headers) as Record<string, string>,
    body: seals.unseal(stored.body, sealContext(claim)),
  };
}

export function storeResponse(
  tx: Transaction,
  seals: Seals,
  claim: IdempotencyClaim,
  response: StoredResponse,
): Promise<void> {
  return tx.insertMany(
    'idempotency_keys',
    [
      {
        ...claim,
        status: response.status,
        headers: JSON.stringify(response.headers),
        body: seals.seal(response.body, sealContext(claim)),
        at: tx.now,
      },
    ],
    // Only a key older than a day can still exist here.
    `on conflict (account_id, key) do update set request_hash = excluded.request_hash, status = excluded.status,
       headers = excluded.headers, body = excluded.body, at = excluded.at`,
  );
}

/** Deletes responses older than a day, a batch at a time. */
export function purgeStoredResponses(tx: Transaction, maxResponses: number): Promise<number> {
  return tx.run(
    `delete from idempotency_keys where (account_id, key) in
     (select account_id, key from idempotency_keys where at <= $1 limit $2)`,
    [tx.now - keptSeconds, maxResponses],
  );
}
