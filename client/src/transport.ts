// One call over HTTP: its request, its attempts, and the time that it may take.
import { type Operations, operations } from './openapi.ts';
import type { ChangeOptions, CreateOptions, WaitOptions } from './options.ts';
import {
  type FailedAttempt,
  failedBy,
  type ReceivedResponse,
  readRecord,
  type SentRequest,
  withoutResponse,
} from './responses.ts';
import { isRepeatable, isTransient, isUnclear, pause, pauseSeconds } from './retries.ts';
import { requireRetries, requireSpan, requireTraceparent, type Settings } from './settings.ts';

type Options = CreateOptions & ChangeOptions & WaitOptions;

/** The longest wait that `Prefer: wait` may ask for. */
const longestWaitSeconds = 30;

export class Transport {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get variant(): Settings['variant'] {
    return this.#settings.variant;
  }

  /** Errors: an ExitwardError, or the signal's reason. */
  async call<Id extends keyof Operations>(
    id: Id,
    given: Operations[Id]['given'],
    options: Options = {},
  ): Promise<Operations[Id]['response']> {
    const { method, path } = operations[id];
    const { retries = this.#settings.retries, signal } = options;
    const idempotencyKey =
      method === 'POST' ? (options.idempotencyKey ?? this.#newKey()) : undefined;
    requireRetries(retries);
    const isSafeAgain = isRepeatable(method, options.ifMatch, idempotencyKey);
    const request = this.#request(method, path, given, { ...options, idempotencyKey });

    let mayHaveActed = false;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(request);
      if ('text' in outcome) return readRecord(request, outcome) as Operations[Id]['response'];
      // The record is gone already: an earlier attempt removed it.
      if (method === 'DELETE' && outcome.status === 404 && mayHaveActed) {
        return undefined as Operations[Id]['response'];
      }
      if (method !== 'GET' && isUnclear(outcome)) mayHaveActed = true;
      const isLast =
        attempt > retries ||
        !isTransient(outcome) ||
        (mayHaveActed && !isSafeAgain) ||
        (outcome.retryAfterSeconds ?? 0) > this.#settings.longestPauseSeconds;
      if (isLast) throw new outcome.Class(outcome.message, { ...outcome, mayHaveActed });
      await pause(pauseSeconds(attempt, outcome.retryAfterSeconds, Math.random()), signal);
    }
  }

  /** A new Idempotency-Key, if the server honours it. Plain-HTTP pages have no `randomUUID`. */
  #newKey(): string | undefined {
    if (!this.#settings.idempotencyKeys) return undefined;
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  #request(
    method: string,
    path: string,
    given: { path?: Given; query?: Given; body?: object },
    options: Options,
  ): SentRequest {
    const { ifMatch, idempotencyKey, waitSeconds = 0, signal, traceparent } = options;
    const { timeoutSeconds = this.#settings.timeoutSeconds } = options;
    requireSpan('timeoutSeconds', timeoutSeconds);
    requireSpan('waitSeconds', waitSeconds);
    requireTraceparent(traceparent);
    const wait = Math.min(longestWaitSeconds, Math.ceil(waitSeconds));
    const headers: Record<string, string> = {
      accept: 'application/json',
      authorization: this.#settings.authorization,
    };
    if (given.body !== undefined) headers['content-type'] = 'application/json';
    if (ifMatch !== undefined) headers['if-match'] = ifMatch;
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    if (traceparent !== undefined) headers.traceparent = traceparent;
    if (wait > 0) headers.prefer = `wait=${wait}`;
    return {
      method,
      url: `${this.#settings.baseUrl}${fillPath(path, given.path)}${queryText(given.query)}`,
      headers,
      body: given.body === undefined ? undefined : JSON.stringify(given.body),
      timeoutSeconds: timeoutSeconds + wait,
      signal,
    };
  }

  /** Errors: the signal's reason. */
  async #attempt(request: SentRequest): Promise<ReceivedResponse | FailedAttempt> {
    const { method, url, headers, body, timeoutSeconds, signal } = request;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener('abort', abort);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      abort();
    }, timeoutSeconds * 1000);
    try {
      const response = await this.#settings.fetch(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        signal: controller.signal,
        // A redirect would turn a POST into a GET.
        redirect: 'manual',
        // A browser must not add cookies, nor open a login window after a 401.
        credentials: 'omit',
      });
      const { status, headers: received, ok } = response;
      const whole = { status, headers: received, text: await response.text() };
      return ok ? whole : failedBy(request, whole);
    } catch (cause) {
      signal?.throwIfAborted();
      return withoutResponse(request, isLate, cause);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

type Given = Record<string, string | number | undefined>;

/**
 * The path with its parameters filled in.
 * Errors: TypeError for one that leads to another path: an empty id would mean the whole list.
 */
function fillPath(path: string, parameters: Given = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name];
    const isFit =
      name === 'id'
        ? Number.isSafeInteger(value)
        : typeof value === 'string' && !/^\.{0,2}$/.test(value);
    if (!isFit) {
      const expected = name === 'id' ? 'an integer' : 'a name';
      throw new TypeError(`${name}: expected ${expected}, got ${JSON.stringify(value)}`);
    }
    return encodeURIComponent(String(value));
  });
}

function queryText(query: Given = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
