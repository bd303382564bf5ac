// The outcome of an attempt: the record of a response, or a failure with its code and message.
import * as errors from './errors.ts';
import { ExitwardError } from './errors.ts';
import type { ErrorCode } from './openapi.ts';
import { keepEtag } from './records.ts';
import { readRetryAfter } from './retries.ts';

/** A request, the same at each attempt. */
export interface SentRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  timeoutSeconds: number;
  signal: AbortSignal | undefined;
}

export interface ReceivedResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** A failed attempt, and the error that the call fails with if it was the last. */
export interface FailedAttempt {
  Class: typeof ExitwardError;
  message: string;
  /** Undefined when there was no response. */
  status: number | undefined;
  requestId: string | undefined;
  retryAfterSeconds: number | undefined;
  code: ExitwardError['code'];
  /** The system's code for a network error, such as ECONNREFUSED. */
  networkCode: string | undefined;
  cause: unknown;
}

/** The class of each status, and the code when the response has none. */
const kinds: Record<number, { Class: typeof ExitwardError; code: ErrorCode }> = {
  400: { Class: errors.BadRequestError, code: 'bad_request' },
  401: { Class: errors.UnauthorizedError, code: 'unauthorized' },
  403: { Class: errors.ForbiddenError, code: 'forbidden' },
  404: { Class: errors.NotFoundError, code: 'not_found' },
  405: { Class: errors.MethodNotAllowedError, code: 'method_not_allowed' },
  409: { Class: errors.ConflictError, code: 'conflict' },
  412: { Class: errors.PreconditionFailedError, code: 'precondition_failed' },
  429: { Class: errors.TooManyRequestsError, code: 'too_many_requests' },
  500: { Class: errors.InternalServerError, code: 'internal_error' },
  503: { Class: errors.UnavailableError, code: 'unavailable' },
};

/** The record of a successful response. Errors: there is none, as from another kind of server. */
export function readRecord(request: SentRequest, response: ReceivedResponse): object | undefined {
  const { status, headers, text } = response;
  if (status === 204 || request.method === 'DELETE') return undefined;
  const value = parse(text);
  if (typeof value !== 'object' || value === null) {
    const message = `${placeOf(request)}: expected JSON, got ${contentOf(response)}`;
    const mayHaveActed = request.method !== 'GET';
    throw new ExitwardError(message, { status, requestId: idOf(headers), mayHaveActed });
  }
  keepEtag(value, headers.get('etag'));
  return value;
}

/** The failure that an error response reports. */
export function failedBy(request: SentRequest, response: ReceivedResponse): FailedAttempt {
  const { status, headers, text } = response;
  const kind = kinds[status];
  const { message } = (parse(text) ?? {}) as { message?: unknown };
  return {
    Class: kind?.Class ?? ExitwardError,
    message: typeof message === 'string' ? message : insteadOf(request, response),
    status,
    requestId: idOf(headers),
    retryAfterSeconds: readRetryAfter(headers),
    code: headers.get('exitward-error') ?? kind?.code,
    networkCode: undefined,
    cause: undefined,
  };
}

/** The failure to get a response, in time or at all. */
export function withoutResponse(
  request: SentRequest,
  isLate: boolean,
  cause: unknown,
): FailedAttempt {
  const reason = isLate ? `no answer within ${request.timeoutSeconds} seconds` : reasonOf(cause);
  return {
    Class: isLate ? errors.TimeoutError : errors.ConnectionError,
    message: `${placeOf(request)}: ${reason}`,
    status: undefined,
    requestId: undefined,
    retryAfterSeconds: undefined,
    code: undefined,
    networkCode: networkCodeOf(cause),
    cause,
  };
}

/** The message for an error response without one. */
function insteadOf(request: SentRequest, response: ReceivedResponse): string {
  const { status, headers } = response;
  // Browsers hide a redirect behind status 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = headers.get('location');
    return `${placeOf(request)}: redirected${to ? ` to ${to}` : ''}; expected baseUrl to be the service itself`;
  }
  return `${placeOf(request)}: HTTP ${status} with ${contentOf(response)}`;
}

const placeOf = ({ method, url }: SentRequest) => `${method} ${url}`;
const contentOf = ({ headers }: ReceivedResponse) => headers.get('content-type') ?? 'no content';
const idOf = (headers: Headers) => headers.get('x-request-id') ?? undefined;
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Node puts the reason why a request failed into the error's cause. */
function causeOf(error: unknown): { code?: unknown; message?: unknown; cause?: unknown } {
  const { cause } = error as { cause?: unknown };
  return typeof cause === 'object' && cause !== null ? cause : {};
}

function networkCodeOf(error: unknown): string | undefined {
  const { code } = causeOf(error);
  return typeof code === 'string' ? code : undefined;
}

const unknownAuthority =
  'the certificate of the service is from an authority unknown here; for an authority of your own, set NODE_EXTRA_CA_CERTS to the file of its certificate';
const brokenOff = 'the connection was closed without an answer';
const noConnection = 'no connection was made in time';
const noRoute = 'this machine has no route to the service';

/** By code, since the messages are those of OpenSSL and the system. */
const reasons: Record<string, string> = {
  CERT_HAS_EXPIRED: 'the certificate of the service has expired',
  CERT_NOT_YET_VALID: 'the certificate of the service is not valid yet; check the clock',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate of the service is self-signed; to trust it, set NODE_EXTRA_CA_CERTS to its file',
  EAI_AGAIN: 'the name of the service could not be looked up',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: brokenOff,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ENOTFOUND: 'the name of the service has no address',
  EPIPE: brokenOff,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the service is for another name',
  ETIMEDOUT: noConnection,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${unknownAuthority}; or the service sends it without the intermediate one`,
  UND_ERR_CONNECT_TIMEOUT: noConnection,
  UND_ERR_SOCKET: brokenOff,
};

function reasonOf(error: unknown): string {
  const { message, cause } = causeOf(error);
  const code = networkCodeOf(error) ?? '';
  const reason = reasons[code];
  if (reason) return `${reason} (${code})`;
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return `no TLS was agreed on (${code}); expected https only where the service speaks it`;
  }
  if (message === 'bad port') return 'HTTP clients refuse to use the port of the service';
  if (code.startsWith('HPE_')) return `the service does not speak HTTP there (${code})`;
  const [, status] =
    /^Proxy response \((\d+)\)/.exec((cause as Error | undefined)?.message ?? '') ?? [];
  if (status) return `the HTTP proxy that this program uses answered ${status}`;
  return (typeof message === 'string' && message) || code || String(error);
}
