// The client against a real server, in both variants.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import {
  BadRequestError,
  ConflictError,
  Exitward,
  type ExitwardError,
  type ExitwardOptions,
  etagOf,
  ForbiddenError,
  NotFoundError,
  PreconditionFailedError,
  TooManyRequestsError,
  UnauthorizedError,
  UnavailableError,
} from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-client-'));
let t: TestApp;
let acme: BuiltAccount;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  await t.server('fra1', { exit_ips: ['192.0.2.1', '192.0.2.2'] });
  await t.server('ams1', { city: 'Amsterdam', country: 'NL' });
  await t.server('par1');
  acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const clientOf = (account = acme, options: Partial<ExitwardOptions> = {}) =>
  new Exitward({ baseUrl: t.base_url, token: account.api_token, ...options });
const soon = () => t.now() + 3600;

describe.each(['current', 'earlier'] as const)('in the %s variant', (variant) => {
  let client: Exitward;
  let account: BuiltAccount;
  const ip = variant === 'current' ? '203.0.113.1' : '203.0.113.2';

  beforeAll(async () => {
    account = await t.account(`for-${variant}`, { servers: ['fra1', 'ams1'] });
    client = clientOf(account, { variant });
  });

  test('the token goes in the half that the variant wants', async () => {
    expect(await client.index()).toMatchObject({ name: `for-${variant}`, variant, version: 'v0' });
  });

  test('network servers, with their location when asked for', async () => {
    const plain = await client.servers.list();
    expect(plain.map(({ hostname }) => hostname)).toEqual([
      'ams1.exitward.example',
      'fra1.exitward.example',
      'par1.exitward.example',
    ]);
    expect(plain[0]?.location).toBeUndefined();
    expect(plain[0]?.title).toBe(variant === 'current' ? 'Metro of ams1' : undefined);
    const [first] = await client.servers.list({ detail: ['location'] });
    expect(first?.location?.city).toBe('Amsterdam');
  });

  test('the contract and its servers, by name and with details', async () => {
    expect(await client.contract.get()).toMatchObject({ name: `for-${variant}`, plan: 'Team' });
    const all = await client.contract.servers.list({ detail: ['usage', 'location'] });
    expect(all.map(({ server, usage }) => [server, usage?.current])).toEqual([
      ['ams1', 0],
      ['fra1', 0],
    ]);
    const selected = await client.contract.servers.list({ server: ['fra1', 'par1'] });
    expect(selected.map(({ server }) => server)).toEqual(['fra1']);
    const fra1 = await client.contract.servers.get('fra1', { detail: ['geostatus'] });
    expect(fra1.ips.map(({ ip, port_base }) => [ip, port_base])).toEqual([
      ['192.0.2.1', 1],
      ['192.0.2.2', 2],
    ]);
  });

  test('the authlist: add, list by filters, get, change, remove, clear', async () => {
    const entry = await client.authlist.add({ ip, user: 'alice', expiry: soon() });
    expect(entry).toEqual({ id: 1, ip, user: 'alice', user_active: true, expiry: soon() });
    expect(await client.authlist.list({ ip: '203.0', user: ['alice', 'bob'] })).toEqual([entry]);
    expect(await client.authlist.list({ ip: '198.51' })).toEqual([]);
    expect(await client.authlist.get(1)).toEqual(entry);
    const changed = await client.authlist.change(1, { expiry: soon() + 60 });
    expect(changed).toEqual({ ...entry, expiry: soon() + 60 });
    await client.authlist.remove(1);
    await expect(client.authlist.get(1)).rejects.toThrow(NotFoundError);
    await client.authlist.add({ ip, user: 'alice', expiry: soon() });
    await client.authlist.clear();
    expect(await client.authlist.list()).toEqual([]);
  });

  test('custom DNS entries: add, list by filters, get, change, remove, clear', async () => {
    const fields = { server: 'fra1', hostname: 'a.example', ip: '203.0.113.9', expiry: soon() };
    const entry = await client.overrides.add(fields);
    expect(entry).toEqual({ id: 1, ...fields, status: 'pending' });
    expect(await client.overrides.list({ ip: fields.ip, server: ['fra1', 'ams1'] })).toEqual([
      entry,
    ]);
    expect(await client.overrides.list({ server: ['ams1'] })).toEqual([]);
    expect(await client.overrides.get(1)).toEqual(entry);
    const changed = await client.overrides.change(1, { ip: '203.0.113.10' });
    expect(changed).toEqual({ ...entry, ip: '203.0.113.10' });
    await client.overrides.remove(1);
    await expect(client.overrides.get(1)).rejects.toThrow(NotFoundError);
    await client.overrides.add(fields);
    await client.overrides.clear();
    expect(await client.overrides.list()).toEqual([]);
  });

  test('users and tokens are there, or missed with a sentence', async () => {
    if (variant === 'earlier') {
      const sentence = 'users: the earlier variant has none; expected variant: current';
      await expect(client.users.list()).rejects.toThrow(sentence);
      await expect(client.users.createToken({ user: 'alice' })).rejects.toThrow(sentence);
      return;
    }
    expect(await client.users.list()).toMatchObject([{ name: 'alice', flags: { proxy: true } }]);
    const { token } = await client.users.createToken({ user: 'alice', expire: 60 });
    expect(token).toMatch(/^ewt_/);
  });
});

