// The operator's optional limit on requests per API token and minute, sent in RateLimit headers.
import type { Clock } from '../../clock.ts';
import type { Principal } from './session.ts';

export interface RateDecision {
  allowed: boolean;
  /** Those of the current draft (draft-ietf-httpapi-ratelimit-headers), and the three of the earlier ones. */
  headers: {
    'ratelimit-policy': string;
    ratelimit: string;
    'ratelimit-limit': string;
    'ratelimit-remaining': string;
    'ratelimit-reset': string;
  };
}

const window_seconds = 60;
const mostKept = 100_000;

/** Counts requests by API token in fixed windows of a minute; each process counts its own. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #most: number;
  #windowStart = 0;
  #counts = new Map<string, number>();

  constructor(clock: Clock, most_per_minute: number) {
    this.#clock = clock;
    this.#most = most_per_minute;
  }

  take({ account_id, token_id }: Principal): RateDecision {
    const now = this.#clock.now();
    const start = now - (now % window_seconds);
    if (start !== this.#windowStart || this.#counts.size > mostKept) {
      this.#windowStart = start;
      this.#counts = new Map();
    }
    const key = `${account_id} ${token_id}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const left = Math.max(0, this.#most - count);
    const reset_seconds = start + window_seconds - now;
    return {
      allowed: count <= this.#most,
      headers: {
        'ratelimit-policy': `"token";q=${this.#most};w=${window_seconds}`,
        ratelimit: `"token";r=${left};t=${reset_seconds}`,
        'ratelimit-limit': String(this.#most),
        'ratelimit-remaining': String(left),
        'ratelimit-reset': String(reset_seconds),
      },
    };
  }
}
