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
    const others = ['host', 'x-own', 'content-length', 'connection', 'cache-control'];
    expect(Object.keys(seen.headers).filter((one) => !others.includes(one))).toEqual([]);
    client.socket.destroy();
  });
}
