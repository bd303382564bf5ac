// Routes of every audience: whose path it is, the checks of every path, and the 405s.
import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { ApiError, badRequest, notFound } from '../errors.ts';
import { EmptyQuery } from './fields.ts';

/** The facts of a route in addition to its schema; each audience adds its own. */
interface RouteConfig {
  /** Throws 404 (or 403) if the path's record doesn't exist; runs before the body is read. */
  find?: (request: FastifyRequest) => Promise<unknown>;
  /** The methods of the path, on the route for those that it lacks. Set by `add405Routes`. */
  allow?: string;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteConfig {}
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The method as sent, if `foldMethod` replaced it. */
    sent_method?: string;
  }
}

/** The method as sent. */
export function methodOf({ raw }: FastifyRequest): string {
  return raw.sent_method ?? raw.method ?? '';
}

/** The method as errors name it: the response to HEAD has the length of the one to GET. */
export function namedMethod(request: FastifyRequest): string {
  return request.method === 'HEAD' ? 'GET' : methodOf(request);
}

/** Errors: 404 when the record is missing. The 403 of a principal comes after the 405. */
export async function rejectIfAbsent(
  request: FastifyRequest,
  find: RouteConfig['find'],
): Promise<void> {
  try {
    await find?.(request);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
  }
}

/**
 * Whether a request is for the audience of `prefix`. The route that handles it decides: the router
 * decodes escapes, so `/%760/contract` is `/v0/contract`. Without a route, the path as sent does.
 */
export function isUnder(prefix: string, request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? plainPath(request.raw.url ?? '');
  return path.startsWith(prefix) && /^(?:[/?]|$)/.test(path.slice(prefix.length));
}

/** Errors: 404 for a NUL in the path, 400 in the query: no record has one, and PostgreSQL fails. */
export function rejectNul(request: FastifyRequest, where: 'path' | 'query'): void {
  const [path = '', query = ''] = (request.raw.url ?? '').split(/\?(.*)/s);
  if (where === 'path' && path.includes('%00')) throw notFound('There is nothing at this path.');
  if (where === 'query' && query.includes('%00')) {
    throw badRequest('query: holds a NUL; expected text without it.');
  }
}

/** The path as the router would read it, as far as possible: no origin, no escapes. */
function plainPath(url: string): string {
  return url
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/%[2-7][0-9a-f]/gi, (code) => String.fromCharCode(Number(`0x${code.slice(1)}`)));
}

const routed = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Turns a method without any route into TRACE, which no path serves: Node knows 34 methods. */
export function foldMethod(request: IncomingMessage): void {
  if (!request.method || routed.includes(request.method)) return;
  request.sent_method = request.method;
  request.method = 'TRACE';
}

/**
 * Adds a route to each path for the methods that it lacks, with `allow` in its config; each
 * audience's checks send the 405 in their order. Call before any route is added, and the result
 * after the last.
 */
export function collectMethods(app: FastifyInstance): () => void {
  const paths = new Map<string, { allowed: Set<string>; config: FastifyContextConfig }>();
  app.addHook('onRoute', ({ url, method, config }: RouteOptions) => {
    if (config?.allow) return;
    const path = paths.get(url);
    const allowed = new Set([...(path?.allowed ?? []), method].flat());
    paths.set(url, { allowed, config: { ...path?.config, ...config } as FastifyContextConfig });
  });
  return function add405Routes() {
    for (const [url, { allowed, config }] of paths) {
      const allow = [...allowed].sort().join(', ');
      const method = routed.filter((verb) => !allowed.has(verb));
      app.route({ url, method, config: { ...config, allow }, handler: () => {} });
    }
  };
}

/** A route that documents no query parameters accepts none. Call before any route is added. */
export function rejectUndocumentedQueries(app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.schema?.words) route.schema.querystring ??= EmptyQuery;
  });
}
