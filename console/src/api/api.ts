// Requests to the server that this page came from, typed by its API document.
import { type ErrorCode, type Operations, operations } from '../openapi.ts';
import { type AsOf, asOfHeaders, eventCount } from './news.ts';
import { operatorToken } from './operator_token.ts';
import { isOfProxy, markReached, markUnreached } from './outage.ts';

export type Operation = keyof Operations;
export type Given<K extends Operation> = Operations[K]['given'];
export type ResponseOf<K extends Operation> = Operations[K]['response'];

/** A code of the server, or of a request without a response; empty for the response of a proxy. */
type Code = ErrorCode | 'timeout' | 'unreachable' | '';

/** The body of an error response. */
interface ErrorBody {
  message: string;
  /** For programs; the message is for people. */
  code: Code;
  /** The invalid field of the request; the message begins with it. */
  field?: string | undefined;
}

/** The failed request. */
interface FailedRequest {
  headers?: Headers;
  /** Whether it only reads: such a request is repeated by itself. */
  isOfRead?: boolean;
  /** Whether it had the operator token. */
  isOfOperator?: boolean;
}

/** An error response, or no response (status 0). `sentences.ts` explains it to people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: Code;
  readonly field: string | undefined;
  /** Seconds after which to try again, if the server gave them. */
  readonly retry_after: number | undefined;
  /** Identifies the request in the server's log. */
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

/** An error of one field that the page finds itself, in the form of the server's. */
export const invalidField = (field: string, sentence: string) =>
  new ApiError(400, { message: `${field}: ${sentence}`, code: 'invalid_field', field });

interface Parts {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** The operator token, if it is not the one of the sign-in. */
  token?: string;
  /** Replaces `/console` in the path: the same resource for an operator. */
  base?: string;
}

const timeoutMs = 30_000;

let shownSession: string | undefined;

/**
 * From now on each request names the session that this page shows, as ACCOUNT/SESSION_ID. The
 * server rejects any other.
 */
export function showSession(shown: string | undefined): void {
  shownSession = shown;
}

/**
 * Calls an operation and returns the body of its response (undefined for 204). Operations of
 * /console use the session's cookie, those of /admin the operator token. A Blob is sent as it is,
 * with its type.
 * Errors: ApiError.
 */
export async function call<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<ResponseOf<K>> {
  return (await callForCache(operation, given, options)).body;
}

/** A response in the cache, with how new it is. */
export interface Held<T> {
  body: T;
  as_of: AsOf | undefined;
}

/** The same, with how new the response is. Errors: ApiError. */
export async function callForCache<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<Held<ResponseOf<K>>> {
  const { body, as_of } = await send(operation, given, options);
  return { body, as_of };
}

/**
 * A page of a list: its rows, and the query of the next one; a first page also has the length of
 * the list and the number of matches.
 */
export interface ListPage<T> {
  rows: T[];
  as_of: AsOf | undefined;
  next: Record<string, string> | undefined;
  total: number;
  found: number;
}

/** Calls an operation that returns a list in pages. Errors: ApiError. */
export async function callForPage<K extends Operation>(
  operation: K,
  given: Given<K>,
  options?: CallOptions,
): Promise<ListPage<ResponseOf<K> extends Array<infer Row> ? Row : never>> {
  const { body, headers, as_of } = await send(operation, given, options);
  const [, search] = /\?([^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return {
    rows: body as never,
    as_of,
    next: search === undefined ? undefined : Object.fromEntries(new URLSearchParams(search)),
    total: Number(headers.get('exitward-total')),
    found: Number(headers.get('exitward-found')),
  };
}

async function send<K extends Operation>(
  operation: K,
  given: Given<K>,
  { signal, token, base = '/console' }: CallOptions = {},
): Promise<{ body: ResponseOf<K>; headers: Headers; as_of: AsOf | undefined }> {
  const { method, path } = operations[operation];
  const { body, ...parts } = given as Parts;
  const url = urlOf(path, parts).replace(/^\/console/, base);
  const isOfRead = method === 'GET';
  const isOfOperator = url.startsWith('/admin');
  const timeout = AbortSignal.timeout(timeoutMs);
  const events = eventCount();
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method,
      headers: {
        // This operation reads the session of the cookie, whatever the page shows.
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
    // After a timeout the server still counts as online: its events continue.
    if (code === 'unreachable') markUnreached();
    throw new ApiError(0, { message: code, code }, { isOfRead, isOfOperator });
  }
  const { status, statusText, headers } = response;
  const isJson = headers.get('content-type')?.includes('json') !== false;
  const value = isJson ? readJson(text) : text;
  const { message = statusText, code = '', field } = (value ?? {}) as Partial<ErrorBody>;
  if (!response.ok && isOfProxy(status, code)) markUnreached();
  else markReached();
  if (response.ok) {
    return { body: value as ResponseOf<K>, headers, as_of: asOfHeaders(headers, events) };
  }
  throw new ApiError(status, { message, code, field }, { headers, isOfRead, isOfOperator });
}

/** The credentials of a request in addition to the cookie, which the browser adds. */
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
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
  return pairs.length > 0 ? `${filled}?${search}` : filled;
}

function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
