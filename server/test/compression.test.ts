// Compressed responses: the same content in fewer bytes, with a tag of its own; and nothing that
// shows a secret.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { compressed } from '../src/http/compression.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, basic } from './harness.ts';
import { sendRaw } from './raw.ts';

interface Bytes {
  status: number;
  headers: Record<string, string | undefined>;
  body: Buffer;
}

const list = '/v0/contract/ip-authlist';

test('equal bytes are compressed once; when too much waits already, a response goes out as it is', async () => {
  const [plain, other] = [Buffer.alloc(40 * 1024 * 1024), Buffer.alloc(40 * 1024 * 1024)];
  const [first, second] = [compressed(plain, 'gzip', 'a'), compressed(plain, 'gzip', 'b')];
  expect(await compressed(other, 'gzip', 'b')).toBeUndefined();
  expect(await first).toBe(await second);
  expect(await compressed(other, 'gzip', 'b')).toEqual(await first);
});

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;

  beforeAll(async () => {
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'] });
    alice = await t.signIn('acme', 'alice');
    for (let at = 1; at <= 20; at += 1) await add(at);
  });

  const add = async (at: number) => {
    const entry = { ip: `192.0.2.${at}`, user: 'alice', expiry: t.now() + 3600 };
    expect((await t.as(acme).post('/contract/ip-authlist', entry)).status).toBe(201);
  };
  const send = async (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<Bytes> => {
    const all = { authorization: basic(acme.api_token), ...headers };
    const answer = await sendRaw(t.base_url, { method, path, headers: Object.entries(all).flat() });
    const lines = answer.headerLines;
    const named = lines.flatMap((name, at) =>
      at % 2 === 0 ? [[name.toLowerCase(), lines[at + 1]]] : [],
    );
    return { status: answer.status, headers: Object.fromEntries(named), body: answer.bytes };
  };
  const opened = ({ headers, body }: Bytes): string => {
    const encoding = headers['content-encoding'];
    if (encoding === 'br') return brotliDecompressSync(body).toString();
    return (encoding === 'gzip' ? gunzipSync(body) : body).toString();
  };

  test('a response of 1 kB and more is compressed as the client prefers, the first and the cached one alike', async () => {
    const plain = await send(list);
    expect(plain.body.length).toBeGreaterThan(1000);
    const ways = {
      br: 'br',
      gzip: 'gzip',
      'gzip, deflate, br, zstd': 'br',
      'br;q=0.5, gzip': 'gzip',
      'br;q=0, gzip;q=0.1': 'gzip',
      '*': 'br',
      'BR; q=1.0': 'br',
      identity: undefined,
      'br;q=0': undefined,
      ';;,q=,': undefined,
    };
    for (const [accepted, encoding] of Object.entries(ways)) {
      for (const url of [list, `${list}?user=alice`]) {
        for (const time of ['first', 'cached']) {
          const answer = await send(url, { 'accept-encoding': accepted });
          expect(answer.headers['content-encoding'], `${accepted}, ${time}`).toBe(encoding);
          expect(answer.headers.vary).toBe('authorization, accept-encoding');
          expect(answer.headers['content-length']).toBe(String(answer.body.length));
          expect(opened(answer)).toBe(plain.body.toString());
          if (encoding) expect(answer.body.length).toBeLessThan(plain.body.length / 3);
        }
      }
      await add(100 + Object.keys(ways).indexOf(accepted));
      plain.body = (await send(list)).body;
    }
  });

  test('a smaller one is not, nor is an error, a change, or what shows a secret', async () => {
    const all = { 'accept-encoding': 'br, gzip' };
    const small = await send(`${list}/1`, all);
    expect(small.headers['content-encoding']).toBeUndefined();
    expect(small.headers.vary).toBe('authorization');
    const notes = 'n'.repeat(60);
    const token = await alice.send('POST', '/tokens', { name: notes, password: 'x' }, all);
    expect(token.headers.get('content-encoding')).toBeNull();
    const missing = await send(`/v0/${'x'.repeat(2000)}`, all);
    expect(missing.headers['content-encoding']).toBeUndefined();
  });

  test('each encoding has a strong tag of its own, and each tag names the version in If-None-Match and If-Match', async () => {
    const tags = new Set<string>();
    for (const accepted of ['identity', 'gzip', 'br']) {
      const { headers } = await send(list, { 'accept-encoding': accepted });
      tags.add(String(headers.etag));
    }
    expect(tags.size).toBe(3);
    for (const tag of tags) {
      expect(tag).toMatch(/^"[^"]+"$/);
      for (const condition of [tag, `"other", W/${tag}`]) {
        const same = await send(list, { 'if-none-match': condition, 'accept-encoding': 'br' });
        expect([same.status, same.body.length]).toEqual([304, 0]);
      }
      const same = await send(list, { 'if-none-match': tag });
      expect([same.status, same.headers.etag]).toEqual([304, tag]);
      expect((await send(list, { 'if-match': tag })).status).toBe(200);
    }
    await add(90);
    for (const tag of tags) {
      expect((await send(list, { 'if-none-match': tag })).status).toBe(200);
      const stale = await send(list, { 'if-match': tag }, 'DELETE');
      expect(stale.status).toBe(412);
    }
  });

  test('HEAD answers with the headers of GET, and a range is ignored', async () => {
    for (const accepted of ['identity', 'gzip', 'br']) {
      const get = await send(list, { 'accept-encoding': accepted });
      const head = await send(list, { 'accept-encoding': accepted }, 'HEAD');
      for (const name of ['etag', 'vary', 'content-encoding', 'content-length']) {
        expect(head.headers[name], name).toBe(get.headers[name]);
      }
      const range = await send(list, { 'accept-encoding': accepted, range: 'bytes=0-9' });
      expect([range.status, range.body.length]).toEqual([200, get.body.length]);
    }
  });

  test('the lists of the console and of operators are compressed too; events are not, and come at once', async () => {
    const cookie = { cookie: alice.cookie, 'accept-encoding': 'br' };
    const own = await send('/console/authlist', cookie);
    expect(own.headers['content-encoding']).toBe('br');
    expect(JSON.parse(opened(own)).length).toBeGreaterThan(20);
    const answer = await fetch(`${t.base_url}/console/events`, { headers: cookie });
    expect(answer.headers.get('content-encoding')).toBeNull();
    const { value } = await (answer.body as ReadableStream<Uint8Array>).getReader().read();
    expect(new TextDecoder().decode(value)).toContain('event: change');
  });

  test('files that the build has compressed are sent so, unchanged ones not at all', async () => {
    for (const path of ['/docs/reference.js', '/docs/openapi.json']) {
      const plain = await send(path);
      expect(plain.headers.vary).toMatch(/^(authorization, )?accept-encoding$/);
      for (const accepted of ['gzip', 'br']) {
        const answer = await send(path, { 'accept-encoding': accepted });
        expect(answer.headers['content-encoding']).toBe(accepted);
        expect(answer.headers.vary).toBe(plain.headers.vary);
        expect(opened(answer)).toBe(plain.body.toString());
        expect(answer.body.length).toBeLessThan(plain.body.length * 0.75);
        const tag = answer.headers.etag;
        if (!tag) continue;
        const same = await send(path, {
          'if-none-match': String(tag),
          'accept-encoding': accepted,
        });
        expect([same.status, same.headers.etag]).toEqual([304, tag]);
      }
    }
  });
});
