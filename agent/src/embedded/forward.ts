// Plain HTTP: forwards a request over a connection of its own, and passes its response back
// unchanged.
import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { request as createRequest } from '../../../kit/src/node_http.ts';
import { ignore, type Own } from '../../../kit/src/owner.ts';
import { type Failure, longestHeaderBytes } from '../failures.ts';
import { admit, type Context } from './admit.ts';
import type { Connection, Exchange } from './connections.ts';
import { type Destination, readDestination } from './destination.ts';
import { isDenial, type Rejection, rejectRequest } from './rejections.ts';

/** How long a destination may be silent. */
const silenceMs = 15 * 60_000;
/** Most interim responses, such as `103 Early Hints`, which are not billed. */
const maxInterim = 32;

export async function forward(
  ctx: Context,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const connection = ctx.connections.of(request.socket);
  const exchange = await connection.begin();
  if (response.destroyed) return;
  response.on('error', ignore);
  // The exchange is over when the whole request is received and the whole response is sent.
  const end = connection.own(() => connection.end(exchange));
  response.once(
    'finish',
    connection.own(() => {
      if (request.complete) end();
      else request.once('close', end);
    }),
  );

  const destination = readDestination(request.method ?? '', request.url ?? '');
  const target =
    failureOf(request) ??
    (destination ? await admit(ctx, connection, exchange, request, destination) : 'bad_target');
  if (typeof target === 'string') {
    rejectInstead(connection, request, response, target);
  } else if (response.destroyed) {
    target.destroy();
  } else {
    send(connection, exchange, request, response, target, destination as Destination);
  }
}

/** Why a request is not forwarded, wherever it goes. */
function failureOf(request: IncomingMessage): Failure | undefined {
  const { expect } = request.headers;
  if (request.httpVersionMajor !== 1) return 'bad_version';
  if (expect !== undefined && !/^100-continue$/i.test(expect)) return 'bad_expectation';
  return isReadable(request) && forwardsLeft(request) !== -1 ? undefined : 'unsupported';
}

