// Plain HTTP: forwards a request over a connection of its own, and passes its response back
// unchanged.
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { request as createRequest } from '../../../kit/src/node_http.ts';
import { ignore, type Own } from '../../../kit/src/owner.ts';
import { admit, type Context } from './admit.ts';
import type { Connection, Exchange } from './connections.ts';
import { type Destination, readDestination } from './destination.ts';
import { isDenial, type Rejection, rejectRequest } from './rejections.ts';

/** A silent destination is given up after this long. */
const silenceMs = 15 * 60_000;
/** Limit on interim responses such as `103 Early Hints`: they are not passed on, and not billed. */
const mostInterim = 32;

export async function forward(
  ctx: Context,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const connection = ctx.connections.of(request.socket);
  const exchange = await connection.begin();
  if (response.destroyed) return;
  response.on('error', ignore);
  // The exchange is over when the request was received and the response sent.
  const end = connection.own(() => connection.end(exchange));
  response.once(
    'finish',
    connection.own(() => {
      if (request.complete) end();
      else request.once('close', end);
    }),
  );

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

/** A body gets a new framing, so its receiver would not know of any other transfer coding. */
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
 * After a denial the connection continues if nothing has arrived on it that would be billed; after
 * a failure never.
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
  const { own } = connection;
  let outgoing: ClientRequest;
  try {
    outgoing = createRequest({
      // If it were reused, it might serve another account, or use an outdated address.
      createConnection: () => target,
      method: request.method,
      path,
      headers: requestHeaders(request, authority),
    });
  } catch {
    // The path has characters that must not be sent.
    target.destroy();
    fail('bad_request');
    return;
  }
  outgoing.setTimeout(
    silenceMs,
    own(() => {
      fail('timed_out');
      outgoing.destroy();
    }),
  );
  let interim = 0;
  outgoing.on(
    'information',
    own(({ statusCode }: InformationEvent) => {
      interim += 1;
      // No forwarded header can ask for another protocol, since `Upgrade` is never forwarded.
      if (statusCode === 101 || interim > mostInterim) outgoing.destroy();
    }),
  );
  outgoing.once(
    'response',
    own((incoming: IncomingMessage) => {
      const isWanted = !outgoing.destroyed && isClean(incoming) && isReadable(incoming);
      if (isWanted) passOn(incoming, response);
      else outgoing.destroy();
    }),
  );
  // An error in the middle of a response breaks the client's response too; this is one before it.
  outgoing.on('error', ignore);
  outgoing.once(
    'close',
    own(() => {
      if (!response.headersSent && !response.destroyed) fail('broken_answer');
    }),
  );
  response.once(
    'close',
    own(() => {
      // Discards the rest of a body that is no longer wanted.
      request.unpipe(outgoing).resume();
      outgoing.destroy();
    }),
  );
  if (request.headers.expect !== undefined) {
    response.writeContinue();
    exchange.free_down = 'HTTP/1.1 100 Continue\r\n\r\n'.length;
  }
  if (request.headers['transfer-encoding'] !== undefined) countBody(own, request, exchange);
  request.pipe(outgoing);
}

/**
 * Counts an upload without its framing, as Squid does: its head, in the usual spelling, and the
 * bytes of its body.
 */
function countBody(own: Own, request: IncomingMessage, exchange: Exchange): void {
  const { method, url, httpVersion, rawHeaders } = request;
  // Adds a colon and a space after each name, and a line end after each value.
  const headers = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  exchange.up = `${method} ${url} HTTP/${httpVersion}\r\n\r\n`.length + headers;
  request.on(
    'data',
    own((chunk: Buffer) => {
      exchange.up = (exchange.up ?? 0) + chunk.length;
    }),
  );
}

const isToken = (text: string) => /^[\w!#$%&'*+.^`|~-]+$/.test(text);
const isText = (text: string) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

/**
 * Whether the head of a response can be forwarded: Node reads more than it writes. Checked before
 * anything is written.
 */
function isClean(incoming: IncomingMessage): boolean {
  const { httpVersionMajor, statusCode = 0, statusMessage = '', rawHeaders } = incoming;
  return (
    httpVersionMajor === 1 &&
    statusCode >= 200 &&
    isText(statusMessage) &&
    rawHeaders.every((text, index) => (index % 2 === 0 ? isToken(text) : isText(text)))
  );
}

/** Passes a response on unchanged. */
function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  response.sendDate = false;
  const headers = endToEnd(incoming.rawHeaders);
  response.writeHead(incoming.statusCode as number, incoming.statusMessage, headers);
  pipeline(incoming, response, ignore);
}

/** A proxy sets Host from the request line, and frames the body itself. */
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

/** These headers determine the message's meaning, so they stay, whatever `Connection` says. */
const framing = /^(host|content-length)$/i;

/** Removes headers that are only for the next hop, by name or because `Connection` lists them. */
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
