// Requests to the server that this page came from, typed by its API document.
import { type ErrorCode, type Operations, operations } from '../openapi.ts';
import { type AsOf, asOfHeaders } from './news.ts';
import { operatorToken } from './operator_token.ts';
import { heard, isOfProxy, notReached } from './outage.ts';

export type Operation = keyof Operations;
export type Given<K extends Operation> = Operations[K]['given'];
export type ResponseOf<K extends Operation> = Operations[K]['response'];

/** One of the server's, or of a request without a response; empty where a proxy on the way has answered. */
type Code = ErrorCode | 'timeout' | 'unreachable' | '';

/** The body of an error response. */
interface ErrorBody {
  message: string;
  /** The program decides by it; the message is for people. */
  code: Code;
  /** The field of the request at fault; the message begins with it. */
  field?: string | undefined;
}

/** The request that has failed. */
interface FailedRequest {
  headers?: Headers;
  /** Whether nothing was to be changed: what is only read is read again by itself. */
  isOfRead?: boolean;
  /** Whether it carried the operator token. */
  isOfOperator?: boolean;
}

/** An error response, or the server was not reached (status 0). `sentences.ts` says it to people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: Code;
  readonly field: string | undefined;
  /** Seconds after which another try makes sense, where the server said so. */
  readonly retry_after: number | undefined;
  /** Names the request in the server's log. */
  readonly request_id: string | undefined;
  readonly isOfRead: boolean;
  readonly isOfOperator: boolean;

  constructor(
    status: number,
    { message, code, field }: ErrorBody,
    { headers, isOfRead = true, isOfOperator = false }: FailedRequest = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
    this.isOfRead = isOfRead;
    this.isOfOperator = isOfOperator;
    this.retry_after = Number(headers?.get('retry-after')) || undefined;
    this.request_id = headers?.get('x-request-id') ?? undefined;
  }
}

/** A fault of one field that the page itself finds, as the server would say it. */
export const invalidField = (field: string, sentence: string) =>
  new ApiError(400, { message: `${field}: ${sentence}`, code: 'invalid_field', field });

interface Parts {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** The operator token, unless it is the one that was given at the sign-in. */
  token?: string;
  /** Stands in the path in the place of `/console`: the same resource, as an operator reaches it. */
  base?: string;
}

const timeout_milliseconds = 30_000;

let shownSession: string | undefined;

/** From now on each request names the session that this page shows, as ACCOUNT/SESSION_ID; another one is rejected. */
export function showSession(shown: string | undefined): void {
  shownSession = shown;
}

/**
 * Calls an operation and returns the body of its response (undefined for 204). Operations of /console go with the
 * session's cookie, those of /admin with the operator token. A Blob as body goes as it is, with its
 * type. Errors: ApiError.
 */
export async function call<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<ResponseOf<K>> {
  return (await callToKeep(operation, given, options)).body;
}

/** A response as the cache holds it: how new it is, too. */
export interface Held<T> {
  body: T;
  as_of: AsOf | undefined;
}

/** The same, with how new the response is. Errors: ApiError. */
export async function callToKeep<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<Held<ResponseOf<K>>> {
  const { body, headers } = await send(operation, given, options);
  return { body, as_of: asOfHeaders(headers) };
}

/** A page of a list: its rows, the query of the next one, and, of a first page, how long the list is and how much of it fits. */
export interface ListPage<T> {
  rows: T[];
  as_of: AsOf | undefined;
  next: Record<string, string> | undefined;
  total: number;
  found: number;
}

/** Calls an operation that answers a list in pages. Errors: ApiError. */
export async function callForPage<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<ListPage<ResponseOf<K> extends Array<infer Row> ? Row : never>> {
  const { body, headers } = await send(operation, given, options);
  const [, search] = /\?([^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return {
    rows: body as never,
    as_of: asOfHeaders(headers),
    next: search === undefined ? undefined : Object.fromEntries(new URLSearchParams(search)),
    total: Number(headers.get('exitward-total')),
    found: Number(headers.get('exitward-found')),
  };
}

async function send<K extends Operation>(
  operation: K,
  given: Given<K>,
  { signal, token, base = '/console' }: CallOptions = {},
): Promise<{ body: ResponseOf<K>; headers: Headers }> {
  const { method, path } = operations[operation];
  const { body, ...parts } = given as Parts;
  const url = urlOf(path, parts).replace(/^\/console/, base);
  const isOfRead = method === 'GET';
  const isOfOperator = url.startsWith('/admin');
  const timeout = AbortSignal.timeout(timeout_milliseconds);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method,
      headers: {
        // This operation asks for the session of the cookie, whatever the page shows.
        ...(operation === 'console_get_session' ? {} : credentials(url, token)),
        ...(body === undefined ? {} : { 'content-type': typeOf(body) }),
      },
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    const code = timeout.aborted ? 'timeout' : 'unreachable';
    // One that is slow is there: its events go on.
    if (code === 'unreachable') notReached();
    throw new ApiError(0, { message: code, code }, { isOfRead, isOfOperator });
  }
  const { status, statusText, headers } = response;
  const isJson = headers.get('content-type')?.includes('json') !== false;
  const value = isJson ? readJson(text) : text;
  const { message = statusText, code = '', field } = (value ?? {}) as Partial<ErrorBody>;
  if (!response.ok && isOfProxy(status, code)) notReached();
  else heard();
  if (response.ok) return { body: value as ResponseOf<K>, headers };
  throw new ApiError(status, { message, code, field }, { headers, isOfRead, isOfOperator });
}

/** The credentials of a request besides the cookie, which the browser adds by itself. */
export function credentials(
  path: string,
  token: string | null = operatorToken.value,
): Record<string, string> {
  if (path.startsWith('/admin')) return token ? { authorization: `Bearer ${token}` } : {};
  return shownSession ? { 'exitward-session': shownSession } : {};
}

const typeOf = (body: unknown) => (body instanceof Blob ? body.type : 'application/json');

function urlOf(path: string, { path: names = {}, query = {} }: Parts): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(names[name])),
  );
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
  return asked.length > 0 ? `${filled}?${search}` : filled;
}

function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
