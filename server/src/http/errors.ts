// Error responses: a message for people, a code for programs, the status, never secrets or stacks.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import type { Connections } from './connections.ts';
import { schemaError } from './fields.ts';
import { jsonType } from './responses.ts';
import { isUnder } from './routing.ts';
import { traced } from './trace.ts';

/** The errors of Fastify itself, in our words. */
const frameworkErrors: Record<string, [number, ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [400, 'bad_request', 'Content-Type: expected application/json.'],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    400,
    'body_too_large',
    'The body is too large: 64 KiB is the most, 8 MiB for inventories, manifests and usage batches.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    400,
    'bad_request',
    'Content-Length: does not match the body.',
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'bad_request', 'The body is empty; expected a JSON object.'],
  FST_ERR_BAD_URL: [400, 'bad_request', 'The path is not valid: a percent escape is broken.'],
  FST_ERR_MAX_PARAM_LENGTH: [
    404,
    'not_found',
    'There is nothing at this path: a name in it is too long.',
  ],
};

/** Whether the client disconnected before its body was complete: there is no client to answer. */
function isCutOff({ raw }: FastifyRequest): boolean {
  return !raw.complete && raw.destroyed;
}

/** Any error as an ApiError: 500 with a fixed sentence for an unforeseen one. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { validation, validationContext, code } = error as FastifyError;
  if (validation && validation.length > 0) {
    const where = validationContext === 'querystring' ? 'query' : (validationContext ?? 'body');
    return schemaError(validation as never, where);
  }
  const frameworkError = code && frameworkErrors[code];
  if (frameworkError) return new ApiError(...frameworkError);
  return new ApiError(
    500,
    'internal_error',
    'Something went wrong on our side; it has been logged. Try again, or tell your provider the x-request-id of this response.',
  );
}

/**
 * For a route with `attachValidation`, whose handler looks up the record first: reports the faults
 * that the schema checks found. Errors: 400.
 */
export function requireValid(request: FastifyRequest): void {
  if (request.validationError) throw request.validationError;
}

export function errorHandler(ctx: Context) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    if (isCutOff(request)) {
      const { id, raw, method, routeOptions } = request;
      const line = { ...traced(id, raw), method, route: routeOptions.url ?? 'none', status: 400 };
      ctx.log.debug(line, 'the request ended before its body was whole');
      reply.code(400).send();
      return;
    }
    const apiError = toApiError(error);
    const { status, code, field, faults, message, headers, cause } = apiError;
    const names = traced(request.id, request.raw);
    if (status === 500) ctx.log.error({ ...names, err: error }, 'request failed');
    else if (cause) {
      ctx.log.error({ ...names, err: cause }, 'the database did not answer');
    }
    reply.code(status).headers(headers).type(jsonType);
    // The interface gives errors of /v0 a single member.
    if (isUnder('/v0', request)) {
      reply.header('exitward-error', code).send(JSON.stringify({ message }));
    } else {
      reply.send(JSON.stringify({ message, code, field, faults }));
    }
  };
}

/** The errors of node:http itself, by error code; everything else is no HTTP. */
const clientErrors: Record<string, [number, ErrorCode, string, string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'request_timeout',
    'Request Timeout',
    'The request took too long to arrive.',
  ],
  HPE_HEADER_OVERFLOW: [
    431,
    'headers_too_large',
    'Request Header Fields Too Large',
    'The request headers are too large.',
  ],
};
const noHttp: [number, ErrorCode, string, string] = [
  400,
  'bad_request',
  'Bad Request',
  'This is not a valid HTTP request.',
];

/**
 * Answers bytes that never become a request: one plain response after those to earlier requests,
 * then the connection is closed. The audience is not known, so it has the form of /v0.
 */
export function clientErrorHandler(ctx: Context, connections: Connections) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    const connection = connections.of(socket);
    // TLS that never began, or a client that has disconnected: there is no way to answer.
    if (!connection || error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    if (connection.isRefused) return;
    const [status, code, reason, message] = clientErrors[error.code ?? ''] ?? noHttp;
    const request_id = randomUUID();
    const body = JSON.stringify({ message });
    const head = [
      `HTTP/1.1 ${status} ${reason}`,
      `Content-Type: ${jsonType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${request_id}`,
      `Exitward-Error: ${code}`,
      'Connection: close',
    ];
    connection.refuse(`${head.join('\r\n')}\r\n\r\n${body}`);
    ctx.metrics.requests.inc({ route: 'none', method: 'none', status });
    // A client that disconnects in the middle of a request is no fault.
    const level = error.code === 'HPE_INVALID_EOF_STATE' ? 'debug' : 'info';
    ctx.log[level]({ request_id, status, code: error.code }, 'request');
  };
}

/**
 * The header of which a proxy in front may have read another one than this server: several of Host
 * or Authorization, or no Host.
 */
export function repeatedHeader({ rawHeaders, httpVersion }: IncomingMessage) {
  let hosts = 0;
  let authorizations = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0')) return 'Host';
  return authorizations > 1 ? 'Authorization' : undefined;
}
