// Retries: the requests that may be sent again, and the pauses before that.

const transientStatuses = [429, 502, 503, 504];

/**
 * Failures before a byte is sent. Browsers give no code: their network errors are unclear.
 * ERR_PROXY: a proxy on the way does not let connections through.
 */
const neverConnected = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_PROXY',
  'UND_ERR_CONNECT_TIMEOUT',
];

/**
 * Failures that another attempt only repeats: a name that does not exist, a certificate that is not
 * trusted, a proxy that does not let connections through, and a service that does not speak TLS.
 */
const lasting = /^(?:ENOTFOUND$|EPROTO$|ERR_PROXY$|ERR_SSL_|ERR_TLS_|UNABLE_TO_)|CERT/;
/** Of those, the ones that end a connection before the request. */
const neverTrusted = /CERT|^UNABLE_TO_/;

/** How an attempt failed: with a response, or without one. */
interface Failure {
  status?: number | undefined;
  networkCode?: string | undefined;
}

/** Whether another attempt may succeed. */
export function isTransient({ status, networkCode = '' }: Failure): boolean {
  return status === undefined ? !lasting.test(networkCode) : transientStatuses.includes(status);
}

/** Whether the server may have acted on the failed request. */
export function isUnclear({ status, networkCode = '' }: Failure): boolean {
  if (status !== undefined) return status >= 500;
  return !neverConnected.includes(networkCode) && !neverTrusted.test(networkCode);
}

/**
 * Whether a request may be sent again after an attempt that the server may have acted on.
 * A PATCH may not: another client's change in between would be lost. Nor may a request with an
 * If-Match: its own success would come back as 412. A POST may if it has an idempotency key.
 */
export function isRepeatable(
  method: string,
  ifMatch: string | undefined,
  idempotencyKey: string | undefined,
): boolean {
  if (method === 'GET') return true;
  if (method === 'DELETE') return ifMatch === undefined;
  return method === 'POST' && idempotencyKey !== undefined;
}

const firstPauseSeconds = 0.5;
const longestBackoffSeconds = 8;

/**
 * How long to wait after the attempt of this number (from 1): as long as the server asks for, plus
 * a random part of a span that doubles each time, so that clients do not all come back at once.
 */
export function pauseSeconds(
  attempt: number,
  retryAfterSeconds: number | undefined,
  random: number,
): number {
  const span = Math.min(longestBackoffSeconds, firstPauseSeconds * 2 ** (attempt - 1));
  return (retryAfterSeconds ?? 0) + random * span;
}

/**
 * The seconds of `Retry-After`, which is a number or a date; undefined when absent or neither.
 * A date is compared with the response's own `Date`, since the clocks may differ.
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  // Without this check, Date.parse reads "-5" as a year.
  const then = value.endsWith('GMT') ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(then)) return undefined;
  const respondedAt = Date.parse(headers.get('date') ?? '');
  const now = Number.isNaN(respondedAt) ? Date.now() : respondedAt;
  return Math.max(0, (then - now) / 1000);
}

/** Resolves after this many seconds. Errors: the signal's reason, as soon as it is aborted. */
export function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    const abort = () => {
      end();
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort);
  });
}
