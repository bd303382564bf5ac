// Idempotency-Key: reads the header of a POST; the response is stored next to its change.
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { IdempotencyClaim } from '../../changes/stored_responses.ts';
import { badRequest } from '../../errors.ts';

/** The claim of a POST with an Idempotency-Key, if it has one. Errors: 400 for a malformed key. */
export function idempotencyClaim(request: FastifyRequest): IdempotencyClaim | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw badRequest('Idempotency-Key: expected 1 to 255 visible ASCII characters.');
  }
  const request_hash = hash('sha256', `${request.url}\n${JSON.stringify(request.body)}`);
  return { account_id: request.session.principal.account_id, key, request_hash };
}
