// The fetch of command lines answers, and fails, as Node's own does.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { httpFetch } from '../src/cli/http_fetch.ts';
import { networkFault } from '../src/network_fault.ts';

async function urlOf(serve: RequestListener): Promise<string> {
  const server = createServer(serve);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** A response as a command sees it, by either fetch; of an error, its sentence. */
async function seen(fetch: typeof globalThis.fetch, url: string, init?: RequestInit) {
  try {
    const response = await fetch(url, { redirect: 'manual', ...init });
    const { ok, status, headers } = response;
    const names = ['content-type', 'ETag', 'location', 'none'].map((name) => headers.get(name));
    const text = await response.text();
    return { ok, status, url: response.url, names, cookies: headers.getSetCookie(), text };
  } catch (error) {
    return { name: (error as Error).name, sentence: networkFault(error) };
  }
}

const long = 'ü'.repeat(300_000);
const cases: [string, RequestListener, RequestInit?][] = [
  ['a text', (_, response) => void response.setHeader('etag', '"1"').end(long)],
  [
    'a compressed text',
    (_, response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(long)),
  ],
  ['an error', (_, response) => void response.writeHead(412).end('{"message":"no"}')],
  ['no content', (_, response) => void response.writeHead(204).end()],
  ['a redirect', (_, response) => void response.writeHead(302, { location: '/else' }).end()],
  [
    'cookies',
    (_, response) => void response.writeHead(200, { 'set-cookie': ['a=1', 'b=2; Secure'] }).end(),
  ],
  [
    'what it was sent',
    async (request, response) => {
      const { method, headers } = request;
      const type = headers['content-type'];
      const length = headers['content-length'];
      response.end(JSON.stringify([method, type, length, await json(request)]));
    },
    { method: 'POST', body: '{"a":"é"}', headers: { 'content-type': 'application/json' } },
  ],
  ['nothing, and closes', (request) => void request.socket.destroy()],
  ['less than it said', (_, response) => void partOf(response.socket, 'content-length: 9')],
];

function partOf(socket: Socket | null, header: string): void {
  socket?.end(`HTTP/1.1 200 OK\r\n${header}\r\n\r\nhalf`);
}

test.each(cases)('of a server that answers with %s, it sees the same', async (_, serve, init) => {
  const url = await urlOf(serve);
  const { name, ...own } = await seen(httpFetch, `${url}/path?a=b%20c`, init);
  const { name: nodesName, ...nodes } = await seen(fetch, `${url}/path?a=b%20c`, init);
  expect(name === undefined).toBe(nodesName === undefined);
  if ('sentence' in nodes) expect(own).toEqual({ sentence: expect.any(String) });
  else expect(own).toEqual(nodes);
});

test('a compressed body that is cut off is an error, never a shorter text', async () => {
  const url = await urlOf((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(gzipSync(long).subarray(0, 100));
  });
  expect(await seen(httpFetch, url)).toEqual({
    name: 'TypeError',
    sentence: 'unexpected end of file',
  });
});

test('it says why nothing answered, in the words of all network faults', async () => {
  const url = await urlOf((request) => void request.socket.destroy());
  expect(await seen(httpFetch, url)).toEqual({
    name: 'TypeError',
    sentence: 'the connection was closed without an answer (ECONNRESET)',
  });
  const gone = await seen(httpFetch, 'http://127.0.0.1:1/');
  expect(gone).toEqual({
    name: 'TypeError',
    sentence: 'the connection was refused (ECONNREFUSED)',
  });
});

test.each(['before the head', 'in the middle of the body'])(
  'it ends when its signal does, %s',
  async (when) => {
    const url = await urlOf((_, response) => {
      if (when !== 'before the head') response.write('half');
    });
    const ended = await seen(httpFetch, url, { signal: AbortSignal.timeout(50) });
    expect(ended).toEqual({ name: 'TimeoutError', sentence: 'there was no answer in time' });
  },
);

test('several requests share a connection, which holds no process up', async () => {
  const sockets = new Set<Socket>();
  const url = await urlOf((request, response) => {
    sockets.add(request.socket);
    response.end('1');
  });
  for (let count = 0; count < 3; count += 1) await seen(httpFetch, url);
  expect(sockets.size).toBe(1);
});
