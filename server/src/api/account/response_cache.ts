// The response cache of /v0: which responses are cached, for how long, and how they are served.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Versions } from '../../changes/versions.ts';
import type { Context } from '../../context.ts';
import {
  compressed,
  type Encoding,
  leastCompressedBytes,
  preferredEncoding,
} from '../../http/compression.ts';
import { contentTag, encodedTag } from '../../http/conditions.ts';
import { type LargeBodies, largeBytes } from '../../http/large_bodies.ts';
import { clientAddress } from '../../http/own_address.ts';
import { logRequest } from '../../http/request_log.ts';
import { jsonType } from '../../http/responses.ts';
import { traced } from '../../http/trace.ts';
import { never } from '../lists.ts';
import type { RateLimiter } from './rate_limit.ts';
import type { Session } from './session.ts';

/** The facts that end a response before its account changes. */
export interface Freshness {
  /** Epoch seconds at which time alone changes the response. */
  valid_until?: number | undefined;
  /** Whether it shows servers, exit IPs or health. */
  network?: boolean;
  /** Whether it shows usage. */
  usage?: boolean;
}

/** A response as it is sent. */
interface Ready {
  body: Buffer | undefined;
  /** Ready for `writeHead`: the first is the ETag, the last the request id. */
  headers: string[];
}

/** A 200 response to a GET, as ready bytes. */
interface CachedResponse extends Required<Freshness> {
  etag: string;
  /** Its body is undefined if it is too large: then only a 304 is served from here. */
  plain: Ready;
  unchanged: Ready;
  /** Made for the first client that accepts it; the bytes are counted in advance. */
  encoded: Map<Encoding, Ready>;
  versions: Versions;
  valid_until: number;
  /** As the router names it. */
  route: string;
  bytes: number;
}

interface CachedSession extends Session {
  responses: Map<string, CachedResponse>;
  bytes: number;
  used: boolean;
}

const sessionBytes = 1200;
const responseBytes = 1000;
/** The bytes of both encodings of a list, as a share of its own; they take about a fifth. */
const encodedShare = 0.5;

/**
 * Remembers principals by their Authorization header, in one spelling, and for each the responses
 * to its GETs by URL.
 *
 * - A response is served while the versions that it shows are those read before its data, in the
 *   same epoch: the account's, and the network's and usage's if they show; until `valid_until`;
 *   not in maintenance.
 * - It is served before the router, to a GET without a condition or with one plain tag in
 *   If-None-Match. Any other request, and any response that does not hold, is left to the router.
 * - A hit counts like any request: rate limit, metrics, log line, last use of the API token.
 * - Beyond `EXITWARD_CACHE_BYTES`, principals that were not used since the last round are
 *   forgotten.
 */
export class ResponseCache {
  readonly #ctx: Context;
  readonly #bodies: LargeBodies;
  readonly #limiter: RateLimiter | undefined;
  readonly #sessions = new Map<string, CachedSession>();
  #bytes = 0;

  constructor(ctx: Context, bodies: LargeBodies, limiter: RateLimiter | undefined) {
    this.#ctx = ctx;
    this.#bodies = bodies;
    this.#limiter = limiter;
  }

  /** The session stored for this Authorization header; its versions may be old. */
  session(authorization: string): Session | undefined {
    return this.#sessions.get(authorization);
  }

  remember(session: Session): void {
    const { authorization } = session;
    this.forget(authorization);
    const cached = { ...session, responses: new Map(), bytes: sessionBytes, used: true };
    this.#sessions.set(authorization, cached);
    this.#bytes += sessionBytes;
    this.#makeRoom();
  }

  forget(authorization: string): void {
    const old = this.#sessions.get(authorization);
    if (!old) return;
    this.#sessions.delete(authorization);
    this.#bytes -= old.bytes;
  }

  /** Caches the response to a GET. The session's versions were read before its data. */
  store(
    { authorization, versions }: Session,
    url: string,
    response: { body: string | Buffer; etag: string; route: string },
    { valid_until = never, network = false, usage = false }: Freshness,
  ): void {
    const session = this.#sessions.get(authorization);
    if (!session) return;
    // A large response is sent from the same bytes.
    const whole = typeof response.body === 'string' ? Buffer.from(response.body) : response.body;
    const body = whole.length > this.#ctx.config.cache_bytes / 8 ? undefined : whole;
    const isEncoded = whole.length >= leastCompressedBytes;
    const headers = [
      ...['etag', response.etag],
      ...['cache-control', 'private, no-cache'],
      ...['vary', isEncoded ? 'authorization, accept-encoding' : 'authorization'],
      ...['x-content-type-options', 'nosniff'],
      ...['x-request-id', ''],
    ];
    const room = body ? Math.ceil(body.length * (isEncoded ? 1 + encodedShare : 1)) : 0;
    const bytes = room + url.length * 2 + responseBytes;
    const added = bytes - (session.responses.get(url)?.bytes ?? 0);
    session.responses.set(url, {
      etag: response.etag,
      plain: { body, headers: withBody(headers, whole) },
      unchanged: { body: undefined, headers },
      encoded: new Map(),
      versions,
      network,
      usage,
      valid_until: Math.min(valid_until, session.principal.token_expiry ?? never),
      route: response.route,
      bytes,
    });
    session.bytes += added;
    this.#bytes += added;
    this.#makeRoom();
  }

