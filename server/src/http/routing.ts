// Routes of every audience: to which audience a path belongs, what is checked of every path, and the 405s.
import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import findMyWay from 'find-my-way';
import { ApiError, badRequest, notFound } from '../errors.ts';
import { EmptyQuery } from './fields.ts';

/** The facts that a route states beside its schema; each audience adds its own. */
interface RouteConfig {
  /** Throws 404 (or 403) when the record that the path names is not there; runs before the body is read. */
  find?: (request: FastifyRequest) => Promise<unknown>;
  /** The methods of the path, at the route that is sent 405. Set by `Methods`. */
  allow?: string;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteConfig {}
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The method as sent, when the router takes it for TRACE. */
    sent_method?: string;
  }
}

/** The method as sent. */
export function methodOf({ raw }: FastifyRequest): string {
  return raw.sent_method ?? raw.method ?? '';
}

const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

/** The method as sent, of a bounded set: TRACE for one that no route could have. */
export function knownMethodOf(request: FastifyRequest): string {
  const method = methodOf(request);
  return known.has(method) ? method : 'TRACE';
}

/** Errors: 404 when the record is not there. That the principal may not use it (403) comes after the 405. */
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
 * True when a request is for the audience of `prefix`. The route that will handle it decides: the router
 * decodes escapes, so that `/%760/contract` is `/v0/contract`. Without a route the path as sent does.
 */
export function isUnder(prefix: string, request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? plainPath(request.raw.url ?? '');
  return path.startsWith(prefix) && /^(?:[/?]|$)/.test(path.slice(prefix.length));
}

/** Errors: 404 for a NUL in the path, 400 for one in the query. No record holds one, and PostgreSQL would fail on it. */
export function rejectNul(request: FastifyRequest, where: 'path' | 'query'): void {
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

/** As the router of the app is made, and the one that knows which methods a path has. */
export const routerOptions = { maxParamLength: 512, caseSensitive: true };

/**
 * The methods of each path, and the 405s. A route for each other method at each path would be four of five routes, and half
 * of the time that a server takes to start: one for TRACE stands for them all, with `allow` in its config, and the router
 * takes a method that the path does not have for TRACE. The checks of each audience send the 405, each in its order.
 */
export class Methods {
  readonly #paths = new Map<string, { allowed: Set<string>; config: FastifyContextConfig }>();
  readonly #router = findMyWay(routerOptions);

  /** Reads the routes of the app. Call before any is added. */
  collect(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, method, config }: RouteOptions) => {
      const path = this.#paths.get(url) ?? {
        allowed: new Set(),
        config: {} as FastifyContextConfig,
      };
      for (const one of [method].flat()) path.allowed.add(one);
      path.config = { ...path.config, ...config };
      this.#paths.set(url, path);
    });
  }

  /** Adds the routes that are sent 405. Call after the last route was added. */
  addRoutes(app: FastifyInstance): void {
    for (const [url, { allowed, config }] of [...this.#paths]) {
      const allow = Array.from(allowed).sort().join(', ');
      this.#router.trace(url, () => {}, new Set(allowed));
      const schema = { hide: true };
      app.route({ url, method: 'TRACE', schema, config: { ...config, allow }, handler: () => {} });
    }
  }

  /** Lets the router take a method that the path does not have, or no route has, for TRACE. */
  fold(request: IncomingMessage): void {
    const { method = '', url = '' } = request;
    const allowed = this.#router.find('TRACE', url)?.store as Set<string> | undefined;
    if (allowed ? allowed.has(method) : known.has(method)) return;
    request.sent_method = method;
    request.method = 'TRACE';
  }
}

/** A route that documents no query parameters accepts none. Call before any route is added. */
export function rejectUndocumentedQueries(app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.schema && !route.schema.hide) route.schema.querystring ??= EmptyQuery;
  });
}
