// Generators of what hostile clients and origins send: HTTP and TLS that is nearly right, and then
// broken by chance.
import type { Random } from '../../server/test/random.ts';

/** The bytes of one connection, a piece at a time, and how it goes on after that. */
export interface Attack {
  pieces: readonly Buffer[];
  /** `wait`: sends nothing more, and closes when the other side does. */
  ending: 'end' | 'destroy' | 'reset' | 'wait';
}

const nl = '\r\n';

/** `odds` in a hundred. */
const happens = (random: Random, odds: number) => random.between(1, 100) <= odds;

function several<T>(random: Random, max: number, make: () => T): T[] {
  return Array.from({ length: random.between(0, max) }, make);
}

/** Flips, cuts out, doubles or adds some bytes. */
function mutated(random: Random, bytes: Buffer): Buffer {
  const at = random.between(0, bytes.length);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const odd = () => Buffer.from([random.one([0, 1, 9, 10, 11, 13, 32, 58, 127, 128, 255])]);
  return random.one([
    () => Buffer.concat([before, odd(), after.subarray(1)]),
    () => Buffer.concat([before, odd(), after]),
    () => Buffer.concat([before, after.subarray(random.between(1, 40))]),
    () => Buffer.concat([before, before.subarray(-random.between(1, 40)), after]),
    () => Buffer.from(before),
  ])();
}

function attackOf(random: Random, bytes: Buffer, mutations: number): Attack {
  let sent = bytes;
  const broken = happens(random, 40) ? random.between(1, mutations) : 0;
  for (let rounds = broken; rounds > 0; rounds--) sent = mutated(random, sent);
  const at = random.between(0, sent.length);
  return {
    pieces: happens(random, 25) ? [sent.subarray(0, at), sent.subarray(at)] : [sent],
    ending: random.one(['end', 'end', 'destroy', 'reset', 'wait']),
  };
}

// ---- HTTP ---------------------------------------------------------------------------------

const methods = ['GET', 'GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'CONNECT', 'CONNECT', 'PRI', 'x'];

const usual = [
  ...['Host: a.example', 'Connection: close', 'Keep-Alive: x', 'TE: trailers', 'Cookie: a=\xff'],
  ...['Transfer-Encoding: chunked', 'Content-Length: 5', 'Content-Length: 0', 'x:\t\xe9'],
  ...['Expect: 100-continue', 'Upgrade: websocket', 'Proxy-Connection: x', 'Range: bytes=-1'],
];
const unusual = [
  ...['Host:', 'Connection: Host, content-length', 'Connection: upgrade', 'Trailer: x'],
  ...['Transfer-Encoding: identity', 'Transfer-Encoding: gzip', 'Transfer-Encoding:\tchunked'],
  ...['Transfer-Encoding: chunked, chunked', 'Content-Length: -1', 'Content-Length: 5, 5'],
  ...['Content-Length: 18446744073709551616', 'Expect: much', 'If-None-Match: "'],
  ...['Proxy-Authorization: Basic !', 'Proxy-Authorization: Basic YTpi', 'Authorization: Basic'],
  ...['x: \x01', 'x\x01: y', ': y', 'x', ' folded', 'x:\x7f', 'Content-Type: application/json'],
];
const long = [`x: ${'y'.repeat(9000)}`, Array(2100).fill('x: y').join(nl)];

function header(random: Random): string {
  const odds = random.between(1, 200);
  return random.one(odds === 1 ? long : odds < 50 ? unusual : usual);
}

const bodies = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  'fffffffffffffffff\r\n',
  '0\r\nx: y\r\n\r\n',
  '{',
];

/** Some requests on one connection, to these targets. */
export function hostileRequests(
  random: Random,
  targets: readonly string[],
  credentials = 'x: y',
): Attack {
  const requests = Array.from({ length: random.one([1, 1, 1, 2, 5]) }, () => {
    const version = happens(random, 90)
      ? 'HTTP/1.1'
      : random.one(['HTTP/1.0', 'HTTP/2.0', 'x', '']);
    const line = `${random.one(methods)} ${random.one(targets)} ${version}`;
    const lines = [credentials, ...several(random, 4, () => header(random))];
    return [line, ...lines, '', random.one(bodies)].join(nl);
  });
  return attackOf(random, Buffer.from(requests.join(''), 'latin1'), 2);
}

const reasons = ['OK', 'OK', 'OK', '', 'O\x01K', '\xff', 'No\tContent'];
const statuses = [200, 200, 200, 204, 304, 404, 407, 100, 101, 103, 99, 0, 600, 999];

/** The responses of an origin to one request. */
export function hostileResponses(random: Random): Attack {
  const interim = happens(random, 5) ? 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50) : '';
  const responses = Array.from({ length: random.one([1, 1, 1, 1, 2]) }, () => {
    const version = happens(random, 95) ? 'HTTP/1.1' : random.one(['HTTP/1.0', 'HTTP/2.0', 'ICY']);
    const line = `${version} ${random.one(statuses)} ${random.one(reasons)}`;
    const lines = several(random, 4, () => header(random));
    return [line, ...lines, '', random.one(bodies)].join(nl);
  });
  return attackOf(random, Buffer.from(interim + responses.join(''), 'latin1'), 1);
}

// ---- TLS ----------------------------------------------------------------------------------

/**
 * In place of a negotiation, or after its first step: most is a ClientHello that is not quite one.
 */
export function hostileHandshake(random: Random, hello: Buffer): Attack {
  const alert = Buffer.from([21, 3, 3, 0, 2, random.one([1, 2]), random.between(0, 255)]);
  const record = Buffer.from([random.between(19, 25), 3, random.between(0, 4), 0, 3, 1, 2, 3]);
  const bytes = random.one([
    hello,
    hello,
    Buffer.concat([hello, alert]),
    Buffer.concat([hello, record]),
    Buffer.concat([hello, hello]),
    hello.subarray(0, random.between(0, 60)),
    record,
    Buffer.from('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n'),
  ]);
  return attackOf(random, bytes, 3);
}

/**
 * The destinations that a request may name, right and wrong: an origin and its port, an address
 * that none may reach, and nonsense.
 */
export function hostileTargets(origin: string, port: number, forbidden: string): string[] {
  const [good, bad] = [`${origin}:${port}`, `${origin}:1`];
  const long = 'a'.repeat(300);
  return [
    ...[good, good, bad, `http://${good}/`, `http://${good}/`, `http://${bad}/`, '*', '/', ''],
    ...['http://', 'https://a.example/', 'http://a@b/', 'a.example:443', 'http://a.example/'],
    ...[`${origin}:99999`, `http://${origin}:99999/`, '[::1]:443', 'http://[::1/', '[]:1'],
    ...[`http://${long}.example/`, `http://${good}/\x01`, `http://${good}/\xff`, `http://${good}?`],
    ...[`${forbidden}:80`, 'http://0x7f.1/', 'http://a..b/', 'http://\xe9/', `http://${good}/#`],
  ];
}
