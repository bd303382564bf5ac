// What an attempt came to: a record, or a refusal and the words for it.
import * as errors from './errors.ts';
import { keepEtag } from './records.ts';
import { readRetryAfter } from './retries.ts';

/** What is sent, at each attempt alike. */
export interface Request {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  timeoutSeconds: number;
  signal: AbortSignal | undefined;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** An attempt without success, and the error that the call fails with if it was the last. */
export interface Refusal {
  Class: typeof errors.ExitwardError;
  message: string;
  /** Undefined when there was no answer. */
  status: number | undefined;
  requestId: string | undefined;
  retryAfterSeconds: number | undefined;
  /** The network's own word for what happened, where there is one. */
  code: string | undefined;
  cause: unknown;
}

const classes: Record<number, typeof errors.ExitwardError> = {
  400: errors.BadRequestError,
  401: errors.UnauthorizedError,
  403: errors.ForbiddenError,
  404: errors.NotFoundError,
  405: errors.MethodNotAllowedError,
  409: errors.ConflictError,
  412: errors.PreconditionFailedError,
  429: errors.TooManyRequestsError,
  500: errors.InternalServerError,
  503: errors.UnavailableError,
};

/** The record of a successful answer. Errors: when there is none, as from a server of another kind. */
export function readRecord(request: Request, answer: Answer): object | undefined {
  const { status, headers, text } = answer;
  if (status === 204 || request.method === 'DELETE') return undefined;
  const value = parse(text);
  if (typeof value !== 'object' || value === null) {
    const message = `${placeOf(request)}: expected JSON, got ${contentOf(answer)}`;
    const mayHaveActed = request.method !== 'GET';
    throw new errors.ExitwardError(message, { status, requestId: idOf(headers), mayHaveActed });
  }
  keepEtag(value, headers.get('etag'));
  return value;
}

/** The refusal that an answer is. */
export function refusedBy(request: Request, answer: Answer): Refusal {
  const { status, headers, text } = answer;
  const { message } = (parse(text) ?? {}) as { message?: unknown };
  return {
    Class: classes[status] ?? errors.ExitwardError,
    message: typeof message === 'string' ? message : insteadOf(request, answer),
    status,
    requestId: idOf(headers),
    retryAfterSeconds: readRetryAfter(headers),
    code: undefined,
    cause: undefined,
  };
}

/** The refusal that it is to get no answer, in time or at all. */
export function unanswered(request: Request, isLate: boolean, cause: unknown): Refusal {
  const reason = isLate ? `no answer within ${request.timeoutSeconds} seconds` : reasonOf(cause);
  return {
    Class: isLate ? errors.TimeoutError : errors.ConnectionError,
    message: `${placeOf(request)}: ${reason}`,
    status: undefined,
    requestId: undefined,
    retryAfterSeconds: undefined,
    code: codeOf(cause),
    cause,
  };
}

/** What to say of a refusal that says nothing itself. */
function insteadOf(request: Request, answer: Answer): string {
  const { status, headers } = answer;
  // Browsers hide a redirect behind status 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    const to = headers.get('location');
    return `${placeOf(request)}: redirected${to ? ` to ${to}` : ''}; expected baseUrl to be the service itself`;
  }
  return `${placeOf(request)}: HTTP ${status} with ${contentOf(answer)}`;
}

const placeOf = ({ method, url }: Request) => `${method} ${url}`;
const contentOf = ({ headers }: Answer) => headers.get('content-type') ?? 'no content';
const idOf = (headers: Headers) => headers.get('x-request-id') ?? undefined;
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Node tells why a request failed in the error's cause. */
function causeOf(error: unknown): { code?: unknown; message?: unknown } {
  const { cause } = error as { cause?: unknown };
  return typeof cause === 'object' && cause !== null ? cause : {};
}

function codeOf(error: unknown): string | undefined {
  const { code } = causeOf(error);
  return typeof code === 'string' ? code : undefined;
}

function reasonOf(error: unknown): string {
  const { message } = causeOf(error);
  // When several addresses were tried, only the code says something.
  return (typeof message === 'string' && message) || codeOf(error) || String(error);
}
