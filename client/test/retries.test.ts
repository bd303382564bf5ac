// The requests that a client sends again, when, and how it fails in the end; against a server that
// fails as scripted.
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  ConflictError,
  ConnectionError,
  Exitward,
  ExitwardError,
  type ExitwardOptions,
  InternalServerError,
  NotFoundError,
  PreconditionFailedError,
  TimeoutError,
  TooManyRequestsError,
  UnavailableError,
} from '../src/index.ts';
import { isTransient, isUnclear, pauseSeconds, readRetryAfter } from '../src/retries.ts';
import { type Scripted, type Step, startScripted } from './scripted.ts';

const entry = { id: 7, ip: '203.0.113.7', user: 'alice', user_active: true, expiry: 1_800_003_600 };
const override = { id: 3, server: 'fra1', hostname: 'a.example', ip: '203.0.113.7', expiry: 9 };
const added = { ip: entry.ip, user: entry.user, expiry: entry.expiry };
const unavailable: Step = { status: 503, body: { message: 'Down for maintenance.' } };

const running: Scripted[] = [];
afterAll(async () => {
  for (const server of running.splice(0)) await server.stop();
});

/** A client of a server that takes these steps. */
async function script(options: Partial<ExitwardOptions>, ...steps: Step[]) {
  const server = await startScripted(...steps);
  running.push(server);
  return { server, client: new Exitward({ baseUrl: server.url, token: 'ewa_1', ...options }) };
}

/** The error of a call that fails. */
async function failureOf(call: Promise<unknown>): Promise<ExitwardError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(ExitwardError);
  return failure as ExitwardError;
}

/** The seconds between the first request and the second. */
const gap = ({ requests }: Scripted) => ((requests[1]?.at ?? 0) - (requests[0]?.at ?? 0)) / 1000;

