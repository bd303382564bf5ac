// The context of a request under /v0: that of every request, the response cache, whole lists and the rate limit.
import type { Context } from '../../context.ts';
import { Lists } from '../lists.ts';
import { RateLimiter } from './rate_limit.ts';
import { ResponseCache } from './response_cache.ts';

export interface AccountContext extends Context {
  cache: ResponseCache;
  lists: Lists;
  /** Undefined where the operator sets no limit. */
  limiter: RateLimiter | undefined;
}

export function accountContext(ctx: Context): AccountContext {
  const { rate_limit_per_minute } = ctx.config;
  const limiter =
    rate_limit_per_minute > 0 ? new RateLimiter(ctx.clock, rate_limit_per_minute) : undefined;
  return { ...ctx, limiter, cache: new ResponseCache(ctx, limiter), lists: new Lists(ctx) };
}
