// Requests to the server that this page came from, typed by its API document.
import { type Operations, operations } from './openapi.ts';
import { operatorToken } from './operator_token.ts';

export type Operation = keyof Operations;
export type Given<K extends Operation> = Operations[K]['given'];
export type Answer<K extends Operation> = Operations[K]['answer'];

/** The server refused, or it was not reached (status 0). `sentences.ts` says it to people. */
export class ApiError extends Error {
  readonly status: number;
  /** Seconds after which another try makes sense, where the server said so. */
  readonly retry_after: number | undefined;
  /** Names the request in the server's log. */
  readonly request_id: string | undefined;

  constructor(message: string, status: number, headers?: Headers) {
    super(message);
    this.status = status;
    this.retry_after = Number(headers?.get('retry-after')) || undefined;
    this.request_id = headers?.get('x-request-id') ?? undefined;
  }
}

interface Parts {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
}

const timeout_milliseconds = 30_000;

/**
 * Calls an operation and answers its body (undefined for 204). Operations of /console go with the
 * session's cookie, those of /admin with the operator token. A Blob as body goes as it is, with its
 * type. Errors: ApiError.
 */
export async function call<K extends Operation>(
  operation: K,
  given: Given<K>,
  signal?: AbortSignal,
  token = operatorToken.value,
): Promise<Answer<K>> {
  const { method, path } = operations[operation];
  const { body, ...parts } = given as Parts;
  const timeout = AbortSignal.timeout(timeout_milliseconds);
  let response: Response;
  let text: string;
  try {
    response = await fetch(urlOf(path, parts), {
      method,
      headers: {
        ...credentials(path, token),
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
    throw new ApiError(timeout.aborted ? 'timeout' : 'unreachable', 0);
  }
  const value = readJson(text);
  if (response.ok) return value as Answer<K>;
  const { message } = (value ?? {}) as { message?: string };
  throw new ApiError(message ?? response.statusText, response.status, response.headers);
}

/** What goes with a request besides the cookie, which the browser adds by itself. */
export function credentials(path: string, token = operatorToken.value): Record<string, string> {
  return path.startsWith('/admin') && token ? { authorization: `Bearer ${token}` } : {};
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