describe('the code of an error', () => {
  const conflict = { message: 'ip: 203.0.113.7 is already on the authlist.' };

  test('is that of the header, also one that this client does not know yet', async () => {
    const headers = { 'exitward-error': 'of_next_year' };
    const { client } = await script({}, { status: 409, headers, body: conflict });
    const failure = await failureOf(client.authlist.add(added));
    expect(failure).toBeInstanceOf(ConflictError);
    expect([failure.code, failure.message]).toEqual(['of_next_year', conflict.message]);
  });

  test.each([
    [400, 'bad_request'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [405, 'method_not_allowed'],
    [409, 'conflict'],
    [412, 'precondition_failed'],
    [429, 'too_many_requests'],
    [500, 'internal_error'],
    [503, 'unavailable'],
    [418, undefined],
    [502, undefined],
  ])('of a server without codes follows from status %i: %s', async (status, code) => {
    const { client } = await script({ retries: 0 }, { status, body: conflict });
    expect(await failureOf(client.authlist.list())).toMatchObject({ status, code });
  });

  test('is missing where there is no response', async () => {
    const { client } = await script({ retries: 0 }, 'cut');
    expect((await failureOf(client.authlist.list())).code).toBeUndefined();
  });
});

describe.concurrent('what is sent again', () => {
  const transient: Array<[string, Step]> = [
    ['a connection that is cut', 'cut'],
    ['a connection that is reset', 'reset'],
    ['an answer that breaks off', 'cut in the answer'],
    ['429', { status: 429 }],
    ['502', { status: 502 }],
    ['503', unavailable],
    ['504', { status: 504 }],
  ];

  test.each(transient)('reading, after %s', async (_, step) => {
    const { server, client } = await script({}, step, { status: 200, body: [entry] });
    expect(await client.authlist.list()).toEqual([entry]);
    expect(server.requests).toHaveLength(2);
  });

  test.each(transient)('removing, after %s', async (_, step) => {
    const { server, client } = await script({}, step, { status: 204 });
    await client.authlist.remove(7);
    expect(server.requests.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
  });

  test.each(transient)('creating, after %s, with the same key and body', async (_, step) => {
    const { server, client } = await script({}, step, { status: 201, body: entry });
    expect(await client.authlist.add(added)).toEqual(entry);
    const [first, second] = server.requests;
    expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(second?.body).toBe(first?.body);
  });

  test('each creation has a key of its own, or the one that it is given', async () => {
    const { server, client } = await script({}, { status: 201, body: entry });
    await client.authlist.add(added);
    await client.authlist.add(added);
    await client.authlist.add(added, { idempotencyKey: 'home-1' });
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe('home-1');
  });

  test('not a creation, on a server without idempotency keys', async () => {
    const { server, client } = await script({ idempotencyKeys: false }, 'cut');
    expect((await failureOf(client.authlist.add(added))).mayHaveActed).toBe(true);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers['idempotency-key']).toBeUndefined();
  });

  test('not a change that the server may have made, whatever its If-Match', async () => {
    for (const options of [{}, { ifMatch: '"1"' }]) {
      for (const step of ['cut', 'reset', 'cut in the answer', unavailable] as const) {
        const { server, client } = await script({}, step);
        const failure = await failureOf(client.authlist.change(7, { ip: added.ip }, options));
        expect(failure.mayHaveActed).toBe(true);
        expect(server.requests).toHaveLength(1);
      }
    }
  });

  test('not a conditional removal that the server may have made: it would fail on its own success', async () => {
    const { server, client } = await script({}, 'cut', { status: 412 });
    const failure = await failureOf(client.authlist.remove(7, { ifMatch: '"1"' }));
    expect(failure).not.toBeInstanceOf(PreconditionFailedError);
    expect(server.requests).toHaveLength(1);
  });

  test('everything that the server refused unread: 429', async () => {
    const calls: Array<(client: Exitward) => Promise<unknown>> = [
      (client) => client.authlist.change(7, { ip: added.ip }),
      (client) => client.authlist.remove(7, { ifMatch: '"1"' }),
      (client) => client.authlist.add(added),
    ];
    for (const call of calls) {
      const { server, client } = await script(
        { idempotencyKeys: false },
        { status: 429 },
        { status: 200, body: entry },
      );
      await call(client);
      expect(server.requests).toHaveLength(2);
    }
  });

  test.each([400, 401, 403, 404, 405, 409, 412, 418, 500])('not what got %d', async (status) => {
    const { server, client } = await script({}, { status, body: { message: 'No.' } });
    const failure = await failureOf(client.authlist.list());
    expect([failure.status, failure.message]).toEqual([status, 'No.']);
    expect(server.requests).toHaveLength(1);
  });
});

describe.concurrent('giving up', () => {
  test('comes after so many retries, with the last error', async () => {
    const { server, client } = await script({ retries: 1 }, { status: 502 }, unavailable);
    const failure = await failureOf(client.contract.get());
    expect(failure).toBeInstanceOf(UnavailableError);
    expect(failure.message).toBe('Down for maintenance.');
    expect(server.requests).toHaveLength(2);
  });

  test('comes at once with no retries, for one call or all', async () => {
    const { server, client } = await script({}, unavailable);
    await failureOf(client.contract.get({ retries: 0 }));
    await failureOf(new Exitward({ baseUrl: server.url, token: 'a', retries: 0 }).contract.get());
    expect(server.requests).toHaveLength(2);
  });

  test('a removal whose first attempt got through is done, though the second finds nothing', async () => {
    const { server, client } = await script({}, 'cut', { status: 404 });
    await client.overrides.remove(3);
    expect(server.requests).toHaveLength(2);
  });

  test('a removal of what is not there fails, also after a pause', async () => {
    const { client } = await script({}, { status: 429 }, { status: 404 });
    expect(await failureOf(client.overrides.remove(3))).toBeInstanceOf(NotFoundError);
  });

  test('an error says whether the server may have acted, also in an earlier attempt', async () => {
    const refused = { status: 409, body: { message: 'Listed already.' } };
    const twice = await script({}, 'cut', refused);
    const after = await failureOf(twice.client.authlist.add(added));
    expect(after).toBeInstanceOf(ConflictError);
    expect(after.mayHaveActed).toBe(true);
    const once = await script({}, refused);
    expect((await failureOf(once.client.authlist.add(added))).mayHaveActed).toBe(false);
    const fault = await script({}, { status: 500 });
    const lost = await failureOf(fault.client.authlist.add(added));
    expect(lost).toBeInstanceOf(InternalServerError);
    expect(lost.mayHaveActed).toBe(true);
    const read = await script({ retries: 0 }, 'cut');
    expect((await failureOf(read.client.contract.get())).mayHaveActed).toBe(false);
  });
});

/** Not at the same time as others: the port that was given back could be another server's. */
describe('a server that is gone', () => {
  test('everything that was never sent: a change comes through once the server is there', async () => {
    const gone = await startScripted();
    await gone.stop();
    const failed = Promise.withResolvers<void>();
    const client = new Exitward({
      baseUrl: gone.url,
      token: 'ewa_1',
      fetch: (...request) =>
        fetch(...request).catch((error: unknown) => {
          failed.resolve();
          throw error;
        }),
    });
    const change = client.authlist.change(7, { ip: added.ip });
    await failed.promise;
    const late = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        const body = JSON.stringify(entry);
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
        );
      });
    });
    await new Promise<void>((resolve) =>
      late.listen(Number(new URL(gone.url).port), '127.0.0.1', resolve),
    );
    expect(await change).toEqual(entry);
    await new Promise((resolve) => late.close(resolve));
  });

  test('https at a service that speaks plain HTTP is tried once', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = new Exitward({ baseUrl: `https://127.0.0.1:${port}`, token: 'ewa_1' });
    const { message } = await failureOf(client.authlist.list());
    expect([message, connections]).toEqual([expect.stringContaining('no TLS was agreed on'), 1]);
    server.close();
  });

  test('a failure that lasts is not tried again, and one before the request changed nothing', () => {
    const untrusted = [
      ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'],
      ...['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ENOTFOUND'],
    ];
    for (const networkCode of untrusted) {
      const verdict = [isTransient({ networkCode }), isUnclear({ networkCode })];
      expect([networkCode, ...verdict]).toEqual([networkCode, false, false]);
    }
    for (const networkCode of ['ECONNRESET', 'ECONNREFUSED', 'EAI_AGAIN', 'ETIMEDOUT', undefined]) {
      expect(isTransient({ networkCode })).toBe(true);
    }
  });

  test('an error of the network says what, where, and why', async () => {
    const gone = await startScripted();
    await gone.stop();
    const client = new Exitward({ baseUrl: gone.url, token: 'ewa_secret', retries: 0 });
    const failure = await failureOf(client.overrides.clear());
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure.message).toMatch(/^DELETE http:\/\/127\.0\.0\.1:\d+\/v0\/contract\/overrides: /);
    expect(failure.message).toContain('ECONNREFUSED');
    expect(failure.cause).toBeInstanceOf(Error);
    expect([failure.status, failure.mayHaveActed]).toEqual([undefined, false]);
  });
});

