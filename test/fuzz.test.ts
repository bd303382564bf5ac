// Thousands of generated requests against real servers: every answer is one that the OpenAPI
// document knows.

import http from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDocument } from '../scripts/openapi/document.ts';
import type { Document } from '../scripts/openapi/shapes.ts';
import { createApiToken } from '../server/src/api_tokens/api_tokens.ts';
import type { BuiltAccount } from '../server/test/builders.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { basic, startTestApp, type TestApp } from '../server/test/harness.ts';
import type { TestNode } from '../server/test/node.ts';
import { ContractChecker, type Received } from './contract_checker.ts';
import { tries } from './effort.ts';
import { type CallerName, type FuzzRequest, requests, type Words } from './fuzz_requests.ts';
import { newSeed } from './seed.ts';

/** How many requests in all, over both databases and both seeds; a seed to replay. */
const total = tries(20_000, { setting: 'EXITWARD_TEST_FUZZ_REQUESTS', atLeast: 2000 });
const randomSeed = newSeed();
const fixedSeed = 20_260_101;
const concurrency = 16;

let document: Document;
beforeAll(async () => {
  ({ document } = await makeDocument());
});

/**
 * A server with one account that is fuzzed, one that must never show, and one for the operator's
 * paths.
 */
class Target {
  readonly t: TestApp;
  readonly checker: ContractChecker;
  readonly #credentials: Record<CallerName, Record<string, string>>;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
  /** The last entry that was created, by list. */
  readonly #recentIds = new Map<string, string>();
  #recentTag = '"x"';

  private constructor(
    t: TestApp,
    checker: ContractChecker,
    credentials: Record<CallerName, Record<string, string>>,
  ) {
    this.t = t;
    this.checker = checker;
    this.#credentials = credentials;
  }

  static async start(url: string): Promise<Target> {
    const t = await startTestApp(url);
    for (const name of ['fra1', 'ams1', 'nyc1', 'adm1']) await t.server(name);
    const own = await t.account('own', { servers: ['fra1', 'ams1'] });
    for (const name of ['bob', '7', 'ünï']) await t.user(own, name, { proxy: name !== '7' });
    await t.account('operated', { servers: ['fra1'] });
    const canary = await t.account('canary-account', { servers: ['fra1'], plan: 'canary-plan' });
    await t.user(canary, 'canary-user', { proxy: true });
    await seedCanary(t, canary);
    const reader = await t.write((tx) =>
      createApiToken(tx, t.running.ctx.secrets, true, own.account, {
        name: 'reader',
        read_only: true,
      }),
    );
    const node: TestNode = await t.node('nyc1');
    await t.account('people', { servers: ['fra1', 'ams1'] });
    const person = await t.signIn('people', 'alice');
    const forbidden = [
      canary.api_token,
      own.api_token,
      t.admin_token,
      node.token,
      t.data_dir,
      'canary-',
    ];
    return new Target(t, new ContractChecker(document, forbidden), {
      current: { authorization: basic(own.api_token, 'current') },
      earlier: { authorization: basic(own.api_token, 'earlier') },
      reader: { authorization: basic(reader.text) },
      person: { cookie: person.cookie, origin: t.base_url },
      operator: { authorization: `Bearer ${t.admin_token}` },
      node: { authorization: `Bearer ${node.token}` },
      none: {},
      broken: { authorization: 'Basic OmV3YV9ub25lOg==' },
    });
  }

