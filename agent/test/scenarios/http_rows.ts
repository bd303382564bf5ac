// The HTTP that both engines follow, one row for each kind of message: docs/http.md shows these
// rows, and the scenarios play them.

import { METHODS, STATUS_CODES } from 'node:http';

/** One request and its response, byte for byte; `{url}` and `{host}` stand for the origin. */
export interface Exchange {
  /** A list of turns, if one side waits for the other: see `play` in http.ts. */
  request: string | string[];
  response?: string | string[];
  /** The message as the other side must get it, if it differs. */
  arrives?: string;
  comes?: string;
}

/** `passes`, changed or not; or `STATUS WORD`; or `closed`, without a response. */
export type Outcome = string;

export interface Deviation {
  outcome: Outcome;
  why: string;
  /** For each of the exchanges. */
  arrives?: string[];
  comes?: string[];
}

export interface HttpRow {
  what: string;
  rule: Outcome;
  exchanges: Exchange[];
  embedded?: Deviation;
  squid?: Deviation;
  why?: string;
}

const x = (length: number) => 'x'.repeat(length);
const message = (first: string, lines: string[], body = '') =>
  [first, ...lines, '', body].join('\r\n');
/** A request for the origin, with these headers after its Host. */
const ask = (method: string, lines: string[] = [], body = '') =>
  message(`${method} {url} HTTP/1.1`, ['Host: {host}', ...lines], body);
/** The same for another target. */
const askFor = (target: string, path?: string): Exchange => ({
  request: message(`GET ${target} HTTP/1.1`, ['Host: {host}']),
  ...(path === undefined ? {} : { arrives: message(`GET ${path} HTTP/1.1`, ['Host: {host}']) }),
});
const answer = (lines: string[], body = 'ok', first = 'HTTP/1.1 200 OK') =>
  message(first, lines, body);
/** A plain request with this response. */
const answered = (lines: string[], body?: string, first?: string): Exchange => ({
  request: ask('GET'),
  response: answer(lines, body, first),
});
const chunks = '5\r\nhello\r\n0\r\n\r\n';
const post = (...lines: string[]) => ask('POST', lines, 'hello');
const postChunked = (...lines: string[]) => ask('POST', lines, chunks);
const length5 = 'Content-Length: 5';
const length2 = 'Content-Length: 2';
const chunked = 'Transfer-Encoding: chunked';
/** Headers of this many kilobytes. */
const headers = (kilobytes: number) =>
  Array.from({ length: kilobytes }, (_, index) => `X-${index}: ${x(1000)}`);
const each = (requests: string[]): Exchange[] => requests.map((request) => ({ request }));
const readsAll = 'Squid parses it and writes it cleanly';

