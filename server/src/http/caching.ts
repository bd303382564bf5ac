// Answers kept as ready bytes, by caller and URL, and served ahead of the router while their stamps stand.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Session } from '../api/account/authentication.ts';
import type { Clock } from '../clock.ts';
import type { Stamp, Stamps } from '../versions.ts';

/** A 200 answer to a GET. It holds while the account's stamp stands, and until `valid_until`. */
interface Page {
  body: Buffer;
  etag: string;
  headers: string[];
  headersUnchanged: string[];
  account: number;
  /** Undefined: nothing of the network shows in this answer. */
  network: number | undefined;
  valid_until: number;
  /** As the router names it. */
  route: string;
}

interface Remembered extends Session {
  pages: Map<string, Page>;
  bytes: number;
  used: boolean;
}

const sessionBytes = 1200;
const pageBytes = 1000;
const never = Number.MAX_SAFE_INTEGER;

export const jsonType = 'application/json; charset=UTF-8';

/** What each served hit is told to: log, metrics, rate limit. Answers false to refuse and let the router answer. */
export type HitWatcher = (session: Session, route: string, status: 200 | 304) => boolean;

export class AnswerCache {
  readonly #stamps: Stamps;
  readonly #clock: Clock;
  readonly #mostBytes: number;
  readonly #sessions = new Map<string, Remembered>();
  #bytes = 0;
  /** How many answers were served ahead of the router. */
  hits = 0;

  constructor(stamps: Stamps, clock: Clock, mostBytes: number) {
    this.#stamps = stamps;
    this.#clock = clock;
    this.#mostBytes = mostBytes;
  }

  /** What is remembered of the caller with this Authorization header; may be stale. */
  session(authorization: string): Session | undefined {
    return this.#sessions.get(authorization);
  }

  remember(authorization: string, session: Session): void {
    this.forget(authorization);
    this.#sessions.set(authorization, {
      ...session,
      pages: new Map(),
      bytes: sessionBytes,
      used: true,
    });
    this.#bytes += sessionBytes;
    this.#makeRoom();
  }

  forget(authorization: string): void {
    const old = this.#sessions.get(authorization);
    if (!old) return;
    this.#sessions.delete(authorization);
    this.#bytes -= old.bytes;
  }

  /** Keeps the answer to a GET. `stamp` was read before the answer's data. */
  keep(
    authorization: string,
    url: string,
    answer: {
      body: string;
      etag: string;
      valid_until?: number | undefined;
      network: boolean;
      route: string;
    },
    stamp: Stamp,
  ): void {
    const session = this.#sessions.get(authorization);
    if (!session || answer.body.length > this.#mostBytes / 8) return;
    const body = Buffer.from(answer.body);
    const common = [
      'etag',
      answer.etag,
      'cache-control',
      'private, no-cache',
      'vary',
      'authorization',
      'x-content-type-options',
      'nosniff',
      'x-request-id',
      '',
    ];
    const page: Page = {
      body,
      etag: answer.etag,
      headers: ['content-type', jsonType, 'content-length', String(body.length), ...common],
      headersUnchanged: common,
      account: stamp.account,
      network: answer.network ? stamp.network : undefined,
      valid_until: Math.min(answer.valid_until ?? never, session.caller.token_expiry ?? never),
      route: answer.route,
    };
    const bytes = body.length + url.length * 2 + pageBytes;
    const old = session.pages.get(url);
    const oldBytes = old ? old.body.length + url.length * 2 + pageBytes : 0;
    session.pages.set(url, page);
    session.bytes += bytes - oldBytes;
    this.#bytes += bytes - oldBytes;
    this.#makeRoom();
  }

  /** Second chance: a session that was used since the last round goes to the back once. */
  #makeRoom(): void {
    for (const [authorization, session] of this.#sessions) {
      if (this.#bytes <= this.#mostBytes) return;
      if (session.used) {
        session.used = false;
        this.#sessions.delete(authorization);
        this.#sessions.set(authorization, session);
      } else {
        this.forget(authorization);
      }
    }
  }

  /**
   * Answers a GET ahead of the router where a kept answer still holds; else calls `miss`.
   * Everything that is not a plain hit falls through.
   */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: () => string,
    watch: HitWatcher,
    miss: () => void,
  ): void {
    const { authorization } = request.headers;
    const session =
      request.method === 'GET' && authorization ? this.#sessions.get(authorization) : undefined;
    const page = session?.pages.get(request.url as string);
    if (!session || !page || request.headers['if-match'] !== undefined) {
      miss();
      return;
    }
    const ifNoneMatch = request.headers['if-none-match'];
    // A list of tags, a weak one or `*`: the slow way knows them all.
    const unchanged = ifNoneMatch === page.etag;
    if (ifNoneMatch !== undefined && !unchanged && !/^"[^",]*"$/.test(ifNoneMatch)) {
      miss();
      return;
    }

    const finish = (stamp: Stamp) => {
      if (
        stamp.account !== page.account ||
        (page.network !== undefined && stamp.network !== page.network) ||
        stamp.maintenance ||
        this.#clock.now() >= page.valid_until
      ) {
        miss();
        return;
      }
      const status = unchanged ? 304 : 200;
      if (!watch(session, page.route, status)) {
        miss();
        return;
      }
      session.used = true;
      this.hits += 1;
      const headers = unchanged ? page.headersUnchanged : page.headers;
      headers[headers.length - 1] = requestId();
      response.writeHead(status, headers);
      if (unchanged) response.end();
      else response.end(page.body);
    };
    const stamp = this.#stamps.current(session.caller.account_id);
    if (stamp instanceof Promise) stamp.then(finish, miss);
    else finish(stamp);
  }
}
