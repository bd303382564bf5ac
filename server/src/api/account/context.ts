// The context of a /v0 request, with response cache, lists, large responses and rate limit.
import type { Context } from '../../context.ts';
import { LargeBodies } from '../../http/large_bodies.ts';
import { Lists } from '../lists.ts';
import { RateLimiter } from './rate_limit.ts';
import { ResponseCache } from './response_cache.ts';

export interface AccountContext extends Context {
  cache: ResponseCache;
  bodies: LargeBodies;
  lists: Lists;
  /** Undefined if the operator sets no limit. */
  limiter: RateLimiter | undefined;
}

export function accountContext(ctx: Context): AccountContext {
  const { rate_limit_per_minute, unread_bytes } = ctx.config;
  const bodies = new LargeBodies(unread_bytes);
  const limiter =
    rate_limit_per_minute > 0 ? new RateLimiter(ctx.clock, rate_limit_per_minute) : undefined;
  const cache = new ResponseCache(ctx, bodies, limiter);
  return { ...ctx, limiter, bodies, cache, lists: new Lists(ctx, true) };
}
