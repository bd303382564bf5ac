// Random histories of the account API on SQLite, on PostgreSQL and in a model: all three agree on
// every answer.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeAccount, requireAccountNamed } from '../server/src/accounts/accounts.ts';
import { createApiToken } from '../server/src/api_tokens/api_tokens.ts';
import {
  removeContractServer,
  setContractServer,
} from '../server/src/contract_servers/contract_servers.ts';
import { runAllJobs } from '../server/src/jobs.ts';
import { createPortScheme } from '../server/src/port_schemes/port_schemes.ts';
import { requireServer } from '../server/src/servers/servers.ts';
import { changeUser, requireUserNamed } from '../server/src/users/users.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { type Answer, startTestApp, type TestApp } from '../server/test/harness.ts';
import type { TestNode } from '../server/test/node.ts';
import { deepTest } from './deep_test.ts';
import { tries } from './effort.ts';
import {
  type Account,
  type Call,
  type Expected,
  Model,
  type Server,
  type User,
  type Variant,
} from './model.ts';
import { newSeed } from './seed.ts';

const histories = tries(200, { setting: 'EXITWARD_TEST_HISTORIES', atLeast: 8 });
const seed = newSeed();
/** Where in the seed a failure was found; it is printed with the failure. */
const path = process.env.EXITWARD_TEST_PATH;

/** How long a failing history is made smaller. */
const shrinkMs = 30_000;

// ---- Steps ------------------------------------------------------------------------------

type Step =
  | { do: 'advance'; seconds: number }
  | { do: 'sweep' }
  | { do: 'acknowledge'; server: number; node: number; back: number }
  | { do: 'suspend'; account: number; on: boolean }
  | { do: 'user'; account: number; user: string; active?: boolean; proxy?: boolean }
  | { do: 'contract'; account: number; server: number; on: boolean }
  | { do: 'call'; account: number; plan: Plan };

/** A call in symbols: names and addresses are those of the running history. */
interface Plan {
  variant: Variant;
  readOnly: boolean;
  what: 'authlist' | 'overrides';
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'GET one' | 'DELETE one' | 'read';
  wrongPath: boolean;
  pick: number;
  server: number;
  hostname: number;
  ip: number;
  /** Which of the same addresses it comes from; beyond them one that is never listed. */
  from: number;
  user: string;
  expiry: number;
  fields: number;
  filter: number;
  key: string | undefined;
}

const hour = 3600;
const day = 24 * hour;
const users = ['alice', 'bob', 'carol'];
const seldom = (percent: number) => fc.nat(99).map((roll) => roll < percent);
const account = fc.nat(2);
const plan: fc.Arbitrary<Plan> = fc.record({
  variant: fc.constantFrom<Variant>('current', 'earlier'),
  readOnly: seldom(3),
  what: fc.constantFrom('authlist', 'overrides'),
  method: fc.oneof(
    { weight: 6, arbitrary: fc.constant('POST' as const) },
    { weight: 5, arbitrary: fc.constant('PATCH' as const) },
    { weight: 5, arbitrary: fc.constantFrom('GET', 'GET one', 'DELETE one', 'read') },
    { weight: 1, arbitrary: seldom(40).map((yes) => (yes ? 'DELETE' : 'GET')) },
  ),
  wrongPath: seldom(4),
  pick: fc.nat(7),
  server: fc.constantFrom(0, 0, 0, 1, 1, 2, 3),
  hostname: fc.nat(3),
  ip: fc.nat(4),
  from: fc.nat(14),
  user: fc.constantFrom(...users, 'alice', 'nobody'),
  expiry: fc.constantFrom(90, hour, hour, day, 10 * day, 40 * day, 40 * day, 0, -1, 11 * 365 * day),
  fields: fc.integer({ min: 0, max: 15 }),
  filter: fc.nat(5),
  key: fc.constantFrom(undefined, undefined, undefined, undefined, 'k1', 'k2'),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 24, arbitrary: fc.record({ do: fc.constant('call'), account, plan }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('acknowledge'),
      server: fc.nat(1),
      node: fc.nat(1),
      back: fc.constantFrom(0, 0, 0, 1, 4),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('advance'),
      seconds: fc.constantFrom(1, 45, 2 * hour, 2 * hour, day, 9 * day, 29.5 * day),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend'), account, on: seldom(30) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('user'),
      account,
      user: fc.constantFrom(...users),
      active: fc.boolean(),
      proxy: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('contract'),
      account,
      server: fc.nat(2),
      on: seldom(70),
    }),
  },
) as fc.Arbitrary<Step>;

// ---- The three --------------------------------------------------------------------------