/** The body is framed again, so its receiver would not learn of another transfer coding. */
function isReadable({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || /^chunked$/i.test(coding);
}

/** `Max-Forwards` for the next hop; -1: the request must not be forwarded. */
function forwardsLeft({ method = '', headers }: IncomingMessage): number | undefined {
  const limit = /^(OPTIONS|TRACE)$/.test(method) ? Number(headers['max-forwards']) : Number.NaN;
  return Number.isNaN(limit) ? undefined : Math.max(limit, 0) - 1;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Rejects a request. After a denial the connection continues unless billable bytes have arrived on
 * it. After a failure it is closed.
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
  destination: Destination,
): void {
  const fail = (failure: Rejection) => {
    if (response.headersSent) response.destroy();
    else rejectInstead(connection, request, response, failure);
  };
  const { own } = connection;
  const outgoing = createRequest({
    // A reused connection might serve another account, or lead to an outdated address.
    createConnection: () => target,
    method: request.method,
    path: destination.path,
    maxHeaderSize: longestHeaderBytes,
    setHost: false,
  });
  outgoing.maxHeadersCount = 0;
  // Node would add one of these if the client sent neither.
  for (const name of framing) outgoing.removeHeader(name);
  for (const [name, value] of requestHeaders(request, destination)) {
    outgoing.appendHeader(name, value);
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
    own((information: InformationEvent) => {
      interim += 1;
      // No forwarded header can ask for another protocol, since `Upgrade` is never forwarded.
      const isWanted = information.statusCode !== 101 && interim <= maxInterim;
      if (isWanted && isClean(information)) passInterim(exchange, request, response, information);
      else outgoing.destroy();
    }),
  );
  outgoing.once(
    'response',
    own((incoming: IncomingMessage) => {
      const isFinal = (incoming.statusCode as number) >= 200;
      const isWanted = !outgoing.destroyed && isFinal && isClean(incoming) && isReadable(incoming);
      if (isWanted) passOn(incoming, response);
      else outgoing.destroy();
    }),
  );
  // The failure before a response. An error later breaks off the client's response, too.
  let failure: Failure = 'broken_answer';
  outgoing.on(
    'error',
    own(({ code = '' }: NodeJS.ErrnoException) => {
      if (code === 'HPE_HEADER_OVERFLOW') failure = 'long_answer';
      else if (!code.startsWith('HPE_')) failure = 'no_answer';
    }),
  );
  outgoing.once(
    'close',
    own(() => {
      if (!response.headersSent && !response.destroyed) fail(failure);
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
  if (request.headers['transfer-encoding'] !== undefined) countBody(own, request, exchange);
  // Sends the header before the body: the origin may answer at once, and the client may wait for
  // that. `flushHeaders` would write the header as UTF-8.
  outgoing.write('', 'latin1');
  request.pipe(outgoing);
}

/** Passes on a response such as `100 Continue`, which is not billed and not for HTTP/1.0. */
function passInterim(
  exchange: Exchange,
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, statusMessage, rawHeaders }: InformationEvent,
): void {
  if (response.headersSent || request.httpVersion === '1.0') return;
  // The client got what it expected, so its connection continues after the response.
  if (statusCode === 100) {
    response.writeContinue();
    exchange.free_down += 'HTTP/1.1 100 Continue\r\n\r\n'.length;
    return;
  }
  const lines = endToEnd(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`;
  request.socket.write(text, 'latin1');
  exchange.free_down += text.length;
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
 * Whether the head of a response can be forwarded. Node accepts more when it reads than when it
 * writes, so this is checked before anything is written.
 */
function isClean({
  httpVersionMajor,
  statusCode = 0,
  statusMessage = '',
  rawHeaders,
}: IncomingMessage | InformationEvent): boolean {
  return (
    httpVersionMajor === 1 &&
    statusCode >= 100 &&
    isText(statusMessage) &&
    rawHeaders.every((text, index) => (index % 2 === 0 ? isToken(text) : isText(text)))
  );
}

/** Passes a response on unchanged. */
function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  response.sendDate = false;
  // Node frames the body for the client's version.
  const headers = endToEnd(incoming.rawHeaders).filter(
    ([name]) => !/^transfer-encoding$/i.test(name),
  );
  response.writeHead(incoming.statusCode as number, incoming.statusMessage, headers.flat());
  pipeline(incoming, response, ignore);
}

type Header = [name: string, value: string];

/** Headers that frame the body. They stay, even if `Connection` lists them. */
const framing = ['content-length', 'transfer-encoding'];

const hopByHop = [
  ...['connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'proxy-authenticate'],
  ...['proxy-authentication-info', 'proxy-authorization', 'proxy-connection'],
];

/** A proxy sets Host from the request line. The framing of the body stays as it came. */
function requestHeaders(request: IncomingMessage, { authority, userinfo }: Destination): Header[] {
  const forwards = forwardsLeft(request);
  const headers = endToEnd(request.rawHeaders)
    .filter(([name]) => !/^host$/i.test(name))
    .map(
      ([name, value]): Header =>
        forwards !== undefined && /^max-forwards$/i.test(name)
          ? [name, String(forwards)]
          : [name, value],
    );
  if (userinfo && request.headers.authorization === undefined) {
    const credentials = userinfo.replace(/%([0-9a-f]{2})/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    headers.push([
      'Authorization',
      `Basic ${Buffer.from(credentials, 'latin1').toString('base64')}`,
    ]);
  }
  return [['Host', authority], ...headers];
}

/** Removes headers that are only for the next hop, by name or because `Connection` lists them. */
function endToEnd(rawHeaders: string[]): Header[] {
  const pairs: Header[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    pairs.push([rawHeaders[at] as string, rawHeaders[at + 1] as string]);
  }
  const dropped = new Set(hopByHop);
  for (const [name, value] of pairs) {
    if (!/^connection$/i.test(name)) continue;
    for (const listed of value.toLowerCase().split(',')) dropped.add(listed.trim());
  }
  for (const name of framing) dropped.delete(name);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()));
}
