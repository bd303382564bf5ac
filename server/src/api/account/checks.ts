// The /v0 half of a request before its handler: the checks of the spec in their order, and the 405s.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectUnlessWritable } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { methodNotAllowed, notFound, tooManyRequests, unavailable } from '../../errors.ts';
import { isUnder, rejectIfAbsent, rejectNul } from '../../http/routing.ts';
import { authenticate, rejectReadOnly, type Variant } from './authentication.ts';
import type { RateLimiter } from './rate_limit.ts';

/** What a /v0 route says of itself beside its schema. */
export interface V0Config {
  /** The variant whose path this is; both when absent. */
  variant?: Variant;
  /** This path's counterpart in the other variant, for the message of its 404. */
  counterpart?: string;
}

declare module 'fastify' {
  interface FastifyContextConfig extends V0Config {}
}

const reads = new Set(['GET', 'HEAD']);

/** Adds the checks, in the order of the rulings: 503 maintenance, 401, 404, 405, 403, then the body's 400. */
export function addV0Checks(
  app: FastifyInstance,
  ctx: Context,
  limiter: RateLimiter | undefined,
): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isUnder('/v0', request)) return;
    const session = await authenticate(ctx, request.headers.authorization);
    request.session = session;
    if (session.stamp.maintenance) throw maintenance();
    const verdict = limiter?.take(session.caller);
    if (verdict) {
      reply.headers(verdict.headers);
      if (!verdict.allowed) {
        throw tooManyRequests(
          'Too many requests with this API token; wait until the limit resets.',
          {
            'retry-after': verdict.headers['ratelimit-reset'],
          },
        );
      }
    }
    ctx.noteTokenUse(session.caller);
    if (request.is404) return;
    const { variant, counterpart, allow, find } = request.routeOptions.config;
    if (variant && variant !== session.caller.variant) throw otherVariant(variant, counterpart);
    rejectNul(request, 'path');
    if (allow) {
      await rejectIfAbsent(request, find);
      throw methodNotAllowed(request.method, allow);
    }
    await find?.(request);
    if (!reads.has(request.method)) requireWriteAccess(ctx, request);
    rejectNul(request, 'query');
  });
}

/** 503 while the operator works on the service. */
export function maintenance() {
  return unavailable('The service is down for maintenance; try again later.', 60);
}

function otherVariant(variant: Variant, counterpart: string | undefined) {
  const half =
    variant === 'current' ? 'password, with an empty username' : 'username, with an empty password';
  return notFound(
    `This path belongs to the ${variant} interface, and your API token came in the other's half of the Basic pair. ${
      counterpart ? `Use ${counterpart}, or send` : 'Send'
    } the API token as the ${half}.`,
  );
}

function requireWriteAccess(ctx: Context, request: FastifyRequest): void {
  const { caller } = request.session;
  rejectReadOnly(caller, caller.read_only);
  rejectUnlessWritable(
    { suspended: caller.suspended, expiry: caller.contract_expiry },
    ctx.clock.now(),
  );
}
