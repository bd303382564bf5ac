import type { Database } from '../src/db/database.ts';
import { basic, TestClient } from './harness.ts';
import type { Random } from './random.ts';
import type { ServerProcess } from './server_process.ts';
import { until } from './waiting.ts';

const expiry = () => Math.floor(Date.now() / 1000) + 86_400;
const maxEntries = 40;

type List = 'ip-authlist' | 'overrides';

interface Entry {
  list: List;
  id: number;
  /** The name of an entry in its list for ever: the address, or the hostname. */
  name: string;
  expiry: number;
}

/** A request that has no response yet. */
type Asked =
  | { what: 'create'; list: List; name: string; expiry: number; key: string | undefined }
  | { what: 'change'; entry: Entry; expiry: number }
  | { what: 'remove'; entry: Entry }
  | { what: 'token' }
  | { what: 'usage'; seq: number; bytes: number };

/** The outcome of the crashes. */
export interface Verdict {
  /** Acknowledged and not there. */
  lost: string[];
  /** There in part, or answered as it must not be. */
  broken: string[];
  /** How many writes were acknowledged. */
  acknowledged: number;
}

/** The network that the clients write to: two servers, two accounts, one node. */
export interface Subject {
  tokens: string[];
  node_token: string;
}

/** Makes the network by the operator's API. */
export async function prepareSubject({ operator, node_url }: ServerProcess): Promise<Subject> {
  const must = async (answer: Promise<{ status: number; text: string; body: unknown }>) => {
    const { status, text, body } = await answer;
    if (status > 201) throw new Error(`the network could not be made: ${status} ${text}`);
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
    return body as any;
  };
  for (const name of ['fra1', 'ams1']) {
    await must(
      operator.post('/servers', {
        name,
        hostname: `${name}.exitward.example`,
        title: name,
        city: 'Frankfurt',
        country: 'DE',
        latitude: 50,
        longitude: 8,
        services: ['proxy'],
      }),
    );
  }
  const tokens: string[] = [];
  for (const name of ['acme', 'globex']) {
    const account = { name, plan: 'Team', expiry: expiry() * 2, limit_bytes: 2 ** 50 };
    tokens.push((await must(operator.post('/accounts', account))).api_token);
    await must(operator.post(`/accounts/${name}/users`, { name: 'alice', flags: { proxy: true } }));
    for (const server of ['fra1', 'ams1']) {
      await must(operator.put(`/accounts/${name}/servers/${server}`, {}));
    }
  }
  const { code } = await must(operator.post('/invites', { server: 'fra1' }));
  const node = await must(
    new TestClient(node_url, {}).post('/node/join', { code, name: 'fra1-node', version: 'test' }),
  );
  return { tokens, node_token: node.token };
}

/** One client of an account; only it touches its entries. */
class Client {
  readonly account_id: number;
  readonly #token: string;
  readonly #number: number;
  readonly #random: Random;
  readonly #verdict: Verdict;
  readonly entries = new Map<string, Entry>();
  asked: Asked | undefined;
  /** Request ids of what was acknowledged since the last start. */
  readonly acknowledged: string[] = [];
  #names = 0;

  constructor(token: string, account_id: number, number: number, random: Random, verdict: Verdict) {
    this.#token = token;
    this.account_id = account_id;
    this.#number = number;
    this.#random = random;
    this.#verdict = verdict;
  }