/** A good run has each of these. */
const wanted = [
  'POST /contract/ip-authlist 201',
  'POST /contract/ip-authlist 400',
  'POST /contract/ip-authlist 403',
  'POST /contract/ip-authlist 404',
  'POST /contract/ip-authlist 409',
  'POST /contract/whitelist 201',
  'PATCH /contract/ip-authlist/{id} 200',
  'PATCH /contract/ip-authlist/{id} 409',
  'DELETE /contract/whitelist/{id} 204',
  'POST /contract/overrides 201',
  'POST /contract/overrides 409',
  'PATCH /contract/overrides/{id} 200',
  'PATCH /contract/overrides/{id} 409',
  'DELETE /contract/overrides 204',
  'GET /contract/overrides/{id} 200',
  'GET /contract/overrides/{id} 404',
  'GET /contract/servers/{server} 403',
  'POST /users/token 200',
  'POST /users/token 409',
];

interface TestClient {
  api_token: string;
  reader: string;
}

/** One history: its own accounts, servers and addresses, and its model. */
class History {
  readonly model: Model;
  readonly #t: TestApp;
  readonly #number: number;
  readonly #transcript: string[];
  readonly #clients: TestClient[] = [];
  readonly #nodes: TestNode[][] = [];
  /** The revision that the app had reached after each step. */
  readonly #revisions: number[] = [];
  #epoch = '';

  constructor(t: TestApp, number: number, transcript: string[]) {
    this.#t = t;
    this.#number = number;
    this.#transcript = transcript;
    const name = (of: string) => `h${this.#number}${of}`;
    const now = t.now();
    const servers = ['s0', 's1', 's2'].map(
      (of, at): Server => ({
        name: name(of),
        hostname: `${name(of)}.exitward.example`,
        title: `Metro of ${name(of)}`,
        ip: `198.${18 + (this.#number >> 8)}.${this.#number & 255}.${at + 1}`,
        nodes: Array.from({ length: at === 1 ? 2 : 1 }, () => ({
          applied: 0,
          live: false,
          seen: now,
        })),
        applied: 0,
      }),
    );
    const accounts = ['a', 'b', 'c'].map(
      (of, at): Account => ({
        name: name(of),
        plan: 'Team',
        scheme: at === 2 ? 'other' : 'default',
        start: now - 10 * day,
        expiry: now + 120 * day,
        limit: 1_000_000_000_000,
        suspended: false,
        users: users.map(
          (user, index): User => ({
            id: index + 1,
            name: user,
            display_name: user === 'alice' ? 'Alice' : user,
            active: true,
            flags: { proxy: user !== 'carol', billing: user === 'alice', admin: user === 'alice' },
            token_version: 1,
          }),
        ),
        servers: new Map([[servers[0]?.name as string, 0]]),
        authlist: [],
        callers: new Set(),
        overrides: [],
        lastId: { authlist: 0, overrides: 0 },
        kept: new Map(),
      }),
    );
    this.model = new Model(now, accounts, servers);
  }

  async begin(): Promise<void> {
    const t = this.#t;
    const { servers, accounts } = this.model;
    for (const { name, ip } of servers) {
      await t.server(name, { exit_ips: [ip], port_schemes: ['default', 'other'] });
    }
    for (const { name, scheme, start, expiry } of accounts) {
      const built = await t.account(name, {
        servers: [servers[0]?.name as string],
        port_scheme: scheme,
        start,
        expiry,
      });
      await t.user(built, 'bob', { proxy: true });
      await t.user(built, 'carol', {});
      const { text } = await t.write((tx) =>
        createApiToken(tx, t.running.ctx.secrets, true, built.account, {
          name: 'reader',
          read_only: true,
        }),
      );
      this.#clients.push({ api_token: built.api_token, reader: text });
    }
    for (const server of servers) {
      const joined: TestNode[] = [];
      for (const at of server.nodes.keys())
        joined.push(await t.node(server.name, `${server.name}-${at}`));
      this.#nodes.push(joined);
    }
    await this.#noteRevision();
  }

