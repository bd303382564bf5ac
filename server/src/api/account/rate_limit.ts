// The operator's optional limit on requests per API token and minute, sent in RateLimit headers.
import type { Clock } from '../../clock.ts';
import type { Principal } from './session.ts';

export interface RateDecision {
  allowed: boolean;
  /** Those of the draft (draft-ietf-httpapi-ratelimit-headers), and the three older ones. */
  headers: {
    'ratelimit-policy': string;
    ratelimit: string;
    'ratelimit-limit': string;
    'ratelimit-remaining': string;
    'ratelimit-reset': string;
  };
}

const windowSeconds = 60;
const maxKeys = 100_000;

/** Counts requests per API token in fixed windows of a minute; each process has its own count. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #maxRequests: number;
  #windowStart = 0;
  #counts = new Map<string, number>();

  constructor(clock: Clock, maxRequests: number) {
    this.#clock = clock;
    this.#maxRequests = maxRequests;
  }

  take({ account_id, token_id }: Principal): RateDecision {
    const now = this.#clock.now();
    const start = now - (now % windowSeconds);
    if (start !== this.#windowStart || this.#counts.size > maxKeys) {
      this.#windowStart = start;
      this.#counts = new Map();
    }
    const key = `${account_id} ${token_id}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const remaining = Math.max(0, this.#maxRequests - count);
    const resetSeconds = start + windowSeconds - now;
    return {
      allowed: count <= this.#maxRequests,
      headers: {
        'ratelimit-policy': `"token";q=${this.#maxRequests};w=${windowSeconds}`,
        ratelimit: `"token";r=${remaining};t=${resetSeconds}`,
        'ratelimit-limit': String(this.#maxRequests),
        'ratelimit-remaining': String(remaining),
        'ratelimit-reset': String(resetSeconds),
      },
    };
  }
}