  /** Sends one request and answers what is wrong with what came back. */
  async evaluate(request: FuzzRequest): Promise<string[]> {
    const list = /overrides/.test(request.target) ? 'overrides' : 'authlist';
    const target = request.target.replace('{recent}', this.#recentIds.get(list) ?? '1');
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        value.replace('{recent}', this.#recentTag),
      ]),
    );
    const base = target.startsWith('/admin') ? this.t.running.admin_url : this.t.base_url;
    const received = await this.#send(base, request, target, {
      ...headers,
      ...this.#credentials[request.client],
    });
    const [location, etag] = [
      received.headers.location?.toString(),
      received.headers.etag?.toString(),
    ];
    if (received.status === 201 && location && target.startsWith('/v0')) {
      this.#recentIds.set(list, location.split('/').at(-1) as string);
    }
    if (etag) this.#recentTag = etag;
    // An address that people type leads a browser to the page that they mean.
    const isPage =
      request.headers.accept?.includes('text/html') && /^\/(console|docs)\/?$/.test(target);
    if (isPage && received.status === 302) return [];
    return this.checker.faults(
      { method: request.method, target },
      withoutOperatorsView(target, received),
    );
  }

  #send(
    base: string,
    { method, body }: FuzzRequest,
    path: string,
    headers: Record<string, string>,
  ): Promise<Received> {
    const { hostname, port } = new URL(base);
    return new Promise((resolve, reject) => {
      const length =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const request = http.request(
        { hostname, port, method, path, agent: this.#agent, headers: { ...headers, ...length } },
        (response) => {
          const pieces: Buffer[] = [];
          const { headers, statusCode: status = 0 } = response;
          const done = () => resolve({ status, headers, body: textOf(pieces, headers) });
          // A change stream does not end by itself.
          if (headers['content-type'] === 'text/event-stream') {
            response.destroy();
            return done();
          }
          response.on('data', (piece) => pieces.push(piece));
          response.on('end', done);
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }

  /** Sends them all, sixteen at a time. Answers what is wrong, request by request. */
  async run(all: FuzzRequest[]): Promise<string[]> {
    const wrong: string[] = [];
    let next = 0;
    const worker = async () => {
      for (let at = next++; at < all.length && wrong.length < 10; at = next++) {
        const request = all[at] as FuzzRequest;
        const faults = await this.evaluate(request).catch((error: Error) => [
          `no answer: ${error.message}`,
        ]);
        const shown = { ...request, body: request.body?.toString().slice(0, 300) };
        if (faults.length > 0) wrong.push(`#${at} ${JSON.stringify(shown)}: ${faults.join('; ')}`);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return wrong;
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.t.stop();
  }
}

async function seedCanary(t: TestApp, canary: BuiltAccount): Promise<void> {
  const expiry = t.now() + 86_400;
  await t
    .as(canary)
    .post('/contract/ip-authlist', { ip: '192.0.2.250', user: 'canary-user', expiry });
  await t.as(canary).post('/contract/overrides', {
    server: 'fra1',
    hostname: 'canary-host.example',
    ip: '192.0.2.251',
    expiry,
  });
}

/** A body as it was before its encoding; a response to HEAD has none. */
function textOf(pieces: Buffer[], headers: http.IncomingHttpHeaders): string {
  const bytes = Buffer.concat(pieces);
  const encoding = bytes.length > 0 ? headers['content-encoding'] : undefined;
  if (encoding === 'br') return brotliDecompressSync(bytes).toString();
  return (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString();
}

/** The operator may see every account, and API tokens where they are created and viewed. */
function withoutOperatorsView(target: string, received: Received): Received {
  if (!target.startsWith('/admin') || received.status >= 300) return received;
  const { body, headers } = received;
  const shown = /\/tokens|\/admin\/accounts$/.test(target.replace(/\?.*/s, ''))
    ? body.replace(/ew[ao]_\w+/g, '')
    : body;
  return {
    ...received,
    body: shown.replaceAll('canary-', ''),
    headers: { ...headers, link: headers.link?.toString().replaceAll('canary-', '') },
  };
}

/** Values that the network under test knows, and some that it does not. */
function wordsOf(now: number): Words {
  const good = [now + 7200, now + 50_000, now + 90_000, now + 2_000_000];
  const times = [
    ...good,
    ...good,
    now + 1,
    now + 3600,
    now + 86_400,
    now + 1_000_000,
    now + 10 * 365.25 * 86_400,
    now,
    now - 1,
    (now + 3600) * 1000,
  ];
  const addresses = [
    ...Array.from({ length: 30 }, (_, at) => `203.0.113.${at}`),
    '2001:db8::1',
    '2001:DB8:0::2',
    '::ffff:203.0.113.77',
    '192.0.2.250',
    '0.0.0.0',
    'x',
  ];
  return {
    id: ['{recent}', '{recent}', '{recent}', '1', '2', '3', '999'],
    user: ['alice', 'alice', 'bob', '7', 'ünï', 'nobody', 1, 2],
    ip: addresses,
    'ip?': [...addresses, '203.0.113', '.1', '2001'],
    server: ['fra1', 'fra1', 'ams1', 'nyc1', 'nowhere'],
    'detail?': ['location', 'usage', 'geostatus', 'everything'],
    hostname: Array.from({ length: 20 }, (_, at) => `www${at}.example.com`),
    expiry: times,
    start: [now - 86_400, now],
    account: ['operated', 'operated', 'operated', 'nobody'],
    'dry_run?': ['true', 'false'],
    'limit?': ['1', '10', '1000', '0', 'x'],
    'before?': ['1', '50'],
    'after?': ['a', 'operated'],
    'from?': [String(now - 86_400)],
    'to?': [String(now)],
    port_scheme: ['default', 'other'],
    services: ['proxy'],
    country: ['DE', 'US'],
  };
}

/** Some requests would end the test itself, not the server: they are not sent. */
function isSafe({ method, target, client, body }: FuzzRequest): boolean {
  const path = target.replace(/\?.*/s, '');
  // The session of the person, and what it stands on.
  if (client === 'person') {
    return !(method === 'DELETE' && /^\/console\/(session|users\/alice\/)/.test(path));
  }
  if (client !== 'operator') return true;
  if (path === '/admin/maintenance' && method === 'PUT') return !/"on":true/.test(String(body));
  // Our own operator token, the node under test.
  return !(
    method === 'DELETE' && /^\/admin\/(tokens|nodes)\/1$/.test(path.replace('{recent}', '1'))
  );
}

const examples = new Map<string, FuzzRequest[]>();

/** Requests at a time; both databases are sent the same. */
function generated(now: number, numRuns: number, seed: number): FuzzRequest[] {
  const key = `${now} ${numRuns} ${seed}`;
  const made =
    examples.get(key) ?? fc.sample(requests(document, wordsOf(now), isSafe), { numRuns, seed });
  examples.set(key, made);
  return made;
}

eachDatabase((database) => {
  describe('generated requests', () => {
    let target: Target;
    beforeAll(async () => {
      target = await Target.start(await database.url());
    });
    afterAll(() => target.stop());

    test.each([
      { seed: fixedSeed, name: 'a fixed seed' },
      { seed: randomSeed, name: 'a random seed' },
    ])('from $name get documented answers only', { timeout: 1_800_000 }, async ({ seed, name }) => {
      const numRuns = Math.ceil(total / 4);
      console.log(
        `${database.name}: ${numRuns} requests from ${name}; EXITWARD_TEST_SEED=${seed} replays them`,
      );
      const wrong = await target.run(generated(target.t.now(), numRuns, seed));
      expect(wrong).toEqual([]);
    });

    test('reached every operation of the account API with success', () => {
      const seen = new Set(
        [...target.checker.seen.keys()]
          .filter((key) => / 2\d\d$/.test(key))
          .map((key) => key.replace(/ \d+$/, '')),
      );
      const operations = Object.entries(document.paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method} ${path}`),
      );
      const missed = operations.filter(
        (operation) => operation.includes(' /v0') && !seen.has(operation),
      );
      // A short run may happen not to find one or the other entry.
      if (total >= 10_000) expect(missed).toEqual([]);
      else expect(missed.length, missed.join()).toBeLessThan(10);
    });
  });
});
