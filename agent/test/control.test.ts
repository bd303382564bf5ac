// The HTTP client of the node interface: responses, streams and silence.

import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { KeyPair } from '../../server/test/certificate.ts';
import { ControlError } from '../src/control_error.ts';
import { HttpControl, joinControl, type StreamEvent } from '../src/link/control.ts';
import { EventReader } from '../src/link/events.ts';
import { createCertificate, createCertificateChain } from './node_records.ts';

const servers: Server[] = [];
const over = new AbortController();

async function serve(answer: RequestListener, pair?: KeyPair): Promise<string> {
  const server = pair ? createHttpsServer(pair, answer) : createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scheme = pair ? 'https' : 'http';
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function control(answer: RequestListener, more: object = {}): Promise<HttpControl> {
  const url = await serve(answer);
  return new HttpControl({ url, token: 'ewn_t', signal: over.signal, ...more });
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const start = { epoch: 'e', revision: 1 };
const noBatch = { boot: 'b', seq: 1, rows: [] };
const never = new AbortController().signal;

async function failure(work: Promise<unknown>): Promise<ControlError> {
  const error = await work.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(ControlError);
  return error as ControlError;
}

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of all) items.push(item);
  return items;
}

test('an unknown authority is reported with the setting that adds it', async () => {
  const chain = createCertificateChain('127.0.0.1');
  const withRoot = { ...chain, cert: chain.cert + chain.authority };
  const [leaf = ''] = chain.cert.split(/(?<=-----END CERTIFICATE-----\n)/);
  for (const [pair, code] of [
    [createCertificate('127.0.0.1'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [chain, 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
    [withRoot, 'SELF_SIGNED_CERT_IN_CHAIN'],
    [{ ...chain, cert: leaf }, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const) {
    const url = await serve((_request, response) => response.end(), pair);
    const { message } = await failure(joinControl(url, { code: 'ewi_x', name: 'n', version: '0' }));
    expect(message).toContain(`from an authority unknown here (${code})`);
    expect(message).toContain('NODE_EXTRA_CA_CERTS');
    expect(message).not.toContain('Node.js');
  }
});

describe('server-sent events', () => {
  const text = [
    ': a comment\n',
    'id: e:2\nevent: change\ndata: ["ä€😀",\ndata:  1]\n\n',
    'retry: 5\r\nid: e:3\r\nevent: position\r\ndata: 3\r\n\r\n',
    'event: position\n\n',
    'data\n\n',
  ].join('');
  const whole = [
    { id: 'e:2', event: 'change', data: '["ä€😀",\n 1]' },
    { id: 'e:3', event: 'position', data: '3' },
    { data: '' },
  ];

  test('are read the same however the bytes are cut', () => {
    const bytes = Buffer.from(text);
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, (places) => {
        const reader = new EventReader(1000);
        const at = [0, ...places.sort((a, b) => a - b), bytes.length];
        const read = at.flatMap((from, i) => reader.read(bytes.subarray(from, at[i + 1])));
        expect(read).toEqual(whole);
      }),
    );
  });

  test('may not have a line that is longer than is allowed, also one without an end', () => {
    const short = Buffer.from('data: 4567\ndata: 8901\n\n');
    expect(new EventReader(10).read(short)).toHaveLength(1);
    const reader = new EventReader(10);
    expect(reader.read(Buffer.from('data: 4567'))).toEqual([]);
    expect(() => reader.read(Buffer.from('8'))).toThrow('longer than 10 characters');
  });

  test('may not have more data in all than is allowed, also of empty lines', () => {
    const reader = new EventReader(10);
    const [line] = [Buffer.from('data: 4567\n')];
    expect([...reader.read(line), ...reader.read(line)]).toEqual([]);
    expect(() => reader.read(line)).toThrow('an event of the stream is longer than 10 characters');
    const empty = new EventReader(10);
    expect(() => empty.read(Buffer.from('data\n'.repeat(12)))).toThrow('an event');
    // The next event begins without the data of this one.
    const twice = Buffer.from('data: 4567\ndata: 8901\n\n'.repeat(2));
    expect(new EventReader(10).read(twice)).toHaveLength(2);
  });

  test('take no more memory for coming byte by byte', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc');
    const held = () => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const reader = new EventReader(2 ** 22);
    const before = held();
    for (let i = 0; i < 2 ** 20; i += 1) reader.read(Buffer.from('a'));
    expect(reader.heldBytes).toBe(2 ** 20);
    expect(held() - before).toBeLessThan(2 ** 25);
  });
});

describe('the stream', () => {
  test('begins after the position, with the token, and yields changes and positions', async () => {
    const heard: unknown[] = [];
    const instance = await control((request, response) => {
      heard.push(request.url, request.headers.authorization, request.headers['last-event-id']);
      response.end(
        'id: e:2\nevent: change\ndata: [{"kind":"keys","value":[]}]\n\nevent: news\ndata: 1\n\nid: e:9\nevent: position\ndata: 9\n\n',
      );
    });
    const events: StreamEvent[] = await collect(instance.changes(start, never));
    expect(heard).toEqual(['/node/changes', 'Bearer ewn_t', 'e:1']);
    expect(events).toEqual([
      { position: { epoch: 'e', revision: 2 }, records: [{ kind: 'keys', value: [] }] },
      { position: { epoch: 'e', revision: 9 }, records: [] },
    ]);
  });

  test.each([
    ['id: e\nevent: position\ndata: 1\n\n', /"e" is no id/],
    ['event: position\ndata: 1\n\n', /"" is no id/],
    ['id: e:1.5\nevent: position\ndata: 1\n\n', /no id/],
    ['id: e:2\nevent: change\ndata: [\n\n', /no(t a)? list of records/],
    ['id: e:2\nevent: change\ndata: {}\n\n', /not a list of records/],
  ])('of %j fails', async (text, says) => {
    const instance = await control((_request, response) => void response.end(text));
    expect((await failure(collect(instance.changes(start, never)))).message).toMatch(says);
  });

  test('with an event that is too long asks for a snapshot', async () => {
    const instance = await control(
      (_request, response) => void response.write('data: 1234567890'),
      {
        max_event_length: 12,
      },
    );
    expect((await failure(collect(instance.changes(start, never)))).code).toBe('snapshot_needed');
  });

  test('is dead when nothing is heard for a while, and not before', async () => {
    const instance = await control(
      (_request, response) => {
        const say = (revision: number) =>
          response.write(`id: e:${revision}\nevent: position\ndata: ${revision}\n\n`);
        say(2);
        setTimeout(() => say(3), 700);
        setTimeout(() => say(4), 1400);
      },
      { silence_seconds: 1.2 },
    );
    const events: StreamEvent[] = [];
    const following = (async () => {
      for await (const event of instance.changes(start, never)) events.push(event);
    })();
    expect((await failure(following)).message).toBe('nothing was heard for 1.2 seconds');
    expect(events).toHaveLength(3);
  });

  /**
   * A stream that sends this every 20 milliseconds; returns the error with which it fails in time.
   */
  async function dripped(piece: string, silence_seconds: number, within: number): Promise<string> {
    const instance = await control(
      (_request, response) => {
        const timer = setInterval(() => response.write(piece), 20);
        response.once('close', () => clearInterval(timer));
      },
      { silence_seconds },
    );
    const stop = AbortSignal.timeout(within);
    return (await failure(collect(instance.changes(start, stop)))).message;
  }

  test.each([': alive\n', 'd', 'event: news\ndata: 1\n\n', 'retry: 1\n'])(
    'of nothing but %j is dead',
    async (piece) => {
      expect(await dripped(piece, 0.1, 30_000)).toBe('nothing was heard for 0.1 seconds');
    },
  );

  test('of which a large event comes is not dead', async () => {
    const large = `data: ${'x'.repeat(100_000)}`;
    expect(await dripped(large, 0.8, 1500)).not.toMatch(/nothing was heard/);
  });

  test('ends when its signal is aborted', async () => {
    const instance = await control((_request, response) => void response.write(': 1\n'));
    const stop = new AbortController();
    const following = collect(instance.changes(start, stop.signal));
    setTimeout(() => stop.abort(), 20);
    await failure(following);
  });
});

describe('an answer', () => {
  const ofTokens = { 'www-authenticate': 'Bearer', 'x-request-id': 'r1' };

  test.each([
    [401, '{"message":"gone"}', ofTokens, { status: 401, isOurs: true, message: 'gone' }],
    [401, '{"message":"gone"}', {}, { status: 401, isOurs: false }],
    [401, '{"message":"gone"}', { ...ofTokens, 'x-request-id': [] }, { isOurs: false }],
    [401, '{"message":"gone"}', { ...ofTokens, 'www-authenticate': 'Basic' }, { isOurs: false }],
    [409, '{"message":"gone"}', {}, { status: 409, isOurs: true, code: undefined }],
    [409, '<html>', {}, { status: 409, isOurs: false }],
    [401, '{"message":"gone","code":"unauthorized"}', {}, { isOurs: false, code: undefined }],
    [401, '{"message":"gone","code":"node_token_unknown"}', {}, { isOurs: true, message: 'gone' }],
    [401, '{"message":"gone","code":"node_token_unknown"}', {}, { code: 'node_token_unknown' }],
    [409, '{"message":"gone","code":"snapshot_needed"}', {}, { code: 'snapshot_needed' }],
    [409, '{"message":"no","code":"revision_ahead"}', {}, { code: 'revision_ahead' }],
    [503, '{"message":"no","code":"maintenance"}', {}, { code: 'maintenance', field: undefined }],
    [400, '{"message":"x","code":"invalid_field","field":"rows.3.at"}', {}, { field: 'rows.3.at' }],
    [400, '{"message":"x","code":7,"field":[]}', {}, { code: undefined, field: undefined }],
    [404, '{"error":"x","code":"not_found"}', {}, { isOurs: false, code: undefined }],
    [401, '<html>', ofTokens, { status: 401, isOurs: false }],
    [401, '{"error":"x"}', {}, { status: 401, isOurs: false }],
    [503, '{"message":"later"}', { 'retry-after': '7' }, { status: 503, retry_after_seconds: 7 }],
    [400, '{}', { date: 'Fri, 15 Jan 2027 12:00:00 GMT' }, { answered_at: 1_800_014_400 }],
    [503, '{"message":"later"}', { 'retry-after': '86400' }, { retry_after_seconds: 30 }],
    [503, '{"message":"later"}', { 'retry-after': 'soon' }, { retry_after_seconds: undefined }],
    [302, '', { location: '/elsewhere' }, { status: 302, isOurs: false }],
  ])('of %i with %s is an error that says so', async (status, body, headers, expected) => {
    const instance = await control((_request, response) => {
      response.writeHead(status, headers);
      response.end(body);
    });
    expect(await failure(instance.acknowledge(start))).toMatchObject(expected);
  });

  test('that does not come in time is an error', async () => {
    const instance = await control(() => {}, { response_seconds: 0.05 });
    expect((await failure(instance.acknowledge(start))).message).toBe(
      'no answer within 0.05 seconds',
    );
  });

  test('that stops in its middle is an error', async () => {
    const silent = await control((_request, response) => void response.write('{"counted"'), {
      response_seconds: 1,
    });
    expect((await failure(silent.reportUsage(noBatch))).message).toMatch(/did not end within/);
    const torn = await control((_request, response) => {
      response.write('{"kind"');
      setTimeout(() => response.destroy(), 20);
    });
    await failure(collect(torn.snapshot(never)));
  });

  test.each([200, 401])('of %i that drips for ever is an error', async (status) => {
    const instance = await control(
      (_request, response) => {
        response.writeHead(status);
        const timer = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(timer));
      },
      { response_seconds: 0.05 },
    );
    const begin = performance.now();
    await failure(instance.reportUsage(noBatch));
    // By the setting: without it, ten seconds.
    expect(performance.now() - begin).toBeLessThan(9000);
  });

  test.each([
    ...['', '{}', 'ok', '{"counted":true}', '{"counted":true,"held":false,"left_out":[]}'],
    '{"counted":1,"held":false,"left_out":[],"limits":[]}',
  ])('of %j does not count usage as taken', async (body) => {
    const instance = await control((_request, response) => void response.end(body));
    await failure(instance.reportUsage(noBatch));
  });

  test('when nobody listens is an error without a status', async () => {
    const url = await serve(() => {});
    servers[0]?.close();
    const error = await failure(joinControl(url, { code: 'c', name: 'n', version: 'v' }));
    expect([error.status, error.message]).toEqual([undefined, expect.stringMatching(/ECONNREF/)]);
  });
});
