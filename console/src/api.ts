// Requests to the server that this page came from, typed by its API document.
import { type Operations, operations } from './openapi.ts';
import { operatorToken } from './operator_token.ts';

export type Operation = keyof Operations;
export type Given<K extends Operation> = Operations[K]['given'];
export type Answer<K extends Operation> = Operations[K]['response'];

/** The server refused, or it was not reached (status 0). `sentences.ts` says it to people. */
export class ApiError extends Error {
  readonly status: number;
  /** Seconds after which another try makes sense, where the server said so. */
  readonly retry_after: number | undefined;
  /** Names the request in the server's log. */
  readonly request_id: string | undefined;
  /** Whether nothing was to be changed: what is only read is read again by itself. */
  readonly isOfRead: boolean;

  constructor(message: string, status: number, headers?: Headers, isOfRead = true) {
    super(message);
    this.status = status;
    this.isOfRead = isOfRead;
    this.retry_after = Number(headers?.get('retry-after')) || undefined;
    this.request_id = headers?.get('x-request-id') ?? undefined;
  }

  /** Somebody has signed in in another tab: the cookie is of another session than this page. */
  get isOfOtherSession(): boolean {
    return (
      this.status === 409 && this.message.startsWith('This page was opened in another session')
    );
  }
}

interface Parts {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
}

const timeout_milliseconds = 30_000;

let shownSession: string | undefined;

/** From now on requests say that this page shows this session, as ACCOUNT/SESSION_ID; another one is refused. */
export function showSession(shown: string | undefined): void {
  shownSession = shown;
}

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
  const isOfRead = method === 'GET';
  const timeout = AbortSignal.timeout(timeout_milliseconds);
  let response: Response;
  let text: string;
  try {
    response = await fetch(urlOf(path, parts), {
      method,
      headers: {
        // Which session it is, whatever this page shows, is what this operation is for.
        ...(operation === 'console_get_session' ? {} : credentials(path, token)),
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
    throw new ApiError(timeout.aborted ? 'timeout' : 'unreachable', 0, undefined, isOfRead);
  }
  const value = readJson(text);
  if (response.ok) return value as Answer<K>;
  const { message } = (value ?? {}) as { message?: string };
  throw new ApiError(message ?? response.statusText, response.status, response.headers, isOfRead);
}

/** What goes with a request besides the cookie, which the browser adds by itself. */
export function credentials(path: string, token = operatorToken.value): Record<string, string> {
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