describe('lists', () => {
  test('are arrays to those who await them, and can be gone through one by one', async () => {
    const hostnames: string[] = [];
    for await (const { hostname } of clientOf().servers.list()) hostnames.push(hostname);
    const array = await clientOf().servers.list();
    expect(Array.isArray(array)).toBe(true);
    expect(array.map(({ hostname }) => hostname)).toEqual(hostnames);
    expect(hostnames).toHaveLength(3);
  });

  test('fail where they are awaited or gone through, and nowhere else', async () => {
    const stranger = new Exitward({ baseUrl: t.base_url, token: 'nobody' });
    const goThrough = async () => {
      for await (const _ of stranger.servers.list()) throw new Error('there is none');
    };
    await expect(goThrough()).rejects.toThrow(UnauthorizedError);
    await expect(stranger.servers.list()).rejects.toThrow(UnauthorizedError);
  });

  test('a filter of no values is refused, for it would ask for all', async () => {
    const call = clientOf().contract.servers.list({ server: [] });
    await expect(call).rejects.toThrow('server: expected at least one, or none given');
  });
});

describe('errors', () => {
  const failing: Array<[typeof ExitwardError, string, (client: Exitward) => Promise<unknown>]> = [
    [
      BadRequestError,
      'ip: "10.0.0.0/8" is not an IP address',
      (client) => client.authlist.add({ ip: '10.0.0.0/8', user: 'alice', expiry: soon() }),
    ],
    [ForbiddenError, 'par1', (client) => client.contract.servers.get('par1')],
    [NotFoundError, 'no such custom DNS entry', (client) => client.overrides.get(99)],
    [
      ConflictError,
      'user: "nobody"',
      (client) => client.authlist.add({ ip: '203.0.113.3', user: 'nobody', expiry: soon() }),
    ],
  ];
  test.each(failing)('%o has the code and the message of the server', async (Class, text, call) => {
    const failure = await call(clientOf()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Class);
    const { name, message, code, status, requestId, mayHaveActed } = failure as ExitwardError;
    expect(code).toMatch(/^[a-z_]+$/);
    if (status === 400) expect(code).toBe('invalid_field');
    expect(name).toBe(Class.name);
    expect(message).toContain(text);
    expect(String(status)).toMatch(/^4/);
    expect(requestId).toMatch(/\S{8}/);
    expect(mayHaveActed).toBe(false);
  });

  test('maintenance is reported at once, for it takes longer than a call should wait', async () => {
    await t.operator.put('/maintenance', { on: true });
    try {
      const failure = await clientOf()
        .contract.get()
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UnavailableError);
      expect(failure).toMatchObject({ retryAfterSeconds: 60 });
      expect((failure as Error).message).toContain('maintenance');
    } finally {
      await t.operator.put('/maintenance', { on: false });
    }
  });

  test('no error, and nothing that is printed of a client, shows the token', async () => {
    const client = new Exitward({ baseUrl: 'http://127.0.0.1:9', token: 'ewa_canary', retries: 0 });
    const refused = new Exitward({ baseUrl: t.base_url, token: 'ewa_canary' });
    const failures = await Promise.all(
      [client, refused].map((caller) => caller.contract.get().catch((error: unknown) => error)),
    );
    const printed = inspect([client, refused, ...failures], { depth: 9, showHidden: true });
    expect(printed).toContain('ConnectionError');
    expect(printed).not.toContain('ewa_canary');
    expect(printed).not.toContain(btoa(':ewa_canary'));
    expect(JSON.stringify([client, failures])).not.toContain('canary');
  });
});

