// Responses of /v0: reads with an ETag, changes in one transaction with idempotency and waiting.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  findStoredResponse,
  type StoredResponse,
  storeResponse,
} from '../../changes/stored_responses.ts';
import type { Actor, Transaction } from '../../db/database.ts';
import { preconditionFailed } from '../../errors.ts';
import { etagMatches, etagOf } from '../../http/conditions.ts';
import { largeBytes } from '../../http/large_bodies.ts';
import { jsonType } from '../../http/responses.ts';
import { jsonOf, ListJson, type Part } from '../lists.ts';
import { isRevocation } from '../revocations.ts';
import { requireTokenNow } from './authentication.ts';
import type { AccountContext } from './context.ts';
import { idempotencyClaim } from './idempotency.ts';
import type { Freshness } from './response_cache.ts';
import type { Session } from './session.ts';

declare module 'fastify' {
  interface FastifyRequest {
    session: Session;
  }
}

/** The description of the removal of a whole list. */
export const removesAll =
  'Removes every entry of the account; takes no filters. The operator can undo it for seven days.';

/** Responds to a GET with `value` as JSON: ETag, 304, and cached for later. */
export function respond(
  ctx: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
  freshness: Freshness = {},
): FastifyReply {
  const list = value instanceof ListJson ? value : undefined;
  // As bytes: the cached bytes are also the ones that get compressed.
  const content = list?.body ?? Buffer.from(JSON.stringify(value));
  const etag = list?.etag ?? etagOf(content);
  const { 'if-none-match': ifNoneMatch, 'if-match': ifMatch } = request.headers;
  const isOther = ifMatch !== undefined && !etagMatches(ifMatch, etag);
  const isUnchanged = etagMatches(ifNoneMatch, etag);
  // A body that is not sent needs no room, and ends no other response.
  const isSent = request.method === 'GET' && !isOther && !isUnchanged;
  const isShared = isSent && content.length >= largeBytes;
  const body = isShared ? ctx.bodies.share(content, etag) : content;
  if (request.method === 'GET') {
    const response = { body, etag, route: request.routeOptions.url ?? 'none' };
    const url = request.raw.url as string;
    ctx.cache.store(request.session, url, response, freshness);
  }
  reply.header('etag', etag);
  if (isOther) {
    throw preconditionFailed('If-Match: the record has changed since that version.');
  }
  if (isUnchanged) return reply.code(304).send();
  return reply.code(200).type(jsonType).send(body);
}

/** A list as a handler returns it. */
export function listed(value: ListJson): Freshness & { value: ListJson } {
  return { value, valid_until: value.valid_until };
}

type Waited = NonNullable<Awaited<ReturnType<AccountContext['whenApplied']>>>;

/** The outcome of a change, sent once it is durable. */
export interface Changed {
  status: 200 | 201 | 204;
  value?: unknown;
  headers?: Record<string, string>;
  /**
   * With `Prefer: wait`: resolves when the nodes have applied it, or time is up, with the value to
   * show and how many have it; undefined if too many wait.
   */
  whenApplied?: (waitSeconds: number) => Promise<({ value: unknown } & Waited) | undefined>;
}

/** The actor of an account's request. */
function actorOf(request: FastifyRequest): Actor {
  const { principal } = request.session;
  return {
    kind: 'account',
    name: `${principal.account_name}/${principal.token_name}`,
    address: request.ip,
    request_id: request.id,
  };
}

/**
 * Runs `action` in one transaction and responds once its outcome is durable. Supports
 * `Idempotency-Key` (in the same transaction) on POST, and `Prefer: wait=N`. Errors: those of
 * `action`; 400 for a malformed header; 409 for a key used with another body; 401 and 403 for an
 * API token that has ended or may no longer write; 429 when the day's writes are used up.
 */
export async function change(
  ctx: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  action: (tx: Transaction) => Promise<Changed>,
): Promise<FastifyReply> {
  const waitSeconds = preferredWait(request);
  const claim = idempotencyClaim(request);
  let whenApplied: Changed['whenApplied'];

  const { principal } = request.session;
  const isUrgent = isRevocation(request);
  const kind = isUrgent ? 'revocation' : 'addition';

  const outcome = await ctx.writes.within(principal.account_id, (spend) =>
    ctx.db.write(
      actorOf(request),
      async (tx) => {
        await requireTokenNow(tx, principal);
        const stored = claim && (await findStoredResponse(tx, ctx.secrets, claim));
        if (stored) return stored;
        spend(tx.now, { kind, amount: 1, is_kept: claim !== undefined });
        const changed = await action(tx);
        whenApplied = changed.whenApplied;
        const body = changed.status === 204 ? '' : JSON.stringify(changed.value);
        const headers: Record<string, string> = { ...changed.headers };
        if (body) headers.etag = etagOf(body);
        const first: StoredResponse = { status: changed.status, headers, body };
        if (claim) await storeResponse(tx, ctx.secrets, claim, first);
        return first;
      },
      { isUrgent },
    ),
  );

  const applied = waitSeconds > 0 ? await whenApplied?.(waitSeconds) : undefined;
  if (applied !== undefined) {
    const { value, progress } = applied;
    outcome.body = JSON.stringify(value);
    outcome.headers.etag = etagOf(outcome.body);
    outcome.headers['preference-applied'] = `wait=${waitSeconds}`;
    if (progress) outcome.headers['exitward-applied'] = `${progress.applied}/${progress.nodes}`;
  }
  reply.code(outcome.status).headers(outcome.headers);
  return outcome.body ? reply.type(jsonType).send(outcome.body) : reply.send();
}

const maxWaitSeconds = 30;

/** The seconds of `Prefer: wait=N`, at most 30, 0 without it. Other preferences are ignored. */
function preferredWait(request: FastifyRequest): number {
  const header = request.headers.prefer;
  if (header === undefined) return 0;
  for (const preference of String(header).split(',')) {
    const match = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*$/i.exec(preference);
    if (match) return Math.min(Number(match[1]), maxWaitSeconds);
  }
  return 0;
}

function hasChanged() {
  return preconditionFailed('If-Match: the record has changed since that version; read it again.');
}

/** `If-Match` on a change: `current` is the record as a GET would show it now. Errors: 412. */
export function requireMatch(request: FastifyRequest, current: () => unknown): void {
  const header = request.headers['if-match'];
  if (header !== undefined && !etagMatches(header, etagOf(JSON.stringify(current())))) {
    throw hasChanged();
  }
}

/** The same for a list, which is read only if the header is there. Errors: 412. */
export async function requireListMatch(
  request: FastifyRequest,
  current: () => AsyncIterable<Part>,
): Promise<void> {
  const header = request.headers['if-match'];
  if (header === undefined) return;
  const { etag } = await jsonOf(current());
  if (!etagMatches(header, etag)) throw hasChanged();
}
