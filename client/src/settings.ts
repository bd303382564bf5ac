// The options of a client, checked.
import { OptionError } from './errors.ts';

export interface ExitwardOptions {
  /** The URL of the service, such as `https://api.example.com`; `/v0` is added. */
  baseUrl: string;
  /** The API token of the account. */
  token: string;
  /** The API variant to use; default: `current`. */
  variant?: 'current' | 'earlier';
  /** How long one attempt may take, including its response; default: 30. */
  timeoutSeconds?: number;
  /** How often a call is tried again; default: 3, 0 for never. */
  retries?: number;
  /** The longest pause (`Retry-After`) of a server to wait for; default: 30. */
  longestPauseSeconds?: number;
  /**
   * Whether each POST has an `Idempotency-Key`, and can therefore be tried again; default: `true`.
   * Exitward honours the key. For a server that does not, set `false`: otherwise a POST whose
   * response was lost may come back as 409, because of its own first attempt.
   */
  idempotencyKeys?: boolean;
  /** Instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export interface Settings {
  /** Without a slash at its end. */
  baseUrl: string;
  /** The value of the header. */
  authorization: string;
  variant: 'current' | 'earlier';
  timeoutSeconds: number;
  retries: number;
  longestPauseSeconds: number;
  idempotencyKeys: boolean;
  fetch: typeof globalThis.fetch;
}

/** Errors: OptionError. */
export function readSettings(options: ExitwardOptions): Settings {
  const { variant = 'current', timeoutSeconds = 30, retries = 3 } = options;
  const { longestPauseSeconds = 30, idempotencyKeys = true } = options;
  if (variant !== 'current' && variant !== 'earlier') {
    throw new OptionError('variant', `expected current or earlier, got ${JSON.stringify(variant)}`);
  }
  requireSpan('timeoutSeconds', timeoutSeconds);
  requireSpan('longestPauseSeconds', longestPauseSeconds);
  requireRetries(retries);
  return {
    baseUrl: readBaseUrl(options.baseUrl),
    authorization: basic(options.token, variant),
    variant,
    timeoutSeconds,
    retries,
    longestPauseSeconds,
    idempotencyKeys,
    // Looked up at each call, and not called as a method, which a browser's fetch refuses.
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
  };
}

/** Errors: OptionError for a value that a timer would take for "at once". */
export function requireSpan(name: string, seconds: number): void {
  if (!(seconds >= 0 && seconds <= 86_400)) {
    throw new OptionError(name, `expected seconds, 86400 at most, got ${seconds}`);
  }
}

/** Errors: OptionError for an invalid one, which servers would ignore. */
export function requireTraceparent(traceparent: string | undefined): void {
  if (
    traceparent === undefined ||
    /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(traceparent)
  )
    return;
  throw new OptionError(
    'traceparent',
    `expected such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, got ${JSON.stringify(traceparent)}`,
  );
}

export function requireRetries(retries: number): void {
  if (!Number.isInteger(retries) || retries < 0) {
    throw new OptionError('retries', `expected how often, 0 for never, got ${retries}`);
  }
}

function readBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new OptionError(
      'baseUrl',
      `expected a URL such as https://api.example.com, got ${JSON.stringify(baseUrl)}`,
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    // Not shown: it may hold a password.
    throw new OptionError('baseUrl', 'expected no user, password, query or fragment');
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith('/v0')) {
    throw new OptionError(
      'baseUrl',
      `expected it without /v0, which is added, got ${JSON.stringify(baseUrl)}`,
    );
  }
  return url.origin + path;
}

/** The token as the half of the Basic pair that the variant expects. */
function basic(token: string, variant: Settings['variant']): string {
  // A colon would end the username, which is the token in the earlier variant.
  if (typeof token !== 'string' || !/^[!-9;-~]+$/.test(token)) {
    throw new OptionError(
      'token',
      'expected an API token, visible ASCII characters without a colon',
    );
  }
  return `Basic ${btoa(variant === 'current' ? `:${token}` : `${token}:`)}`;
}