describe('changes that others must not undo', () => {
  test('ifMatch lets a change through that knows the record, and no other', async () => {
    const client = clientOf();
    const entry = await client.authlist.add({ ip: '203.0.113.4', user: 'alice', expiry: soon() });
    const ifMatch = etagOf(entry);
    expect(etagOf(await client.authlist.get(entry.id))).toBe(ifMatch);
    const changed = await client.authlist.change(entry.id, { expiry: soon() + 1 }, { ifMatch });
    const { id } = entry;
    const stale = [
      () => client.authlist.change(id, { expiry: soon() + 2 }, { ifMatch }),
      () => client.authlist.remove(id, { ifMatch }),
      () => client.authlist.clear({ ifMatch }),
    ];
    for (const call of stale) await expect(call()).rejects.toThrow(PreconditionFailedError);
    await client.authlist.remove(id, { ifMatch: etagOf(changed) });
    const all = await client.authlist.list();
    await client.authlist.clear({ ifMatch: etagOf(all) });
  });

  test('the version is the same behind a proxy that compresses', async () => {
    const weakening: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      const headers = new Headers(response.headers);
      headers.set('etag', `W/${headers.get('etag')}`);
      return new Response(response.body, { status: response.status, headers });
    };
    const client = clientOf(acme, { fetch: weakening });
    const entry = await client.authlist.add({ ip: '203.0.113.8', user: 'alice', expiry: soon() });
    expect(etagOf(entry)).toMatch(/^"/);
    await client.authlist.change(entry.id, { expiry: soon() + 1 }, { ifMatch: etagOf(entry) });
    await clientOf().authlist.clear();
  });

  test('what has no version cannot be a condition by mistake', async () => {
    const client = clientOf();
    await client.authlist.add({ ip: '203.0.113.5', user: 'alice', expiry: soon() });
    const [element] = await client.authlist.list();
    for (const without of [element ?? {}, { ...(await client.contract.get()) }]) {
      expect(() => etagOf(without)).toThrow('record: has no version; read it by its id');
    }
    await client.authlist.clear();
  });
});

test('a creation with a key of its own happens once, however often it is repeated', async () => {
  const client = clientOf();
  const fields = { ip: '203.0.113.6', user: 'alice', expiry: soon() };
  const first = await client.authlist.add(fields, { idempotencyKey: 'office' });
  expect(await client.authlist.add(fields, { idempotencyKey: 'office' })).toEqual(first);
  await expect(client.authlist.add(fields)).rejects.toThrow(ConflictError);
  await client.authlist.clear();
});

test('waitSeconds answers when the machines have applied the change', async () => {
  const client = clientOf();
  const node = await t.node('ams1');
  await node.start();
  try {
    const fields = { server: 'ams1', hostname: 'w.example', ip: '203.0.113.9', expiry: soon() };
    const call = client.overrides.add(fields, { waitSeconds: 10 });
    await node.until((node) => node.heard('override').length === 1);
    await node.ack();
    const entry = await call;
    expect(entry.status).toBe('active');
    const listed = client.authlist.add(
      { ip: '203.0.113.8', user: 'alice', expiry: soon() },
      { waitSeconds: 10 },
    );
    await node.until((node) => node.heard('authlist').length === 1);
    expect(await Promise.race([listed, Promise.resolve('not yet')])).toBe('not yet');
    await node.ack();
    expect((await listed).ip).toBe('203.0.113.8');
  } finally {
    node.stop();
    await client.overrides.clear();
    await client.authlist.clear();
  }
});