  async #noteRevision(): Promise<void> {
    const row = await this.#t.running.ctx.db.one<{ revision: number; epoch: string }>(
      'select revision, epoch from network',
    );
    this.#revisions.push(row?.revision ?? 0);
    this.#epoch = row?.epoch ?? '';
  }

  async take(step: Step): Promise<void> {
    this.model.step += 1;
    await this.#take(step);
    if (step.do !== 'call') await this.#look(this.model.step % this.#clients.length);
    await this.#noteRevision();
  }

  /** Both lists of an account, after something other than a call happened. */
  async #look(at: number): Promise<void> {
    for (const path of ['/contract/overrides', '/contract/ip-authlist']) {
      const look: Call = {
        variant: 'current',
        readOnly: true,
        method: 'GET',
        path,
        from: '192.0.2.200',
        query: {},
        body: undefined,
        idempotencyKey: undefined,
      };
      await this.#call(at, look);
    }
  }

  async #take(step: Step): Promise<void> {
    const { model } = this;
    const t = this.#t;
    switch (step.do) {
      case 'advance':
        model.now += step.seconds;
        t.clock.advance(step.seconds);
        return;
      case 'sweep':
        model.sweep();
        await runAllJobs(t.running.ctx);
        return;
      case 'acknowledge': {
        const server = model.servers[step.server] as Server;
        const at = step.node % server.nodes.length;
        const upTo = Math.max(0, model.step - 1 - step.back);
        model.acknowledge(server, server.nodes[at] as Server['nodes'][0], upTo);
        const node = this.#nodes[step.server]?.[at] as TestNode;
        node.epoch = this.#epoch;
        expect(await node.ack(this.#revisions[upTo])).toBe(204);
        return;
      }
      case 'suspend':
        this.#account(step).suspended = step.on;
        await t.write(async (tx) =>
          changeAccount(tx, await requireAccountNamed(tx, this.#account(step).name), {
            suspended: step.on,
          }),
        );
        return;
      case 'user': {
        const user = this.#account(step).users.find(({ name }) => name === step.user) as User;
        user.active = step.active ?? user.active;
        user.flags.proxy = step.proxy ?? user.flags.proxy;
        const changes = { active: step.active, flags: { proxy: step.proxy as boolean } };
        await t.write(async (tx) => {
          const { id } = await requireAccountNamed(tx, this.#account(step).name);
          await changeUser(tx, await requireUserNamed(tx, id, step.user), changes);
        });
        return;
      }
      case 'contract': {
        const { name } = model.servers[step.server] as Server;
        const mine = this.#account(step).servers;
        if (mine.has(name) === step.on) return;
        if (step.on) mine.set(name, model.step);
        else mine.delete(name);
        await t.write(async (tx) => {
          const [of, server] = [
            await requireAccountNamed(tx, this.#account(step).name),
            await requireServer(tx, name),
          ];
          await (step.on
            ? setContractServer(tx, of, server, null)
            : removeContractServer(tx, of, server));
        });
        return;
      }
      case 'call':
        await this.#call(step.account, this.#callOf(step.account, step.plan));
    }
  }

  #account({ account: at }: { account: number }): Account {
    return this.model.accounts[at] as Account;
  }

  /** The call that a plan stands for now. */
  #callOf(at: number, { variant, readOnly, what, method, wrongPath, key, ...planned }: Plan): Call {
    const of = this.model.accounts[at] as Account;
    const own = (variant === 'current') !== wrongPath ? 'ip-authlist' : 'whitelist';
    const base = what === 'authlist' ? `/contract/${own}` : '/contract/overrides';
    const server = this.model.servers[planned.server]?.name ?? 'nowhere';
    const ip = (index: number) => `10.${this.#number >> 8}.${this.#number & 255}.${index + 1}`;
    const isOwn = planned.from === 4 && method === 'POST';
    const from = planned.from < 5 ? ip(planned.from) : '192.0.2.200';
    const hostname = `${planned.hostname === 3 ? 'WWW2' : `www${planned.hostname}`}.example.com`;
    const expiry = this.model.now + planned.expiry;
    const all: Record<string, unknown> =
      what === 'authlist'
        ? { ...(isOwn ? {} : { ip: ip(planned.ip) }), user: planned.user, expiry }
        : { server, hostname, ip: ip(planned.ip), expiry };
    const fields = Object.fromEntries(
      Object.entries(all).filter((_, index) => planned.fields & (1 << index)),
    );
    const entry = `${base}/${1 + (planned.pick % (of.lastId[what] + 1))}`;
    const call = (
      verb: Call['method'],
      to: string,
      body?: Call['body'],
      query: Call['query'] = {},
    ): Call => ({
      variant,
      readOnly,
      method: verb,
      path: to,
      from,
      query,
      body,
      idempotencyKey: verb === 'POST' ? key : undefined,
    });
    switch (method) {
      case 'POST':
        return call('POST', base, all);
      case 'PATCH':
        return call('PATCH', entry, fields);
      case 'GET one':
        return call('GET', entry);
      case 'DELETE one':
        return call('DELETE', entry);
      case 'DELETE':
        return call('DELETE', base);
      case 'GET': {
        const second: Call['query'] =
          what === 'authlist'
            ? { user: `${planned.user},bob` }
            : { server: `${server},${this.model.servers[0]?.name}` };
        const filters: Array<Call['query']> = [
          {},
          {},
          { ip: ip(planned.ip) },
          { ip: `.${this.#number & 255}.` },
          second,
          { ...second, ip: ip(planned.ip) },
        ];
        return call('GET', base, undefined, filters[planned.filter]);
      }
      default: {
        const reads = ['/contract', '/users', '/contract/servers', `/contract/servers/${server}`];
        if (planned.filter === 5)
          return call('POST', '/users/token', {
            user: planned.pick > 4 ? planned.pick - 4 : planned.user,
            expire: 60,
          });
        if (planned.filter === 4) return call('GET', '/contract/servers', undefined, { server });
        return call('GET', reads[planned.filter] as string);
      }
    }
  }

  async #call(at: number, call: Call): Promise<void> {
    const answer = await this.#send(this.#clients[at] as TestClient, call);
    const expected: Expected = this.model.call(
      this.model.accounts[at] as Account,
      call,
      answer.status === 201 ? answer.body.id : undefined,
    );
    const place = `${JSON.stringify({ step: this.model.step, account: at, ...call })}: ${answer.text}`;
    expect(answer.status, place).toBe(expected.status);
    if (expected.body !== undefined) expect(answer.body, place).toEqual(expected.body);
    if (expected.location) expect(answer.headers.get('location'), place).toBe(expected.location);
    if (answer.status === 204) expect(answer.text, place).toBe('');
    if (answer.status >= 400) expect(Object.keys(answer.body), place).toEqual(['message']);
    const kind = call.path.replace(/\/\d+$/, '/{id}').replace(/\/(h\d+s\d|nowhere)$/, '/{server}');
    const isToken = call.path === '/users/token' && answer.status === 200;
    const shown = isToken
      ? Object.keys(answer.body)
      : [answer.text, answer.headers.get('etag'), answer.headers.get('location')];
    this.#transcript.push(`${call.method} ${kind} ${answer.status} ${JSON.stringify(shown)}`);
  }

  #send(
    { api_token, reader }: TestClient,
    { variant, readOnly, method, path: to, from, query, body, idempotencyKey }: Call,
  ): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const headers: Record<string, string> = {
      'x-forwarded-for': from,
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    };
    return this.#t
      .as({ api_token: readOnly ? reader : api_token }, variant)
      .send(method, search ? `${to}?${search}` : to, body, headers);
  }
}