  /** Writes until the connection breaks. */
  async run(server: ServerProcess, running: () => boolean): Promise<void> {
    const client = new TestClient(`${server.base_url}/v0`, { authorization: basic(this.#token) });
    while (running()) {
      this.asked = this.#choose();
      let answer: Awaited<ReturnType<TestClient['send']>>;
      try {
        answer = await this.#send(client, this.asked);
      } catch {
        return;
      }
      if (answer.status >= 300) {
        this.#verdict.broken.push(`${JSON.stringify(this.asked)}: ${answer.status} ${answer.text}`);
      } else {
        this.#verdict.acknowledged += 1;
        this.acknowledged.push(answer.headers.get('x-request-id') as string);
        this.#note(this.asked, answer.body?.id);
      }
      this.asked = undefined;
    }
  }

  #choose(): Asked {
    const random = this.#random;
    const dice = random.next();
    const own = Array.from(this.entries.values());
    if (own.length > 0 && (dice < 0.25 || own.length > maxEntries)) {
      return { what: 'remove', entry: random.one(own) };
    }
    if (own.length > 0 && dice < 0.5) {
      const entry = random.one(own);
      return { what: 'change', entry, expiry: entry.expiry + random.between(1, 1000) };
    }
    if (dice < 0.6) return { what: 'token' };
    const number = ++this.#names;
    const list = random.one(['ip-authlist', 'overrides'] as const);
    const name =
      list === 'ip-authlist'
        ? `2001:db8:${this.#number.toString(16)}::${number.toString(16)}`
        : `n${number}.c${this.#number}.example`;
    const key = random.next() < 0.3 ? `${this.#number}-${number}` : undefined;
    return { what: 'create', list, name, expiry: expiry() + random.between(1, 1000), key };
  }

  #send(client: TestClient, request: Asked): ReturnType<TestClient['send']> {
    if (request.what === 'token') return client.post('/users/token', { user: 'alice' });
    if (request.what === 'usage') throw new Error('that is for the node');
    if (request.what === 'create') {
      const { list, name, expiry, key } = request;
      const body =
        list === 'ip-authlist'
          ? { ip: name, user: 'alice', expiry }
          : { server: 'ams1', hostname: name, ip: '192.0.2.1', expiry };
      return client.post(`/contract/${list}`, body, key ? { 'idempotency-key': key } : {});
    }
    const path = `/contract/${request.entry.list}/${request.entry.id}`;
    return request.what === 'remove'
      ? client.delete(path)
      : client.patch(path, { expiry: request.expiry });
  }

  #note(request: Asked, id: number): void {
    if (request.what === 'create') {
      const { list, name, expiry } = request;
      this.entries.set(name, { list, id, name, expiry });
    } else if (request.what === 'change') {
      this.entries.set(request.entry.name, { ...request.entry, expiry: request.expiry });
    } else if (request.what === 'remove') this.entries.delete(request.entry.name);
  }

  /**
   * Compares what was acknowledged with what there is, and learns what became of the last request.
   * Takes its own out of `there`.
   */
  async settle(server: ServerProcess, there: Map<string, Entry>): Promise<void> {
    const { lost, broken } = this.#verdict;
    const request = this.asked;
    this.asked = undefined;
    const about =
      request?.what === 'change' || request?.what === 'remove' ? request.entry.name : undefined;
    for (const entry of this.entries.values()) {
      const now = there.get(entry.name);
      there.delete(entry.name);
      if (entry.name === about) {
        const whole =
          request?.what === 'remove'
            ? !now || same(now, entry)
            : request?.what === 'change' &&
              now &&
              (same(now, entry) || same(now, { ...entry, expiry: request.expiry }));
        if (!whole) broken.push(`${JSON.stringify(request)} left ${JSON.stringify(now)}`);
        if (now) this.entries.set(entry.name, now);
        else this.entries.delete(entry.name);
      } else if (!now || !same(now, entry)) {
        lost.push(`${JSON.stringify(entry)} is ${JSON.stringify(now)}`);
        this.entries.delete(entry.name);
      }
    }
    if (request?.what !== 'create') return;
    const now = there.get(request.name);
    there.delete(request.name);
    if (now && now.expiry !== request.expiry) {
      broken.push(`${JSON.stringify(request)} made ${JSON.stringify(now)}`);
    }
    if (now) this.entries.set(now.name, now);
    if (request.key) await this.#sendAgain(server, request, now);
  }