describe.concurrent('pauses', () => {
  test('are as long as Retry-After says, in seconds', async () => {
    const { server, client } = await script(
      {},
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 200, body: [] },
    );
    await client.authlist.list();
    expect(gap(server)).toBeGreaterThan(0.98);
    expect(gap(server)).toBeLessThan(5);
  });

  test('are as long as Retry-After says by a date of the server, whose clock may be wrong', async () => {
    const date = new Date(1_000_000_000_000);
    const headers = {
      date: date.toUTCString(),
      'retry-after': new Date(date.getTime() + 1000).toUTCString(),
    };
    const { server, client } = await script(
      {},
      { status: 503, headers },
      { status: 200, body: [] },
    );
    await client.authlist.list();
    expect(gap(server)).toBeGreaterThan(0.98);
    expect(gap(server)).toBeLessThan(5);
  });

  test('that would be too long are not taken: the error says how long the server asks for', async () => {
    const { server, client } = await script(
      { longestPauseSeconds: 5 },
      { status: 429, headers: { 'retry-after': '6' } },
    );
    const failure = await failureOf(client.authlist.list());
    expect(failure).toBeInstanceOf(TooManyRequestsError);
    expect(failure.retryAfterSeconds).toBe(6);
    expect(server.requests).toHaveLength(1);
  });

  test('are random and bounded, double each time, and never fall short of what the server asks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.option(fc.nat(60), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, requestedSeconds, random) => {
          const least = requestedSeconds ?? 0;
          expect(pauseSeconds(attempt, requestedSeconds, 0)).toBe(least);
          const seconds = pauseSeconds(attempt, requestedSeconds, random);
          expect(seconds).toBeGreaterThanOrEqual(least);
          expect(seconds - least).toBeLessThanOrEqual(8);
        },
      ),
    );
    const spans = [1, 2, 3, 4, 5, 6].map((attempt) => pauseSeconds(attempt, undefined, 1));
    expect(spans).toEqual([0.5, 1, 2, 4, 8, 8]);
  });

  test.each([
    ['', undefined],
    ['soon', undefined],
    ['-5', undefined],
    ['0', 0],
    [' 120 ', 120],
    ['Fri, 15 Jan 2027 08:00:00 GMT', 0],
  ])('take Retry-After: %j for %j', (text, seconds) => {
    const headers = new Headers({ 'retry-after': text, date: 'Sat, 16 Jan 2027 08:00:00 GMT' });
    expect(readRetryAfter(headers)).toBe(seconds);
  });
});