/** Every answer of a whole run, by database. */
const transcripts = new Map<string, string[]>();

eachDatabase((database) => {
  describe('random histories of the account API', () => {
    let t: TestApp;
    const transcript: string[] = [];
    beforeAll(async () => {
      t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8' });
      await t.write((tx) =>
        createPortScheme(tx, { name: 'other', bases: [{ base: 20_000, service: 'proxy' }] }),
      );
    });
    afterAll(() => t.stop());

    test('are answered as the model answers them', { timeout: 1_800_000 }, async () => {
      console.log(
        `${database.name}: ${histories} histories; EXITWARD_TEST_SEED=${seed} replays them, with EXITWARD_TEST_PATH to one alone`,
      );
      let count = 0;
      let shrinkUntil = Number.POSITIVE_INFINITY;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
          if (performance.now() > shrinkUntil) return;
          count += 1;
          const history = new History(t, count, transcript);
          await history.begin();
          try {
            for (const step of steps) await history.take(step);
          } catch (error) {
            shrinkUntil = Math.min(shrinkUntil, performance.now() + shrinkMs);
            throw error;
          }
        }),
        { seed, numRuns: histories, ...(path ? { path } : {}) },
      );
      transcripts.set(database.name, transcript);
    });

    deepTest('saw every kind of answer, and an override in each state', () => {
      const seen = new Set(transcript.map((line) => line.split(' ').slice(0, 3).join(' ')));
      const text = transcript.join();
      const states = ['pending', 'active', 'expiring', 'expired'];
      const missed = [
        ...wanted.filter((kind) => !seen.has(kind)),
        ...states.filter((state) => !text.includes(`\\"status\\":\\"${state}\\"`)),
      ];
      // A run may happen to miss a rare one; a short run some.
      expect(missed.length, missed.join()).toBeLessThan(histories >= 200 ? 2 : 9);
    });
  });
});

test('both databases answered byte for byte alike, messages too', () => {
  const [sqlite = [], postgres = []] = ['SQLite', 'PostgreSQL'].map((name) =>
    transcripts.get(name),
  );
  expect(sqlite.length).toBeGreaterThan(histories * 15);
  const first = sqlite.findIndex((line, at) => line !== postgres[at]);
  expect(postgres[first]).toBe(sqlite[first]);
  expect(postgres.length).toBe(sqlite.length);
});
