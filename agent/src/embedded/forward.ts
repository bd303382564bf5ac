// Plain HTTP: a request is sent on over a connection of its own, and its response comes back as it is.
import {
  type ClientRequest,
  request as createRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { admit, type Context } from './admit.ts';
import type { Connection, Exchange } from './connections.ts';
import { type Destination, readDestination } from './destination.ts';
import { isDenial, type Rejection, rejectRequest } from './rejections.ts';

/** A destination that says nothing for so long. */
const silence_ms = 15 * 60_000;

export async function forward(
  ctx: Context,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const connection = ctx.connections.of(request.socket);
  const exchange = await connection.begin();
  if (response.destroyed) return;
  endWith(request, response, () => connection.end(exchange));

  const destination = readDestination(request.method ?? '', request.url ?? '');
  let target: Socket | Rejection = 'bad_request';
  if (!isExpectationKnown(request)) target = 'bad_expectation';
  else if (destination && isReadable(request)) {
    target = await admit(ctx, connection, exchange, request, destination);
  }
  if (typeof target === 'string') {
    rejectInstead(connection, request, response, target);
  } else if (response.destroyed) {
    target.destroy();
  } else {
    send(connection, exchange, request, response, target, destination as Destination);
  }
}

/** The exchange is over when the request has come and the response has gone. */
function endWith(request: IncomingMessage, response: ServerResponse, end: () => void): void {
  response.once('finish', () => {
    if (request.complete) end();
    else request.once('close', end);
  });
}

/** A body is framed anew: in which other coding it may come, its next reader would not be told. */
function isReadable({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || /^chunked$/i.test(coding);
}

function isExpectationKnown({ headers: { expect } }: IncomingMessage): boolean {
  return expect === undefined || /^100-continue$/i.test(expect);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * After a denial the connection goes on if nothing has come on it that would have to be paid for,
 * after a failure never.
 */
function rejectInstead(
  connection: Connection,
  request: IncomingMessage,
  response: ServerResponse,
  rejection: Rejection,
): void {
  const close = !isDenial(rejection) || hasBody(request) || connection.hasWaiting;
  if (close) connection.takeNoMore();
  rejectRequest(response, rejection, close);
}

function send(
  connection: Connection,
  exchange: Exchange,
  request: IncomingMessage,
  response: ServerResponse,
  target: Socket,
  { path, authority }: Destination,
): void {
  const fail = (failure: Rejection) => {
    if (response.headersSent) response.destroy();
    else rejectInstead(connection, request, response, failure);
  };
  let outgoing: ClientRequest;
  try {
    outgoing = createRequest({
      // Kept alive it might serve another account, or an address that is no longer the right one.
      createConnection: () => target,
      method: request.method,
      path,
      headers: requestHeaders(request, authority),
    });
  } catch {
    // A path of characters that are not sent on.
    target.destroy();
    fail('bad_request');
    return;
  }
  outgoing.setTimeout(silence_ms, () => {
    fail('timed_out');
    outgoing.destroy();
  });
  outgoing.once('response', (incoming) => {
    if (!copyHead(incoming, response)) outgoing.destroy();
    else pipeline(incoming, response, () => undefined);
  });
  // A fault in the middle of a response breaks the client's, too; this is one before it.
  outgoing.on('error', () => undefined);
  outgoing.once('close', () => {
    if (!response.headersSent && !response.destroyed) fail('broken_answer');
  });
  response.once('close', () => {
    // The rest of a body that is not wanted any more is thrown away.
    request.unpipe(outgoing).resume();
    outgoing.destroy();
  });
  if (request.headers.expect !== undefined) {
    response.writeContinue();
    exchange.free_down = 'HTTP/1.1 100 Continue\r\n\r\n'.length;
  }
  if (request.headers['transfer-encoding'] !== undefined) countBody(request, exchange);
  request.pipe(outgoing);
}

/**
 * Counts an upload without its framing, as Squid does: its head, as it is usually written, and the bytes
 * of its body.
 */
function countBody(request: IncomingMessage, exchange: Exchange): void {
  const { method, url, httpVersion, rawHeaders } = request;
  // Each header adds a colon and a space, or the end of its line.
  const headers = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  exchange.up = `${method} ${url} HTTP/${httpVersion}\r\n\r\n`.length + headers;
  request.on('data', (chunk: Buffer) => {
    exchange.up = (exchange.up ?? 0) + chunk.length;
  });
}

/** False when it cannot be: not every status and header that is sent is one. */
function copyHead(incoming: IncomingMessage, response: ServerResponse): boolean {
  if (!isReadable(incoming)) return false;
  try {
    response.sendDate = false;
    const headers = endToEnd(incoming.rawHeaders);
    response.writeHead(incoming.statusCode as number, incoming.statusMessage, headers);
    return true;
  } catch {
    return false;
  }
}

/** A proxy states the host of its request line, and frames the body itself. */
function requestHeaders(request: IncomingMessage, authority: string): string[] {
  const headers = ['Host', authority, ...endToEnd(request.rawHeaders, /^(host|expect)$/i)];
  if (request.headers['transfer-encoding'] !== undefined) {
    headers.push('Transfer-Encoding', 'chunked');
  } else if (request.headers['content-length'] === undefined && /^P/.test(request.method ?? '')) {
    headers.push('Content-Length', '0');
  }
  return headers;
}

const hopByHop =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-(authenticate|authentication-info|authorization|connection))$/i;

/** Without these the message would be another one, whatever `Connection` says. */
const framing = /^(host|content-length)$/i;

/** Without what is meant for the next hop alone, be it by its name or because `Connection` says so. */
function endToEnd(rawHeaders: string[], others?: RegExp): string[] {
  const pairs: Array<[name: string, value: string]> = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    pairs.push([rawHeaders[at] as string, rawHeaders[at + 1] as string]);
  }
  const named = pairs
    .filter(([name]) => /^connection$/i.test(name))
    .flatMap(([, value]) => value.toLowerCase().split(/\s*,\s*/));
  return pairs
    .filter(([name]) => !hopByHop.test(name) && !others?.test(name))
    .filter(([name]) => !named.includes(name.toLowerCase()) || framing.test(name))
    .flat();
}
