// The checks of a /v0 request before its handler, in their order, and the 405s.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { rejectUnlessWritable } from '../../accounts/accounts.ts';
import { methodNotAllowed, notFound, tooManyRequests, unavailable } from '../../errors.ts';
import { isUnder, namedMethod, rejectIfAbsent, rejectNul } from '../../http/routing.ts';
import { authenticate, rejectReadOnly } from './authentication.ts';
import type { AccountContext } from './context.ts';
import type { Variant } from './session.ts';

/** The facts of a /v0 route in addition to its schema. */
export interface V0Config {
  /** The variant that has this path; both when absent. */
  variant?: Variant;
  /** This path's counterpart in the other variant, for the message of its 404. */
  counterpart?: string;
}

declare module 'fastify' {
  interface FastifyContextConfig extends V0Config {}
}

/** A path that cannot be read needs a token first, like every path under /v0. Errors: 401. */
export async function rejectBrokenPath(
  ctx: AccountContext,
  request: FastifyRequest,
): Promise<void> {
  if (isUnder('/v0', request)) await authenticate(ctx, request.headers.authorization);
}

const reads = new Set(['GET', 'HEAD']);

/**
 * Adds the checks, in their order: 401, 503 in maintenance, 429, 404 of the other variant's path,
 * 404 of a record, 405, 403, then the body's 400.
 */
export function addV0Checks(app: FastifyInstance, ctx: AccountContext): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isUnder('/v0', request)) return;
    const session = await authenticate(ctx, request.headers.authorization);
    request.session = session;
    if (session.versions.maintenance) throw maintenance();
    const rate = ctx.limiter?.take(session.principal);
    if (rate) {
      reply.headers(rate.headers);
      if (!rate.allowed) {
        throw tooManyRequests(
          'Too many requests with this API token; wait until the limit resets.',
          { 'retry-after': rate.headers['ratelimit-reset'] },
          { code: 'rate_limited' },
        );
      }
    }
    const { account_id, token_id } = session.principal;
    ctx.lastUsed.api_tokens.note(account_id, token_id, ctx.clock.now());
    if (request.is404) return;
    const { variant, counterpart, allow, find } = request.routeOptions.config;
    if (variant && variant !== session.principal.variant) throw otherVariant(variant, counterpart);
    rejectNul(request, 'path');
    if (allow) {
      await rejectIfAbsent(request, find);
      throw methodNotAllowed(namedMethod(request), allow);
    }
    await find?.(request);
    if (!reads.has(request.method)) requireWriteAccess(ctx, request);
    rejectNul(request, 'query');
  });
}

/** 503 while the operator works on the service. */
export function maintenance() {
  return unavailable('The service is down for maintenance; try again later.', 60, {
    code: 'maintenance',
  });
}

function otherVariant(variant: Variant, counterpart: string | undefined) {
  const half =
    variant === 'current' ? 'password, with an empty username' : 'username, with an empty password';
  return notFound(
    `This path belongs to the ${variant} interface, and your API token came in the other's half of the Basic pair. ${
      counterpart ? `Use ${counterpart}, or send` : 'Send'
    } the API token as the ${half}.`,
    { code: 'other_variant' },
  );
}

function requireWriteAccess(ctx: AccountContext, request: FastifyRequest): void {
  const { principal } = request.session;
  rejectReadOnly(principal, principal.read_only);
  rejectUnlessWritable(
    { suspended: principal.suspended, expiry: principal.contract_expiry },
    ctx.clock.now(),
  );
}
