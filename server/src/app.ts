// Assembles an app for each listener, with the audiences that it serves.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import https from 'node:https';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { createServer } from '../../kit/src/node_http.ts';
import { authlistRules } from './api/account/authlist.ts';
import { rejectBrokenPath } from './api/account/checks.ts';
import { type AccountContext, accountContext } from './api/account/context.ts';
import { accountRoutes } from './api/account/routes.ts';
import { accountRoutesOfOperators, consoleRoutes } from './api/manage/routes.ts';
import { consoleFactsRoute } from './api/manage/session.ts';
import { nodeRoutes } from './api/node/routes.ts';
import { operatorRoutes } from './api/operator/routes.ts';
import type { Context } from './context.ts';
import { type ApiError, badRequest, forbidden, methodNotAllowed, notFound } from './errors.ts';
import { Connections } from './http/connections.ts';
import { docsRoutes } from './http/docs.ts';
import { clientErrorHandler, errorHandler, repeatedHeader } from './http/errors.ts';
import { healthRoutes } from './http/health.ts';
import { parseJson } from './http/json.ts';
import { addAddressHook } from './http/own_address.ts';
import { pageMeant, pageRoutes } from './http/pages.ts';
import { logRequest } from './http/request_log.ts';
import {
  collectMethods,
  foldMethod,
  isUnder,
  methodOf,
  namedMethod,
  rejectUndocumentedQueries,
} from './http/routing.ts';
import { addSending } from './http/sending.ts';
import { traced, traceIdOf } from './http/trace.ts';
import { validatorCompiler } from './http/validation.ts';
import type { TlsOptions } from './tls/certificate.ts';

/** The audiences that an app serves. */
export interface Parts {
  customers: boolean;
  operators: boolean;
  nodes: boolean;
}

export interface AppOptions {
  /** Certificate and key; without them plain HTTP. */
  tls?: TlsOptions | undefined;
  /** Shared by all listeners; without them this app counts its own. */
  connections?: Connections;
  /** Runs before the routes are added, to make the OpenAPI document. */
  prepare?: (app: FastifyInstance) => Promise<void>;
}

/** Answers before it returns, or resolves when it has answered. */
type AsyncListener = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

const bodyLimit = 64 * 1024;

/** An app that is ready to listen. Close it after use. */
export async function createApp(
  ctx: Context,
  parts: Parts,
  options: AppOptions = {},
): Promise<FastifyInstance> {
  const account = accountContext(ctx);

  const connections = options.connections ?? Connections.within(ctx.config, ctx.log);
  const app = Fastify({
    serverFactory: (route) => {
      const toRouter: RequestListener = (request, response) => {
        foldMethod(request);
        (route as RequestListener)(request, response);
      };
      const handle = parts.customers ? cachedFirst(account, toRouter) : toRouter;
      const { request_seconds } = ctx.config;
      const server = listener(inTurn(connections, ownedBy(ctx, handle)), request_seconds, options);
      connections.guard(server, parts.operators);
      return server;
    },
    // At random: a count would say how many requests all others make.
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    logger: false,
    bodyLimit,
    routerOptions: { maxParamLength: 512, caseSensitive: true },
    exposeHeadRoutes: true,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      // A path that cannot be parsed comes here without passing any hook.
      reply.headers(safetyHeaders(request as FastifyRequest));
      void rejectBrokenPath(account, request as FastifyRequest)
        .then(
          () => errorHandler(ctx)(error, request as FastifyRequest, reply as never),
          (earlier) => errorHandler(ctx)(earlier, request as FastifyRequest, reply as never),
        )
        .catch(failed(ctx, reply.raw));
    },
    clientErrorHandler: clientErrorHandler(ctx, connections),
    // While the server stops, a request on a connection that still has one in flight is answered as
    // usual.
    return503OnClosing: false,
  });
  app.decorateRequest('session', null as never);
  app.decorateRequest('unreadable_ip', undefined);
  app.setErrorHandler(errorHandler(ctx));
  app.setNotFoundHandler(async (request) => {
    throw nothingThere(request, parts);
  });
  app.setValidatorCompiler(validatorCompiler());
  app.setSerializerCompiler(() => JSON.stringify);
  addBodyParser(app);
  addSafetyHooks(app, ctx);
  addSending(app, account.bodies);
  rejectUndocumentedQueries(app);
  await options.prepare?.(app);

  const add405Routes = collectMethods(app);
  healthRoutes(app, ctx);
  if (parts.customers || parts.operators) pageRoutes(app, ctx);
  if (parts.customers || parts.operators) docsRoutes(app, parts.customers ? 'account' : 'operator');
  if (parts.customers) {
    const rules = authlistRules(ctx);
    accountRoutes(app, account, rules);
    consoleRoutes(app, ctx, rules);
  }
  if (parts.operators) {
    operatorRoutes(app, ctx);
    accountRoutesOfOperators(app, ctx);
  }
  if (parts.customers || parts.operators) {
    consoleFactsRoute(app, { account: parts.customers, operator: parts.operators });
  }
  if (parts.nodes) nodeRoutes(app, ctx);
  addLastChecks(app, connections, parts);
  add405Routes();
  return app;
}