  /** Second chance: a session that was used since the last round moves to the end once. */
  #makeRoom(): void {
    for (const [authorization, session] of this.#sessions) {
      if (this.#bytes <= this.#ctx.config.cache_bytes) return;
      if (session.used) {
        session.used = false;
        this.#sessions.delete(authorization);
        this.#sessions.set(authorization, session);
      } else {
        this.forget(authorization);
      }
    }
  }

  /** Serves the cached response to a request; calls `miss` if none holds. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    miss: () => void,
  ): Promise<void> | void {
    const { authorization } = request.headers;
    const session =
      request.method === 'GET' && authorization ? this.#sessions.get(authorization) : undefined;
    const cached = session?.responses.get(request.url as string);
    const held = request.headers['if-none-match'];
    const isUnchanged = held !== undefined && contentTag(held) === cached?.etag;
    if (
      !session ||
      !cached ||
      !hasPlainCondition(request, cached.etag) ||
      !(cached.plain.body || isUnchanged)
    ) {
      miss();
      return;
    }
    const started = this.#ctx.clock.steady();
    const send = (ready: Ready) =>
      this.#send(request, response, session, cached, ready, randomUUID(), started);
    const finish = (versions: Versions) => {
      if (!this.#holds(cached, versions) || !this.#isWithinLimit(session, response)) return miss();
      if (isUnchanged) {
        cached.unchanged.headers[1] = held;
        return send(cached.unchanged);
      }
      const ready = this.#inEncoding(request, session, cached);
      return ready instanceof Promise ? ready.then(send) : send(ready);
    };
    const versions = this.#ctx.versions.current(session.principal.account_id);
    if (versions instanceof Promise) return versions.then(finish, miss);
    return finish(versions);
  }

  /** The response as the client accepts it: compressed now, if this is the first request for it. */
  #inEncoding(
    { headers }: IncomingMessage,
    { principal }: Session,
    { plain, unchanged, etag, encoded }: CachedResponse,
  ): Ready | Promise<Ready> {
    const { body } = plain;
    if (!body || body.length < leastCompressedBytes) return plain;
    const encoding = preferredEncoding(headers);
    if (!encoding) return plain;
    const earlier = encoded.get(encoding);
    if (earlier) return earlier;
    return compressed(body, encoding, String(principal.account_id)).then((bytes) => {
      if (!bytes) return plain;
      const others = unchanged.headers.slice(2);
      const tag = ['etag', encodedTag(etag, encoding), 'content-encoding', encoding];
      const ready = { body: bytes, headers: withBody([...tag, ...others], bytes) };
      encoded.set(encoding, ready);
      return ready;
    });
  }

  #holds(cached: CachedResponse, versions: Versions): boolean {
    return (
      versions.epoch === cached.versions.epoch &&
      versions.account === cached.versions.account &&
      (!cached.network || versions.network === cached.versions.network) &&
      (!cached.usage || versions.usage === cached.versions.usage) &&
      !versions.maintenance &&
      this.#ctx.clock.now() < cached.valid_until
    );
  }

  /** Counts the request. Over the limit the router rejects it; a second count changes nothing. */
  #isWithinLimit({ principal }: Session, response: ServerResponse): boolean {
    const rate = this.#limiter?.take(principal);
    if (!rate) return true;
    if (rate.allowed) response.setHeaders(new Map(Object.entries(rate.headers)));
    return rate.allowed;
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    session: CachedSession,
    cached: CachedResponse,
    { body, headers }: Ready,
    request_id: string,
    started: number,
  ): void {
    const { clock, metrics, lastUsed, config } = this.#ctx;
    const { account_id, account_name, token_id, token_name } = session.principal;
    const status = body ? 200 : 304;
    headers[headers.length - 1] = request_id;
    session.used = true;
    lastUsed.api_tokens.note(account_id, token_id, clock.now());
    metrics.noteHit(cached.route, status);
    response.writeHead(status, headers);
    if (!body || body.length < largeBytes) response.end(body);
    else this.#bodies.read(body, response).pipe(response);
    if (config.log_requests !== 'all') return;
    const note = () =>
      logRequest(this.#ctx, {
        ...traced(request_id, request),
        method: 'GET',
        route: cached.route,
        status,
        seconds: clock.steady() - started,
        address: clientAddress(request, config.trusted_proxies),
        account: account_name,
        token_name,
      });
    response.once('close', note);
  }
}

/** The headers with those of a body; the request id stays last. */
const withBody = (headers: string[], { length }: Buffer) => [
  ...headers.slice(0, -2),
  ...['content-type', jsonType, 'content-length', String(length)],
  ...headers.slice(-2),
];

/** No condition, this tag, or one other: lists of tags, weak ones and `*` are for the router. */
function hasPlainCondition({ headers }: IncomingMessage, etag: string): boolean {
  const ifNoneMatch = headers['if-none-match'];
  return (
    headers['if-match'] === undefined &&
    (ifNoneMatch === undefined || ifNoneMatch === etag || /^"[^",]*"$/.test(ifNoneMatch))
  );
}
