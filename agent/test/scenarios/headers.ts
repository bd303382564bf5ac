// The headers that are passed on, and those that are not.
import { expect, test } from 'vitest';
import * as t from '../proxy_world.ts';
import { at } from './family.ts';
import type { Scene } from './scene.ts';

export function headers(s: Scene): void {
  const f = s.family;
  test('what is meant for the proxy is not sent on, and nothing is added about the client', async () => {
    const client = await t.Client.open(s.normal);
    const answer = await client.ask(
      [
        `POST ${s.url}path?q=1 HTTP/1.1`,
        'Host: elsewhere.example',
        `Proxy-Authorization: ${t.basic(t.tokenOf(1))}`,
        'Proxy-Connection: keep-alive',
        'Connection: keep-alive, X-Hop',
        'X-Hop: 1',
        'TE: trailers',
        'X-Own: kept',
        'Content-Length: 5',
        '',
        'hello',
      ].join('\r\n'),
    );
    const seen = t.read(answer);
    expect(seen).toMatchObject({ method: 'POST', url: '/path?q=1', body_bytes: 5 });
    expect(seen.headers).toMatchObject({
      host: `${at(f.originIp)}:${s.origin.port}`,
      'x-own': 'kept',
    });
    const others = ['host', 'x-own', 'content-length', 'connection'];
    expect(Object.keys(seen.headers).filter((header) => !others.includes(header))).toEqual([]);
    client.socket.destroy();
  });

  // In both directions: no engine adds, removes or rewrites one of them.
  const asTheyCame: Array<Record<string, string>> = [
    {},
    { 'cache-control': 'no-cache' },
    { 'cache-control': 'max-stale=3, x-own="a,b", Max-Age=7' },
    { 'x-forwarded-for': '192.0.2.99, unknown' },
    { forwarded: 'for=192.0.2.99;proto=http', 'x-real-ip': '192.0.2.99' },
    { via: '1.0 mine (squid/4)', pragma: 'no-cache' },
    { server: 'nginx', age: '5', warning: '199 - "old"' },
    { 'user-agent': 'a b/c', accept: '*/*', 'mime-version': '1.0', 'x-squid-error': 'ERR_X 0' },
  ];
  /** These headers as the origin saw them, and as they came back. */
  const exchange = async (through: t.Through, url: string, own: Record<string, string>) => {
    const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`);
    const target = `${url}with/${encodeURIComponent(JSON.stringify(own))}`;
    const client = await t.Client.open(through);
    const request = t.requestText('GET', target).replace(/\r\n$/, `${lines.join('')}\r\n`);
    const answer = await client.ask(request);
    client.socket.destroy();
    const passed = (headers: object) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !ofTheHop.includes(name)));
    return [passed(t.read(answer).headers), passed(answer.headers)];
  };
  test.each(asTheyCame)('headers pass as they came, and none is added: %j', async (own) => {
    expect(await exchange(s.normal, s.url, own)).toEqual([own, own]);
  });

  test('headers pass as they came where a custom DNS entry says where to', async () => {
    await s.having([t.overrideRecord(1, 'www.example', f.otherOriginIp)], async () => {
      const url = `http://www.example:${s.origin.port}/`;
      for (const own of asTheyCame)
        expect(await exchange(s.override, url, own)).toEqual([own, own]);
    });
  });

  test('an answer of the proxy itself does not show which program it is', async () => {
    const private_ = `${at(f.privateIp)}:${s.origin.port}`;
    const answers = [
      ...(await s.askBoth({ ...s.normal, from: f.sources[2] })),
      ...(await s.askBoth(s.normal, private_)),
      await t.ask(s.normal, 'GET', `http://${at(f.originIp)}:81/`),
      await t.ask(s.normal, 'GET', 'http://none.example:8080/'),
    ];
    const own = ['x-exitward-reason', 'proxy-authenticate', 'content-type', ...ofTheHop];
    for (const { status, headers } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(Object.keys(headers).filter((name) => !own.includes(name))).toEqual([]);
    }
  });
}

/** Headers that each proxy sets itself, and the date of a response. */
const ofTheHop = [
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'date',
];
