// Requests that are no clean HTTP: one refusal, then the connection is closed, and nothing after it
// is read as a request.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { basic, startTestApp, type TestApp } from './harness.ts';

/** Writes bytes and answers everything that came back until the other side closed. */
function exchange(base: string, bytes: string | Buffer, patience_ms = 3000): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let heard = '';
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`still open; heard ${JSON.stringify(heard.slice(0, 300))}`));
    }, patience_ms);
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(late);
      resolve(heard);
    });
  });
}

eachDatabase((database) => {
  describe('on a raw connection', () => {
    let t: TestApp;
    let authorization: string;
    beforeAll(async () => {
      t = await startTestApp(await database.url());
      await t.server('fra1');
      authorization = `Authorization: ${basic((await t.account('acme', { servers: ['fra1'] })).api_token)}`;
    });
    afterAll(() => t.stop());

    const body = () => JSON.stringify({ ip: '203.0.113.7', user: 'alice', expiry: t.now() + 3600 });
    const post = (headers: string[], payload = body()) =>
      [
        'POST /v0/contract/ip-authlist HTTP/1.1',
        'Host: a',
        authorization,
        'Content-Type: application/json',
        ...headers,
        '',
        payload,
      ].join('\r\n');
    /** A second request behind the broken one: it must not be answered. */
    const smuggled = () =>
      ['DELETE /v0/contract/ip-authlist HTTP/1.1', 'Host: a', authorization, '', ''].join('\r\n');

    const cases: Array<[string, () => string | Buffer, RegExp]> = [
      [
        'two Host headers',
        () => ['GET /v0 HTTP/1.1', 'Host: a', 'Host: b', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'two Authorization headers',
        () =>
          [
            'GET /v0 HTTP/1.1',
            'Host: a',
            authorization,
            'authorization: Bearer ewo_x',
            '',
            '',
          ].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'no Host header',
        () => ['GET /v0 HTTP/1.1', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'both lengths',
        () => post(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled()}`),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'two lengths',
        () => post(['Content-Length: 5', `Content-Length: ${body().length}`]) + smuggled(),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'a length that is no number',
        () => post(['Content-Length: 5, 6']) + smuggled(),
        /^HTTP\/1\.1 400 /,
      ],
      ['a negative length', () => post(['Content-Length: -5']) + smuggled(), /^HTTP\/1\.1 400 /],
      [
        'a chunk size that is none',
        () => post(['Transfer-Encoding: chunked'], `zz\r\n{}\r\n0\r\n\r\n${smuggled()}`),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'the transfer coding that is none',
        () => post(['Transfer-Encoding: identity'], smuggled()),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'an unknown transfer coding',
        () => post(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${smuggled()}`),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'a blank before the colon',
        () => post(['Content-Length : 5']) + smuggled(),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'a folded header',
        () => ['GET /v0 HTTP/1.1', 'Host: a', 'X: y', ' z', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'a NUL in a header',
        () => ['GET /v0 HTTP/1.1', 'Host: a', 'X: y\0z', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'a NUL in the path',
        () => ['GET /v0\0 HTTP/1.1', 'Host: a', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'an unknown method',
        () => ['BREW /v0 HTTP/1.1', 'Host: a', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'an unknown version',
        () => ['GET /v0 HTTP/9.9', 'Host: a', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 400 /,
      ],
      ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^HTTP\/1\.1 400 /],
      [
        'the beginning of TLS',
        () => Buffer.from('16030100a5010000a10303', 'hex'),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'garbage',
        () => Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 37 + 128) % 256)),
        /^HTTP\/1\.1 400 /,
      ],
      [
        'headers of 20 KB',
        () =>
          ['GET /v0 HTTP/1.1', 'Host: a', `X: ${'y'.repeat(20_000)}`, authorization, '', ''].join(
            '\r\n',
          ),
        /^HTTP\/1\.1 431 /,
      ],
      [
        'a path of 20 KB',
        () =>
          [`GET /v0/${'y'.repeat(20_000)} HTTP/1.1`, 'Host: a', authorization, '', ''].join('\r\n'),
        /^HTTP\/1\.1 431 /,
      ],
    ];
    test.each(cases)('%s: refused, and closed', async (_, bytes, refusal) => {
      const heard = await exchange(t.base_url, bytes());
      expect(heard).toMatch(refusal);
      expect(heard.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(heard.toLowerCase()).toContain('connection: close');
      expect(heard).toMatch(/content-type: application\/json; charset=UTF-8/i);
      // A request that could not be read is answered as under /v0: the code is in the header alone.
      expect(JSON.parse(heard.split('\r\n\r\n')[1] ?? '')).toEqual({
        message: expect.stringMatching(/\w/),
      });
      expect(/^exitward-error: (\w+)\r$/im.exec(heard)?.[1]).toBe(
        heard.startsWith('HTTP/1.1 431') ? 'headers_too_large' : 'bad_request',
      );
      // The server lives, and nothing was done.
      expect(
        (
          await t
            .with(authorization.slice('Authorization: '.length))
            .get('/v0/contract/ip-authlist')
        ).body,
      ).toEqual([]);
    });

    test('a body larger than 64 KiB is refused with 400', async () => {
      const large = 'x'.repeat(70_000);
      const heard = await exchange(
        t.base_url,
        post(['Connection: close', `Content-Length: ${large.length}`], large),
      );
      expect(heard).toMatch(/^HTTP\/1\.1 400 /);
      expect(heard).toContain('64 KiB');
    });

    test('CONNECT opens no tunnel', async () => {
      const heard = await exchange(
        t.base_url,
        'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
      );
      expect(heard).not.toMatch(/^HTTP\/1\.1 2/);
    });

    test('an Upgrade is ignored', async () => {
      const heard = await exchange(
        t.base_url,
        [
          'GET /v0 HTTP/1.1',
          'Host: a',
          authorization,
          'Connection: Upgrade, close',
          'Upgrade: websocket',
          '',
          '',
        ].join('\r\n'),
      );
      expect(heard).toMatch(/^HTTP\/1\.1 200 /);
    });

    test('an unknown Expect is ignored', async () => {
      const heard = await exchange(
        t.base_url,
        [
          'GET /v0 HTTP/1.1',
          'Host: a',
          authorization,
          'Expect: tea',
          'Connection: close',
          '',
          '',
        ].join('\r\n'),
      );
      expect(heard).toMatch(/^HTTP\/1\.1 200 /);
      expect(heard).toMatch(/content-type: application\/json; charset=UTF-8/i);
    });

    test('requests in a row on one connection are answered in their order', async () => {
      const get = (path: string, more: string[] = []) =>
        [`GET ${path} HTTP/1.1`, 'Host: a', authorization, ...more, '', ''].join('\r\n');
      const heard = await exchange(
        t.base_url,
        get('/v0') + get('/v0/nothing') + get('/v0/users', ['Connection: close']),
      );
      expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual([
        'HTTP/1.1 200',
        'HTTP/1.1 404',
        'HTTP/1.1 200',
      ]);
    });
  });
});
