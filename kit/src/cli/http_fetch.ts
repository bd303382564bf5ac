// fetch as far as command lines use it, by node:http: to load Node's own takes more CPU time than
// all else that a short command does.
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';

// Imported, node:http would load Node's fetch for the WebSocket among its exports.
const require = createRequire(import.meta.url);

/**
 * Headers as a record, a body as text or bytes; a redirect is answered as it is. The response has
 * `ok`, `status`, `url`, `text()`, and of its headers `get` and `getSetCookie`. Errors: the
 * signal's reason, or as those of fetch, a TypeError with the reason in its cause.
 */
export const httpFetch = (async (input: string | URL, init: RequestInit = {}) => {
  const url = new URL(input);
  const { method = 'GET', body, signal } = init;
  const headers = { 'accept-encoding': 'gzip', ...(init.headers as Record<string, string>) };
  const { request }: typeof import('node:http') =
    url.protocol === 'https:' ? require('node:https') : require('node:http');
  const asFetchFails = (cause: unknown) => {
    signal?.throwIfAborted();
    throw new TypeError('fetch failed', { cause });
  };
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { method, headers, signal: signal ?? undefined });
    sent.on('response', resolve).on('error', reject).end(body);
  }).catch(asFetchFails);
  const { statusCode: status = 0, headers: received } = message;
  return {
    ok: status >= 200 && status < 300,
    status,
    url: url.href,
    headers: {
      get: (name: string) => received[name.toLowerCase()] ?? null,
      getSetCookie: () => received['set-cookie'] ?? [],
    },
    text: () => textOf(message).catch(asFetchFails),
  };
}) as unknown as typeof globalThis.fetch;

async function textOf(message: IncomingMessage): Promise<string> {
  const { text } = await import('node:stream/consumers');
  if (message.headers['content-encoding'] !== 'gzip') return text(message);
  const { createGunzip } = await import('node:zlib');
  const { pipeline } = await import('node:stream');
  return text(pipeline(message, createGunzip(), () => {}));
}