/** Ends the connection of a request that failed outside the router, and no other. */
function failed({ log }: Context, response: ServerResponse) {
  return (error: unknown): void => {
    const trace_id = traceIdOf(response.req);
    log.error({ err: error, trace_id }, 'a request failed in an unforeseen way');
    response.destroy();
  };
}

/** A listener whose exceptions and rejections end the connection of their request. */
function ownedBy(ctx: Context, handle: AsyncListener): RequestListener {
  return (request, response) => {
    try {
      handle(request, response)?.catch(failed(ctx, response));
    } catch (error) {
      failed(ctx, response)(error);
    }
  };
}

/** Cached responses of /v0 are served before the router. */
function cachedFirst({ cache }: AccountContext, route: RequestListener): AsyncListener {
  return (request, response) => {
    if (!repeatedHeader(request)) {
      return cache.serve(request, response, () => route(request, response));
    }
    route(request, response);
  };
}

/** The requests of one connection are worked on one after another. */
function inTurn(connections: Connections, handle: RequestListener): RequestListener {
  return (request, response) => {
    const start = () => handle(request, response);
    connections.of(request.socket)?.take(request, response, start);
  };
}

/** The HTTP(S) server of an app. */
function listener(handle: RequestListener, request_seconds: number, { tls }: AppOptions): Server {
  const limits = {
    requestTimeout: request_seconds * 1000,
    headersTimeout: request_seconds * 800,
    connectionsCheckingInterval: request_seconds * 200,
    maxHeaderSize: 16 * 1024,
    // The app itself rejects a missing Host header, in JSON.
    requireHostHeader: false,
  };
  const server = tls
    ? (https.createServer(
        { ...limits, handshakeTimeout: limits.headersTimeout, ...tls },
        handle,
      ) as unknown as Server)
    : createServer(limits, handle);
  server.keepAliveTimeout = 72_000;
  // An unknown expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', handle);
  return server;
}

/** Only JSON bodies are accepted. A DELETE may have a content type and no body. */
function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      const empty = body.length === 0 && request.method === 'DELETE';
      done(null, empty ? undefined : parseJson(body as Buffer));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

/** The headers that every response carries. */
function safetyHeaders(request: FastifyRequest): Record<string, string> {
  return {
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
    vary: 'authorization',
  };
}

/**
 * For every audience: the headers, the check for repeated Host and Authorization headers, metrics
 * and the log.
 */
function addSafetyHooks(app: FastifyInstance, ctx: Context): void {
  addAddressHook(app, ctx.config.trusted_proxies);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(safetyHeaders(request));
    const repeated = repeatedHeader(request.raw);
    if (repeated) {
      reply.header('connection', 'close');
      throw badRequest(`${repeated}: expected exactly one ${repeated} header.`);
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const status = reply.statusCode;
    ctx.metrics.requests.inc({ route, method: request.method, status });
    ctx.metrics.latency.observe({ route }, reply.elapsedTime / 1000);
    const quiet = status < 400 && (request.method === 'GET' || request.method === 'HEAD');
    if (quiet && ctx.config.log_requests === 'changes') return;
    logRequest(ctx, {
      ...traced(request.id, request.raw),
      method: methodOf(request),
      route,
      status,
      seconds: reply.elapsedTime / 1000,
      address: request.ip,
      ...loggedPrincipal(request),
    });
  });
}

/** The principal of a request, as its log line names it. */
function loggedPrincipal({ session, person }: FastifyRequest) {
  if (session) {
    const { account_name, token_name } = session.principal;
    return { account: account_name, token_name };
  }
  return person ? { account: person.account_name, user: person.user_name } : {};
}

/** The last checks before the body is read, for every audience: 404, 405, 403. */
function addLastChecks(app: FastifyInstance, connections: Connections, parts: Parts): void {
  const hasPages = parts.customers || parts.operators;
  app.addHook('onRequest', async (request, reply) => {
    if (request.node) connections.keepForNode(request.raw.socket);
    if (request.is404) {
      const page = hasPages ? pageMeant(request) : undefined;
      if (page !== undefined) return reply.redirect(page);
      throw nothingThere(request, parts);
    }
    const { allow } = request.routeOptions.config;
    if (allow) throw methodNotAllowed(namedMethod(request), allow);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (request.headers['sec-fetch-site'] === 'cross-site' && !isRead) {
      // Browsers send remembered Basic credentials along; another site must not profit from them.
      throw forbidden('A web page of another site may not make changes here.');
    }
  });
}

function nothingThere(request: FastifyRequest, parts: Parts): ApiError {
  const path = request.url.split('?')[0];
  const elsewhere = listeners.find(({ part, prefix }) => !parts[part] && isUnder(prefix, request));
  const where = elsewhere ? ` here: it is served on the listener for ${elsewhere.part}` : '';
  return notFound(`There is nothing at ${namedMethod(request)} ${path}${where}.`);
}

/** The audiences that may have listeners of their own. */
const listeners = [
  { part: 'operators', prefix: '/admin' },
  { part: 'nodes', prefix: '/node' },
  { part: 'customers', prefix: '/v0' },
] as const;