  /** A create with an Idempotency-Key may be sent again, whatever became of it. */
  async #sendAgain(server: ServerProcess, request: Asked, now: Entry | undefined): Promise<void> {
    const client = new TestClient(`${server.base_url}/v0`, { authorization: basic(this.#token) });
    const { status, text, body } = await this.#send(client, request);
    if (status !== 201 || (now && body.id !== now.id)) {
      this.#verdict.broken.push(`${JSON.stringify(request)} again: ${status} ${text}`);
    } else this.#note(request, body.id);
  }
}

function same(a: Entry, b: Entry): boolean {
  return a.id === b.id && a.list === b.list && a.expiry === b.expiry;
}

/** The node, which reports usage of the first account. */
class Reporter {
  readonly #token: string;
  readonly #random: Random;
  readonly #verdict: Verdict;
  readonly #batches = new Map<number, number>();
  #unanswered: { seq: number; bytes: number } | undefined;
  #seq = 0;

  constructor(token: string, random: Random, verdict: Verdict) {
    this.#token = token;
    this.#random = random;
    this.#verdict = verdict;
  }

  async run(server: ServerProcess, running: () => boolean): Promise<void> {
    const client = new TestClient(server.node_url, { authorization: `Bearer ${this.#token}` });
    // A report without a response is sent again; it must count once.
    let batch = this.#unanswered;
    while (running()) {
      batch ??= { seq: ++this.#seq, bytes: this.#random.between(1, 1_000_000) };
      this.#unanswered = batch;
      const at = Math.floor(Date.now() / 1000);
      const row = { account: 1, user: 1, at, up: 1, down: batch.bytes - 1 };
      try {
        const answer = await client.post('/node/usage', { boot: 'b', seq: batch.seq, rows: [row] });
        if (answer.status === 200) this.#batches.set(batch.seq, batch.bytes);
        else this.#verdict.broken.push(`usage: ${answer.status} ${answer.text}`);
      } catch {
        return;
      }
      this.#unanswered = batch = undefined;
    }
  }

  async settle(db: Database): Promise<void> {
    const last = await db.one<{ seq: number }>('select seq from usage_journals');
    const there = new Set(Array.from({ length: last?.seq ?? 0 }, (_, before) => before + 1));
    const batches = new Map(this.#batches);
    if (this.#unanswered) batches.set(this.#unanswered.seq, this.#unanswered.bytes);
    for (const seq of this.#batches.keys()) {
      if (!there.has(seq)) this.#verdict.lost.push(`usage batch ${seq}`);
    }
    let expected = 0;
    for (const seq of there) expected += batches.get(seq) ?? Number.NaN;
    const sum = await db.one<{ bytes: number }>(
      'select cast(sum(bytes) as bigint) as bytes from usage_periods',
    );
    if (Number(sum?.bytes ?? 0) !== expected) {
      this.#verdict.broken.push(`usage is ${sum?.bytes}, its batches say ${expected}`);
    }
  }
}

/** All clients at once, and what becomes of what they write. */
export class Crowd {
  readonly verdict: Verdict = { lost: [], broken: [], acknowledged: 0 };
  readonly #clients: Client[];
  readonly #reporter: Reporter;
  readonly #tokens: string[];

  constructor({ tokens, node_token }: Subject, random: Random) {
    this.#tokens = tokens;
    this.#clients = Array.from({ length: 6 }, (_, number) => {
      const account = number % tokens.length;
      const token = tokens[account] as string;
      return new Client(token, account + 1, number + 1, random.fork(), this.verdict);
    });
    this.#reporter = new Reporter(node_token, random.fork(), this.verdict);
  }

  /** Writes until the server is gone. */
  async run(server: ServerProcess): Promise<void> {
    const running = () => !server.child.killed;
    await Promise.all(
      [...this.#clients, this.#reporter].map((client) => client.run(server, running)),
    );
  }

  /** Resolves when so many more writes were acknowledged. Errors: after a minute. */
  async acknowledges(more: number): Promise<void> {
    const enough = this.verdict.acknowledged + more;
    const otherwise = () => 'the server acknowledges too little';
    await until(() => this.verdict.acknowledged >= enough, 60, otherwise);
  }

  /** Looks what is there after a crash, by the API and in the audit log. */
  async settle(server: ServerProcess, db: Database): Promise<void> {
    const { lost, broken } = this.verdict;
    for (const [index, token] of this.#tokens.entries()) {
      const there = await readEntries(server, token);
      for (const client of this.#clients) {
        if (client.account_id === index + 1) await client.settle(server, there);
      }
      for (const entry of there.values()) {
        broken.push(`nobody asked for ${JSON.stringify(entry)}`);
      }
    }
    const audited = await db.all<{ request_id: string }>(
      'select request_id from audit order by id desc limit 20000',
    );
    const requestIds = new Set(audited.map(({ request_id }) => request_id));
    for (const client of this.#clients) {
      const ids = client.acknowledged.splice(0);
      for (const id of ids) if (!requestIds.has(id)) lost.push(`the audit row of request ${id}`);
    }
    await this.#reporter.settle(db);
  }
}

async function readEntries(server: ServerProcess, token: string): Promise<Map<string, Entry>> {
  const client = new TestClient(`${server.base_url}/v0`, { authorization: basic(token) });
  const there = new Map<string, Entry>();
  for (const list of ['ip-authlist', 'overrides'] as const) {
    const { status, text, body } = await client.get(`/contract/${list}`);
    if (status !== 200) throw new Error(`${list}: ${status} ${text}`);
    for (const { id, ip, hostname, expiry } of body) {
      const name = (hostname ?? ip) as string;
      there.set(name, { list, id, name, expiry });
    }
  }
  return there;
}
