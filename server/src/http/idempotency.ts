// Idempotency-Key: the first answer to a POST is kept for a day, in the transaction of its change.
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Transaction } from '../db/database.ts';
import { badRequest, conflict } from '../errors.ts';
import type { Secrets } from '../secrets.ts';

const kept_seconds = 86_400;

/** A key, whose it is, and the request that it stands for. */
export interface IdempotencyClaim {
  account_id: number;
  key: string;
  request_hash: string;
}

export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The claim of a POST with an Idempotency-Key; undefined without. Errors: 400 for a malformed key. */
export function idempotencyClaim(request: FastifyRequest): IdempotencyClaim | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw badRequest('Idempotency-Key: expected 1 to 255 visible ASCII characters.');
  }
  const request_hash = hash('sha256', `${request.url}\n${JSON.stringify(request.body)}`);
  return { account_id: request.session.caller.account_id, key, request_hash };
}

/** An answer may hold a new token, so it is sealed, and bound to its claim. */
const sealContext = ({ account_id, key }: IdempotencyClaim) => `answer ${account_id} ${key}`;

/** The answer that was given to this claim before. Errors: 409 when the key stood for another request. */
export async function findKeptAnswer(
  tx: Transaction,
  secrets: Secrets,
  claim: IdempotencyClaim,
): Promise<KeptAnswer | undefined> {
  const kept = await tx.one<{
    request_hash: string;
    status: number;
    headers: string;
    body: string;
  }>(
    'select request_hash, status, headers, body from idempotency_keys where account_id = $1 and key = $2 and at > $3',
    [claim.account_id, claim.key, tx.now - kept_seconds],
  );
  if (!kept) return undefined;
  if (kept.request_hash !== claim.request_hash) {
    throw conflict('Idempotency-Key: this key was used for another request; choose a new one.');
  }
  return {
    status: kept.status,
    headers: JSON.parse(kept.headers) as Record<string, string>,
    body: secrets.unseal(kept.body, sealContext(claim)),
  };
}

export function keepAnswer(
  tx: Transaction,
  secrets: Secrets,
  claim: IdempotencyClaim,
  answer: KeptAnswer,
): Promise<void> {
  return tx.insertMany(
    'idempotency_keys',
    [
      {
        ...claim,
        status: answer.status,
        headers: JSON.stringify(answer.headers),
        body: secrets.seal(answer.body, sealContext(claim)),
        at: tx.now,
      },
    ],
    // Only a key older than a day can still be there.
    `on conflict (account_id, key) do update set request_hash = excluded.request_hash, status = excluded.status,
       headers = excluded.headers, body = excluded.body, at = excluded.at`,
  );
}

/** Forgets answers older than a day, a batch at a time. */
export function removeOldAnswers(tx: Transaction, most: number): Promise<number> {
  return tx.run(
    `delete from idempotency_keys where (account_id, key) in
     (select account_id, key from idempotency_keys where at <= $1 limit $2)`,
    [tx.now - kept_seconds, most],
  );
}