test('a limit on requests says when to come back', async () => {
  const other = mkdtempSync(join(tmpdir(), 'exitward-client-'));
  const limited = await startTestApp(`sqlite:${join(other, 'exitward.db')}`, {
    EXITWARD_RATE_LIMIT_PER_MINUTE: '2',
  });
  try {
    const { api_token } = await limited.account('acme');
    const client = new Exitward({ baseUrl: limited.base_url, token: api_token });
    await client.contract.get();
    await client.contract.get();
    const failure = await client.contract.get({ retries: 0 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TooManyRequestsError);
    expect((failure as ExitwardError).retryAfterSeconds).toBeGreaterThan(0);
  } finally {
    await limited.stop();
    rmSync(other, { recursive: true, force: true });
  }
});

describe('the errors of a client', () => {
  const good = { baseUrl: 'https://api.example.com', token: 'ewa_1' };
  test.each<[string, Partial<Record<keyof ExitwardOptions, unknown>>]>([
    ['baseUrl: expected a URL', { baseUrl: 'api.example.com' }],
    ['baseUrl: expected a URL', { baseUrl: 'ftp://api.example.com' }],
    ['baseUrl: expected no user', { baseUrl: 'https://:secret@api.example.com' }],
    ['baseUrl: expected no user', { baseUrl: 'https://api.example.com/?a=b' }],
    ['baseUrl: expected it without /v0', { baseUrl: 'https://api.example.com/v0/' }],
    ['token: expected an API token', { token: '' }],
    ['token: expected an API token', { token: undefined }],
    ['token: expected an API token', { token: 'user:secret' }],
    ['token: expected an API token', { token: 'ewa_1\n' }],
    ['variant: expected current or earlier', { variant: 'v1' }],
    ['timeoutSeconds: expected seconds', { timeoutSeconds: Number.POSITIVE_INFINITY }],
    ['timeoutSeconds: expected seconds', { timeoutSeconds: Number.NaN }],
    ['longestPauseSeconds: expected seconds', { longestPauseSeconds: -1 }],
    ['retries: expected how often', { retries: 1.5 }],
  ])('is refused: %s %o', (message, wrong) => {
    expect(() => new Exitward({ ...good, ...wrong } as ExitwardOptions)).toThrow(message);
    try {
      new Exitward({ ...good, ...wrong } as ExitwardOptions);
    } catch (error) {
      expect(String(error)).not.toContain('secret');
    }
  });

  test('a call may name the trace that it belongs to, in the form of the standard', async () => {
    const sent: Array<string | null> = [];
    const client = new Exitward({
      ...good,
      fetch: async (_, init) => {
        sent.push(new Headers(init?.headers).get('traceparent'));
        return Response.json([]);
      },
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await client.users.list({ traceparent });
    await client.users.list();
    expect(sent).toEqual([traceparent, null]);
    await expect(client.users.list({ traceparent: '00-x\r\ny: z' })).rejects.toThrow(
      /^traceparent: expected such as 00-/,
    );
    expect(sent).toHaveLength(2);
  });

  test('may be a service below a path', async () => {
    const urls: string[] = [];
    const client = new Exitward({
      ...good,
      baseUrl: 'https://example.com/proxy/api/',
      fetch: async (url) => {
        urls.push(String(url));
        return Response.json([]);
      },
    });
    await client.authlist.list({ ip: '2001:db8::1', user: ['a b', 'c&d'] });
    expect(urls).toEqual([
      'https://example.com/proxy/api/v0/contract/ip-authlist?ip=2001%3Adb8%3A%3A1&user=a+b%2Cc%26d',
    ]);
  });

  test.each(['', '.', '..', undefined])(
    'as the name of a server, %j leads nowhere',
    async (name) => {
      const call = clientOf().contract.servers.get(name as string);
      await expect(call).rejects.toThrow('server: expected a name, got');
    },
  );

  test.each(['', '1', null, 1.5, Number.NaN, undefined])(
    'as an id, %j is refused: an empty one would remove the whole list',
    async (id) => {
      const call = clientOf().overrides.remove(id as number);
      await expect(call).rejects.toThrow('id: expected an integer, got');
    },
  );
});