describe.concurrent('time and signals', () => {
  test('an attempt takes no longer than its timeout, and reading is tried again', async () => {
    const { server, client } = await script({ timeoutSeconds: 1 }, 'silence', {
      status: 200,
      body: [],
    });
    expect(await client.authlist.list()).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  test('a timeout is an error of its own, which says how long', async () => {
    const { client } = await script({ retries: 0 }, 'silence');
    const failure = await failureOf(client.contract.get({ timeoutSeconds: 0.1 }));
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure.message).toMatch(/no answer within 0.1 seconds$/);
  });

  test('an answer that never ends is a timeout too', async () => {
    const { client } = await script(
      { timeoutSeconds: 0.2, retries: 0 },
      {
        status: 200,
        headers: { 'content-length': '10' },
        body: '[',
      },
    );
    expect(await failureOf(client.authlist.list())).toBeInstanceOf(TimeoutError);
  });

  test('a signal ends a call under way, with its reason', async () => {
    const { server, client } = await script({}, 'silence');
    const controller = new AbortController();
    const reason = new Error('enough');
    const call = client.contract.get({ signal: controller.signal });
    void vi
      .waitFor(() => expect(server.requests).toHaveLength(1), { timeout: 90_000 })
      .then(() => controller.abort(reason));
    await expect(call).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test('a signal ends a pause', async () => {
    const { server, client } = await script({}, { status: 429, headers: { 'retry-after': '20' } });
    const controller = new AbortController();
    const reason = new Error('enough');
    const start = performance.now();
    const call = client.contract.get({ signal: controller.signal });
    void vi
      .waitFor(() => expect(server.requests).toHaveLength(1), { timeout: 90_000 })
      .then(() => setTimeout(() => controller.abort(reason), 100));
    await expect(call).rejects.toBe(reason);
    expect(performance.now() - start).toBeLessThan(15_000);
    expect(server.requests).toHaveLength(1);
  });

  test('with a signal that is aborted already nothing is sent', async () => {
    const { server, client } = await script({}, { status: 200, body: [] });
    const reason = new Error('never mind');
    const call = client.authlist.list({}, { signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });
});

describe.concurrent('waiting for a custom DNS entry', () => {
  const pending = { ...override, status: 'pending' };
  const active = { ...override, status: 'active' };

  test('asks for it, and looks again where the server does not wait', async () => {
    const { server, client } = await script(
      {},
      { status: 201, body: pending },
      { status: 200, body: pending },
      { status: 200, body: active },
    );
    const { id, ...fields } = override;
    expect(await client.overrides.add(fields, { waitSeconds: 10 })).toEqual(active);
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v0/contract/overrides',
      'GET /v0/contract/overrides/3',
      'GET /v0/contract/overrides/3',
    ]);
    expect(server.requests[0]?.headers.prefer).toBe('wait=10');
  });

  test('ends with what is reached when the time is over', async () => {
    const { client } = await script({}, { status: 200, body: pending });
    const start = performance.now();
    expect(await client.overrides.change(3, { ip: '203.0.113.9' }, { waitSeconds: 1.5 })).toEqual(
      pending,
    );
    expect(performance.now() - start).toBeGreaterThan(1400);
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test('turns no entry that was made into an error', async () => {
    const { client } = await script({}, { status: 201, body: pending }, { status: 404 });
    const { id, ...fields } = override;
    expect(await client.overrides.add(fields, { waitSeconds: 5 })).toEqual(pending);
  });

  test('does not count as time in which a server must answer', async () => {
    const { client } = await script(
      { timeoutSeconds: 0.2, retries: 0 },
      { status: 201, body: entry, afterSeconds: 0.5 },
    );
    expect(await client.authlist.add(added, { waitSeconds: 2 })).toEqual(entry);
    expect(await failureOf(client.authlist.add(added))).toBeInstanceOf(TimeoutError);
  });

  test('asks a server for 30 seconds at most, and does not look when it need not', async () => {
    const { server, client } = await script({}, { status: 201, body: active });
    const { id, ...fields } = override;
    await client.overrides.add(fields, { waitSeconds: 300 });
    expect(server.requests.map(({ headers }) => headers.prefer)).toEqual(['wait=30']);
  });
});

describe('answers of another kind', () => {
  test('a page instead of a record is an error that says so', async () => {
    const { client } = await script(
      {},
      {
        status: 200,
        headers: { 'content-type': 'text/html', 'x-request-id': 'r1' },
        body: '<html>',
      },
    );
    const failure = await failureOf(client.contract.get());
    expect(failure.message).toMatch(/^GET .*\/v0\/contract: expected JSON, got text\/html$/);
    expect([failure.status, failure.requestId]).toEqual([200, 'r1']);
  });

  test('a refusal without a message is described by its status', async () => {
    const { client } = await script(
      { retries: 0 },
      {
        status: 502,
        headers: { 'content-type': 'text/html' },
        body: '<html>',
      },
    );
    const failure = await failureOf(client.contract.get());
    expect(failure.message).toMatch(/^GET .*: HTTP 502 with text\/html$/);
  });

  test('a redirect is not followed', async () => {
    const { server, client } = await script(
      {},
      {
        status: 301,
        headers: { location: 'https://api.example.com/' },
      },
    );
    const failure = await failureOf(client.authlist.add(added));
    expect(failure.message).toContain('redirected to https://api.example.com/; expected baseUrl');
    expect(server.requests).toHaveLength(1);
  });
});
