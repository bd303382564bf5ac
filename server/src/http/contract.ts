// The /v0 half of a request before its handler: the checks of the spec in their order, and the 405s.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { refuseUnlessWritable } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';
import {
  badRequest,
  methodNotAllowed,
  notFound,
  Refusal,
  tooManyRequests,
  unavailable,
} from '../errors.ts';
import { authenticate, refuseReadOnly, type Variant } from './auth.ts';
import type { RateLimiter } from './rate_limit.ts';

/** What a /v0 route says of itself beside its schema. */
export interface V0Config {
  /** The variant whose path this is; both when absent. */
  variant?: Variant;
  /** This path's counterpart in the other variant, for the message of its 404. */
  counterpart?: string;
  /** Throws 404 (or 403) when the record that the path names is not there; runs before the body is read. */
  find?: (request: FastifyRequest) => Promise<unknown>;
  /** Set by `add405Routes`. */
  allow?: string;
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
    refuseNul(request, 'path');
    if (allow) {
      await refuseIfAbsent(request, find);
      throw methodNotAllowed(request.method, allow);
    }
    await find?.(request);
    if (!reads.has(request.method)) requireWriteAccess(ctx, request);
    refuseNul(request, 'query');
  });
}

/** Errors: 404 when the record is not there. That it is not the caller's to use (403) comes after the 405. */
export async function refuseIfAbsent(
  request: FastifyRequest,
  find: V0Config['find'],
): Promise<void> {
  try {
    await find?.(request);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 403) throw error;
  }
}

/**
 * True when a request is for the audience of `prefix`. The route that will answer decides: the router
 * decodes escapes, so that `/%760/contract` is `/v0/contract`. Without a route the path as sent does.
 */
export function isUnder(prefix: string, request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? plainPath(request.raw.url ?? '');
  return path.startsWith(prefix) && /^(?:[/?]|$)/.test(path.slice(prefix.length));
}

/** Errors: 404 for a NUL in the path, 400 for one in the query. No record holds one, and PostgreSQL would fail on it. */
export function refuseNul(request: FastifyRequest, where: 'path' | 'query'): void {
  const [path = '', query = ''] = (request.raw.url ?? '').split(/\?(.*)/s);
  if (where === 'path' && path.includes('%00')) throw notFound('There is nothing at this path.');
  if (where === 'query' && query.includes('%00')) {
    throw badRequest('query: holds a NUL; expected text without it.');
  }
}

/** The path as the router would read it, as far as it can be read: no origin, no escapes. */
function plainPath(url: string): string {
  return url
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/%[2-7][0-9a-f]/gi, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));
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
  refuseReadOnly(caller, caller.read_only);
  refuseUnlessWritable(
    { suspended: caller.suspended, expiry: caller.contract_expiry },
    ctx.clock.now(),
  );
}

/**
 * Answers 405 with `Allow` where a path exists and the method does not. Call before any route is
 * added; answers the function that adds the 405 routes, to be called after the last.
 */
export function collectMethods(app: FastifyInstance): () => void {
  const paths = new Map<string, { allowed: Set<string>; config: V0Config }>();
  let collecting = true;
  app.addHook('onRoute', (route: RouteOptions) => {
    if (!collecting) return;
    const path = paths.get(route.url) ?? { allowed: new Set(), config: {} };
    for (const method of [route.method].flat()) path.allowed.add(method);
    path.config = { ...path.config, ...route.config };
    paths.set(route.url, path);
  });
  return () => {
    collecting = false;
    for (const [url, { allowed, config }] of paths) {
      const allow = Array.from(allowed).sort().join(', ');
      const others = app.supportedMethods.filter((method) => !allowed.has(method));
      app.route({
        url,
        method: others,
        schema: { hide: true },
        config: { ...config, allow },
        handler: async (request) => {
          throw methodNotAllowed(request.method, allow);
        },
      });
    }
  };
}