export const httpTable: Record<string, HttpRow[]> = {
  'What is asked for': [
    {
      what: '`http://host/path`, in any case of `HTTP`, with and without a path',
      rule: 'passes',
      exchanges: [
        askFor('{url}'),
        askFor('HTTP://{host}/', '/'),
        askFor('http://{host}', '/'),
        askFor('http://{host}?a=1', '/?a=1'),
        askFor('{url}a%2fb%00%C3%A9/../c//d?x=%20+'),
        askFor('{url}a"<>\\^`{|}[]%zz'),
      ],
    },
    {
      what: 'a fragment (`#…`)',
      rule: 'passes: without it',
      exchanges: [askFor('{url}a#b', '/a')],
      squid: {
        outcome: 'passes',
        why: 'Squid treats it as part of the path',
        arrives: [message('GET /a#b HTTP/1.1', ['Host: {host}'])],
      },
    },
    {
      what: '`http://user:password@host/`',
      rule: 'passes: as `Authorization: Basic …`',
      exchanges: [
        {
          request: message('GET http://u%40:p@{host}/ HTTP/1.1', ['Host: {host}']),
          arrives: ask('GET', ['Authorization: Basic dUA6cA==']),
        },
        {
          request: message('GET http://u:p@{host}/ HTTP/1.1', [
            'Host: {host}',
            'Authorization: own',
          ]),
          arrives: ask('GET', ['Authorization: own']),
        },
      ],
    },
    {
      what: "another `Host` than the URL's, two, an empty one, or none",
      rule: "passes: with the URL's",
      exchanges: [['Host: a.example'], ['Host: {host}', 'Host: a.example'], ['Host:'], []].map(
        (lines) => ({ request: message('GET {url} HTTP/1.1', lines), arrives: ask('GET') }),
      ),
    },
    {
      what: 'no host: `/path`, `www.example/`',
      rule: '400 bad_target',
      exchanges: [askFor('/'), askFor('www.example/')],
    },
    {
      what: '`https://` and `ftp://`',
      rule: '400 bad_target',
      exchanges: [askFor('https://{host}/'), askFor('ftp://{host}/')],
      squid: {
        outcome: '403 destination_refused',
        why: 'Squid understands such URLs, and is not allowed to fetch them',
      },
    },
    {
      what: 'a space, tab or control character in the URL',
      rule: '400 bad_target',
      exchanges: [askFor('{url}a b'), askFor('{url}a\tb')],
      why: 'servers could read the line differently',
    },
    {
      what: 'bytes beyond ASCII in the path (UTF-8, Latin-1)',
      rule: 'passes',
      exchanges: [askFor('{url}\xc3\xa9'), askFor('{url}\xe9')],
      embedded: {
        outcome: '400 bad_target',
        why: "Node's parser accepts only ASCII; clients should write `%C3%A9`",
      },
    },
    {
      what: 'a URL of 8 KiB',
      rule: 'passes',
      exchanges: [askFor(`{url}${x(8000)}`)],
    },
    {
      what: 'a URL of more, up to 64 KiB with the headers',
      rule: 'passes',
      exchanges: [askFor(`{url}${x(9000)}`), askFor(`{url}${x(60_000)}`)],
      squid: { outcome: '400 bad_target', why: 'the limit is compiled into Squid: `MAX_URL`' },
    },
  ],
  Methods: [
    {
      what: "the methods of Node's parser without a body, WebDAV and UPnP among them",
      rule: 'passes',
      exchanges: each(
        METHODS.filter((method) => !/CONNECT|PURGE/.test(method)).map((method) => ask(method)),
      ),
      why: 'no length and no coding is added',
    },
    {
      what: 'any other: `FOO`, `RPC_IN_DATA`, `patch`',
      rule: 'passes',
      exchanges: each(
        ['FOO', 'BREW', 'RPC_IN_DATA', 'VERSION-CONTROL', 'patch'].map((method) => ask(method)),
      ),
      embedded: { outcome: '501 unsupported', why: "Node's parser has a list; a tunnel takes any" },
    },
    {
      what: '`PURGE`',
      rule: 'passes',
      exchanges: each([ask('PURGE')]),
      squid: { outcome: '501 unsupported', why: 'Squid keeps it for its own cache' },
    },
    {
      what: '`OPTIONS` and `TRACE` with `Max-Forwards: 0`',
      rule: '501 unsupported',
      exchanges: each(['OPTIONS', 'TRACE'].map((method) => ask(method, ['Max-Forwards: 0']))),
      why: 'it is meant for this node, which does not answer it',
    },
    {
      what: '… with a higher one',
      rule: 'passes: one less',
      exchanges: ['OPTIONS', 'TRACE'].map((method) => ({
        request: ask(method, ['Max-Forwards: 3']),
        arrives: ask(method, ['Max-Forwards: 2']),
      })),
    },
  ],
  Bodies: [
    {
      what: 'a body with its length, also of `GET`, `HEAD`, `DELETE`, `OPTIONS`',
      rule: 'passes',
      exchanges: [
        ...each(
          ['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'OPTIONS'].map((method) =>
            ask(method, [length5], 'hello'),
          ),
        ),
        { request: ask('HEAD', [length5], 'hello'), response: answer([length2], '') },
      ],
    },
    {
      what: 'a length of 0',
      rule: 'passes',
      exchanges: each(['GET', 'POST', 'PUT'].map((method) => ask(method, ['Content-Length: 0']))),
    },
    {
      what: 'a body in chunks',
      rule: 'passes',
      exchanges: each(['POST', 'GET', 'DELETE'].map((method) => ask(method, [chunked], chunks))),
      squid: {
        outcome: 'passes: with its length, where it came at once',
        why: 'Squid writes it again; a longer one stays in chunks',
        arrives: ['POST', 'GET', 'DELETE'].map((method) => ask(method, [length5], 'hello')),
      },
    },
    {
      what: 'extensions and trailers of chunks',
      rule: 'passes: without them',
      exchanges: [
        {
          request: ask('POST', [chunked], '5;a=b\r\nhello\r\n0\r\n\r\n'),
          arrives: postChunked(chunked),
        },
        {
          request: ask('POST', [chunked, 'Trailer: X-T'], '5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n'),
          arrives: postChunked(chunked),
        },
      ],
      squid: {
        outcome: 'passes: without them, and with its length',
        why: 'as above',
        arrives: [post(length5), post(length5)],
      },
    },
    {
      what: 'a header whose body comes later',
      rule: 'passes: at once',
      exchanges: [
        { request: [ask('POST', [length5]), 'hello'], response: ['', answer([length2])] },
        { request: [ask('PUT', [length5]), 'hello'], response: ['', answer([length2])] },
      ],
    },
    {
      what: '… to an origin that responds before the body (401)',
      rule: 'passes',
      exchanges: [
        {
          request: ask('POST', ['Content-Length: 5000']),
          response: answer([length2], 'no', 'HTTP/1.1 401 Unauthorized'),
        },
      ],
    },
    {
      what: '`Expect: 100-continue`: the origin says so, and not the node',
      rule: 'passes',
      exchanges: [
        {
          request: [ask('POST', ['Expect: 100-continue', length5]), 'hello'],
          response: ['HTTP/1.1 100 Continue\r\n\r\n', answer([length2])],
        },
        {
          request: ask('POST', ['Expect: 100-continue', length5]),
          response: answer([length2], 'no', 'HTTP/1.1 417 Expectation Failed'),
        },
      ],
    },
    {
      what: '`Expect` of anything else',
      rule: '417 bad_expectation',
      exchanges: each([post('Expect: wonders', length5)]),
      squid: {
        outcome: '417 bad_request',
        why: 'Squid uses one page for this and for bad requests',
      },
    },
    {
      what: 'a response that comes in pieces',
      rule: 'passes: each at once',
      exchanges: [
        { request: [ask('GET'), ''], response: [answer(['Content-Length: 4'], 'ok'), 'ok'] },
      ],
    },
  ],
  'What could be read in two ways': [
    {
      what: '`Content-Length` together with `Transfer-Encoding`',
      rule: '501 unsupported',
      exchanges: each([postChunked(length5, chunked)]),
      squid: {
        outcome: 'passes: by its chunks alone',
        why: readsAll,
        arrives: [post(length5)],
      },
      why: 'a server behind the node could use the other one',
    },
    {
      what: 'two lengths, equal or in one line (`5, 5`)',
      rule: '400 bad_request',
      exchanges: each([post(length5, length5), post('Content-Length: 5, 5')]),
      squid: {
        outcome: 'passes: with one',
        why: readsAll,
        arrives: [post(length5), post(length5)],
      },
    },
    {
      what: 'two different lengths, or one that is not a number (`+5`, `0x5`, `-1`, empty)',
      rule: '400 bad_request',
      exchanges: each([
        post(length5, 'Content-Length: 6'),
        ...['+5', '0x5', '-1', ''].map((length) => post(`Content-Length: ${length}`)),
      ]),
      squid: { outcome: '411 bad_request', why: 'Squid takes the length as missing' },
    },
    {
      what: 'codings other than `chunked`: `gzip, chunked`, `chunked, chunked`, `xchunked`',
      rule: '501 unsupported',
      exchanges: each(
        ['gzip, chunked', 'chunked, identity', 'chunked, chunked', 'xchunked'].map((coding) =>
          postChunked(`Transfer-Encoding: ${coding}`),
        ),
      ),
    },
    {
      what: 'the coding `identity`',
      rule: '501 unsupported',
      exchanges: each([ask('POST', ['Transfer-Encoding: identity'])]),
      squid: {
        outcome: 'passes: without a body',
        why: 'Squid removes it, and reads what follows as a request',
        arrives: [ask('POST')],
      },
    },
    {
      what: 'chunks whose size cannot be read (`0x5`, too large), or whose lines end in LF',
      rule: 'closed',
      exchanges: each(
        [
          '0x5\r\nhello\r\n0\r\n\r\n',
          '10000000000000005\r\nhello\r\n0\r\n\r\n',
          '5\nhello\n0\n\n',
        ].map((body) => ask('POST', [chunked], body)),
      ),
      why: 'the header has already been sent on',
    },
    {
      what: 'lines that end in LF, or hold a bare CR',
      rule: '400 bad_request',
      exchanges: each(['GET {url} HTTP/1.1\nHost: {host}\nX: 1\n\n', ask('GET', ['X: a\rb'])]),
      squid: {
        outcome: 'passes: with CR LF, and a space for the CR',
        why: readsAll,
        arrives: [ask('GET', ['X: 1']), ask('GET', ['X: a b'])],
      },
    },
    {
      what: 'a header that goes on in the next line (folded)',
      rule: '400 bad_request',
      exchanges: each([ask('GET', ['X-A: 1', ' 2'])]),
      squid: {
        outcome: 'passes: in one line',
        why: readsAll,
        arrives: [ask('GET', ['X-A: 1 2'])],
      },
    },
    {
      what: 'a space before the colon, no name, no colon, a name with a bracket or beyond ASCII, NUL',
      rule: '400 bad_request',
      exchanges: each(
        ['X : 1', 'Content-Length : 5', ': 1', 'nonsense', 'X(y): 1', 'X\xe9: 1', 'X: a\0b'].map(
          (line) => ask('GET', [line]),
        ),
      ),
    },
    {
      what: 'other control characters in a value',
      rule: '400 bad_request',
      exchanges: each([ask('GET', ['X: a\x01b'])]),
      squid: { outcome: 'passes', why: 'Squid lets them through' },
    },
    {
      what: 'a version other than `HTTP/1.x`',
      rule: '505 bad_version',
      exchanges: each([message('GET {url} HTTP/2.0', ['Host: {host}'])]),
    },
  ],
  Headers: [
    {
      what: "any name of letters, digits and ``!#$%&'*+-.^_`|~``; values beyond ASCII, empty or repeated",
      rule: 'passes',
      exchanges: each([
        ask('GET', ['X_y: 1', "X!#$%&'*+-.^_`|~9: 1", 'X-E:', 'X-U: caf\xc3\xa9']),
        ask('GET', ['X-A: 1', 'x-b: 2', 'X-A: 3', 'X-C:a  b  ']),
        ask('GET', [
          'Via: 1.1 a',
          'X-Forwarded-For: 192.0.2.1',
          'Cache-Control: no-cache, max-age=0',
        ]),
        ask('GET', ['Range: bytes=0-1', 'If-None-Match: "a"', 'Accept-Encoding: gzip']),
      ]),
    },
    {
      what: 'several lines of `Cookie`',
      rule: 'passes',
      exchanges: each([ask('GET', ['Cookie: a=1', 'Cookie: b=2'])]),
      embedded: {
        outcome: 'passes: in one line',
        why: 'Node joins them by `; `, as browsers do',
        arrives: [ask('GET', ['Cookie: a=1; b=2'])],
      },
    },
    {
      what: 'headers for the next hop: `Connection` and what it lists, `Keep-Alive`, `TE`, `Upgrade`, `Proxy-…`',
      rule: 'passes: without them',
      exchanges: [
        ['Connection: X-Hop, close', 'X-Hop: 1'],
        ['Connection: TE', 'TE: trailers', 'Keep-Alive: 300'],
        ['Connection: Upgrade', 'Upgrade: websocket'],
        ['Proxy-Connection: keep-alive'],
      ].map((lines) => ({ request: ask('GET', lines), arrives: ask('GET') })),
      why: 'WebSocket needs a tunnel',
    },
    {
      what: '`Connection: Content-Length`',
      rule: 'passes: with the length',
      exchanges: [{ request: post('Connection: Content-Length', length5), arrives: post(length5) }],
    },
    {
      what: 'a header of 64 KiB in all, in one line or in 2,500',
      rule: 'passes',
      exchanges: each([
        ask('GET', headers(60)),
        ask('GET', [`Cookie: ${x(60_000)}`]),
        ask(
          'GET',
          Array.from({ length: 2500 }, (_, index) => `X-${index}: 1`),
        ),
      ]),
    },
    {
      what: 'a longer one',
      rule: '431 long_header',
      exchanges: each([ask('GET', headers(70))]),
    },
    {
      what: '`Cache-Control: only-if-cached`',
      rule: 'passes',
      exchanges: each([ask('GET', ['Cache-Control: only-if-cached'])]),
      squid: {
        outcome: '504 not_cached',
        why: 'Squid answers as a cache, and the cache is empty',
      },
    },
    {
      what: 'HTTP/1.0, with and without a body',
      rule: 'passes: as HTTP/1.1',
      exchanges: [
        { request: message('GET {url} HTTP/1.0', []), arrives: ask('GET') },
        { request: message('POST {url} HTTP/1.0', [length5], 'hello'), arrives: post(length5) },
      ],
    },
  ],
  Responses: [
    {
      what: 'every status from 200 to 599',
      rule: 'passes',
      exchanges: [200, 201, 206, 226, 300, 301, 400, 404, 407, 500, 503, 511].map((status) => ({
        request: ask('GET'),
        response: answer([length2], 'ok', `HTTP/1.1 ${status} ${standardReason(status)}`),
      })),
    },
    {
      what: 'without a body: 204, 304, `HEAD`',
      rule: 'passes',
      exchanges: [
        { request: ask('GET'), response: answer([], '', 'HTTP/1.1 204 No Content') },
        { request: ask('GET'), response: answer(['ETag: "a"'], '', 'HTTP/1.1 304 Not Modified') },
        { request: ask('HEAD'), response: answer(['Content-Length: 200'], '') },
      ],
    },
    {
      what: 'unusual reason phrases, or none',
      rule: 'passes',
      exchanges: [
        answered([length2], 'ok', 'HTTP/1.1 404 What You Like'),
        answered([length2], 'ok', 'HTTP/1.1 200 D\xe9j\xe0'),
        answered([length2], 'ok', 'HTTP/1.1 200 '),
        answered([length2], 'ok', 'HTTP/1.1 200'),
      ],
      squid: {
        outcome: 'passes: with the usual phrase',
        why: 'Squid writes its own',
        comes: ['404 Not Found', '200 OK', '200 OK', '200 OK'].map((status) =>
          answer([length2], 'ok', `HTTP/1.1 ${status}`),
        ),
      },
    },
    {
      what: 'statuses from 600 to 999',
      rule: 'passes',
      exchanges: [600, 999].map((status) => answered([length2], 'ok', `HTTP/1.1 ${status} X`)),
      squid: { outcome: '502 broken_answer', why: 'Squid knows statuses up to 599' },
    },
    {
      what: 'interim responses: `103 Early Hints`, `102 Processing`',
      rule: 'passes',
      exchanges: ['103 Early Hints\r\nLink: </a>; rel=preload', '102 Processing'].map(
        (interim) => ({
          request: ask('GET'),
          response: `HTTP/1.1 ${interim}\r\n\r\n${answer([length2])}`,
        }),
      ),
    },
    {
      what: 'a body in chunks, or until the connection ends, of HTTP/1.1 and 1.0',
      rule: 'passes',
      exchanges: [
        answered([chunked], '2\r\nok\r\n0\r\n\r\n'),
        answered([chunked], '2;a=b\r\nok\r\n0\r\nX-T: 1\r\n\r\n'),
        answered([]),
        ...[answered([], 'ok'), answered([length2], 'ok')].map(({ request, response }) => ({
          request,
          response: (response as string).replace('HTTP/1.1', 'HTTP/1.0'),
          comes: response as string,
        })),
      ],
      why: 'extensions and trailers of chunks are dropped',
    },
    {
      what: 'any header: cookies, caching, `Server`, `Via`, `Alt-Svc`, a content coding',
      rule: 'passes',
      exchanges: [
        answered(['Set-Cookie: a=1', 'Set-Cookie: b=2', length2]),
        answered(['Content-Encoding: gzip', 'Vary: Accept-Encoding', length2]),
        answered(['Server: nginx', 'Age: 3', 'Via: 1.1 varnish', 'Alt-Svc: h3=":443"', length2]),
        answered(['Cache-Control: public, max-age=60', 'ETag: "x"', 'Expires: 0', length2]),
        answered(['X-U: caf\xc3\xa9', length2]),
      ],
    },
    {
      what: '`X-Cache`, `X-Cache-Lookup`, `Cache-Status`',
      rule: 'passes',
      exchanges: [
        answered(['X-Cache: HIT', 'X-Cache-Lookup: HIT', 'Cache-Status: a; hit', length2]),
      ],
      squid: {
        outcome: 'passes: without them',
        why: 'Squid adds its own to them, and cannot separate them afterwards',
        comes: [answer([length2])],
      },
    },
    {
      what: 'a header of 64 KiB in all',
      rule: 'passes',
      exchanges: [
        answered([...headers(60), length2]),
        answered([...Array.from({ length: 2500 }, (_, index) => `X-${index}: 1`), length2]),
      ],
    },
    {
      what: 'a longer one',
      rule: '502 long_answer',
      exchanges: [answered([...headers(70), length2])],
      squid: { outcome: '502 long_header', why: 'Squid uses one page for both' },
    },
    {
      what: 'two equal lengths (`2, 2`), both length and coding, folded headers, LF or CR alone, a space before the colon',
      rule: '502 broken_answer',
      exchanges: [
        answered([length2, length2]),
        answered(['Content-Length: 2, 2']),
        answered(['X-A: 1', ' 2', length2]),
        { request: ask('GET'), response: 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok' },
        answered(['X: a\rb', length2]),
        answered(['X : 1', length2]),
        answered(['Content-Length : 2']),
      ],
      squid: {
        outcome: 'passes: cleaned',
        why: readsAll,
        comes: [[], [], ['X-A: 1 2'], [], ['X: a b'], ['X: 1'], []].map((lines) =>
          answer([...lines, length2]),
        ),
      },
      why: 'clients could read it differently from the node',
    },
    {
      what: 'other unclear lengths and codings, bad names and statuses, NUL, `101`',
      rule: '502 broken_answer',
      exchanges: [
        answered([length2, 'Content-Length: 3']),
        answered(['Content-Length: +2']),
        answered(['Content-Length: -2']),
        answered(['Transfer-Encoding: gzip, chunked'], '2\r\nok\r\n0\r\n\r\n'),
        answered(['Transfer-Encoding: gzip']),
        answered(['nonsense', length2]),
        answered(['X(y): 1', length2]),
        answered(['X y: 1', length2]),
        answered(['X: a\0b', length2]),
        answered([length2], 'ok', 'HTTP/1.1 99 X'),
        answered([length2], 'ok', 'HTTP/1.1 1000 X'),
        answered(['Upgrade: x', 'Connection: upgrade'], '', 'HTTP/1.1 101 Switching Protocols'),
      ],
    },
    {
      what: 'not HTTP at all: the banner of another service',
      rule: '502 broken_answer',
      exchanges: [{ request: ask('GET'), response: 'SSH-2.0-OpenSSH_9.2\r\n' }],
      squid: {
        outcome: 'passes: as the body of a 200',
        why: 'Squid treats it as HTTP/0.9; refusing it by `http_reply_access` would break its framing',
        comes: [
          answer(
            ['X-Transformed-From: HTTP/0.9', 'Mime-Version: 1.0', 'Expires: -1'],
            'SSH-2.0-OpenSSH_9.2\r\n',
          ),
        ],
      },
    },
    {
      what: 'the connection ends before a response',
      rule: '502 no_answer',
      exchanges: [{ request: ask('GET'), response: '' }],
    },
    {
      what: '… in the middle of a response',
      rule: 'passes: ends there, too',
      exchanges: [answered(['Content-Length: 20'])],
    },
    {
      what: 'bytes after a response',
      rule: 'passes: without them',
      exchanges: [
        {
          request: ask('GET'),
          response: `${answer([length2])}HTTP/1.1 200 OK\r\n\r\nbad`,
          comes: answer([length2]),
        },
      ],
    },
  ],
};

function standardReason(status: number): string {
  return STATUS_CODES[status] ?? '';
}
