// Whole lists as an attack: reading and removing long ones holds up neither the requests nor the
// lists of others.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lists } from '../../server/src/api/lists.ts';
import type { Versions } from '../../server/src/changes/versions.ts';
import type { Clock } from '../../server/src/clock.ts';
import type { Database, Row } from '../../server/src/db/database.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { startTestApp, type TestApp, type TestClient } from '../../server/test/harness.ts';
import { deepTest } from '../deep_test.ts';
import { mostPatient_milliseconds, servedBeside } from './victim.ts';

const many = 30_000;
const path = '/contract/ip-authlist';
/**
 * Slices have 500 entries each, and between two of them others have their turn; made at once, a
 * list leaves one or two.
 */
const leastTurns = 8;

eachDatabase((database) => {
  let t: TestApp;
  let attacker: BuiltAccount;
  let attack: TestClient;
  let victim: TestClient;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {
      EXITWARD_CACHE_BYTES: '200000',
      EXITWARD_CONFLICTS_PER_HOUR: '5',
    });
    await t.server('fra1');
    attacker = await t.account('attacker', { servers: ['fra1'] });
    attack = t.as(attacker);
    victim = t.as(await t.account('victim', { servers: ['fra1'] }));
  });
  afterAll(() => t.stop());

  /** Gives an account so many entries, in the ten networks of `net`. */
  const fill = ({ account: { id, port_scheme_id } }: BuiltAccount, net: number) =>
    t.write(async (tx) => {
      const rows: Row[] = Array.from({ length: many }, (_, at) => ({
        account_id: id,
        id: at + 1,
        port_scheme_id,
        ip: `10.${net}.${at >> 8}.${at & 255}`,
        user_id: 1,
        expiry: tx.now + 10_000,
      }));
      for (let at = 0; at < many; at += 1000) {
        await tx.insertMany('authlist', rows.slice(at, at + 1000));
      }
      const held = { account_id: id, list: 'authlist held', last: many };
      const last = { account_id: id, list: 'authlist', last: many };
      await tx.insertMany('counters', [held, last]);
    });

  /** How many requests of the victim are answered, one after another, until `attack` is. */
  async function answeredDuring(attack: Promise<unknown>): Promise<number> {
    // No two are the same: none is answered from the cache.
    const ask = async (number: number) =>
      expect((await victim.get(`${path}?ip=192.0.2.${number}`)).status).toBe(200);
    const { answered, slowest_milliseconds } = await servedBeside(attack, ask);
    expect(slowest_milliseconds).toBeLessThan(mostPatient_milliseconds);
    return answered;
  }

  async function snapshotsDuring(work: () => Promise<unknown>): Promise<number> {
    const { db } = t.running.ctx;
    const original = db.snapshot.bind(db);
    let snapshots = 0;
    db.snapshot = (read) => {
      snapshots += 1;
      return original(read);
    };
    await work().finally(() => {
      db.snapshot = original;
    });
    return snapshots;
  }

  test('while long lists are made and removed, others are answered', async () => {
    await fill(attacker, 1);
    await victim.get(path);
    const entries = attack.get(path);
    expect(await answeredDuring(entries)).toBeGreaterThanOrEqual(leastTurns);
    const { body, headers } = await entries;
    expect(body).toHaveLength(many);
    expect(body.map(({ id }: { id: number }) => id)).toEqual(
      Array.from({ length: many }, (_, at) => at + 1),
    );
    const wrong = attack.delete(path, { 'if-match': '"another"' });
    expect(await answeredDuring(wrong)).toBeGreaterThanOrEqual(leastTurns);
    expect((await wrong).status).toBe(412);
    const removal = attack.delete(path, { 'if-match': headers.get('etag') ?? '' });
    expect(await answeredDuring(removal)).toBeGreaterThanOrEqual(leastTurns);
    expect((await removal).status).toBe(204);
    const [{ removal_id }] = (await t.operator.get('/accounts/attacker/removals')).body;
    const undo = t.operator.post('/accounts/attacker/authlist/restore', { removal_id });
    // Nothing is moved: it is over before many are answered.
    expect((await undo).body).toEqual({ restored: many, left_out: 0 });
  });

  test('equal requests share one list; the unchanged one is known without making it', async () => {
    const bodies: string[] = [];
    const equal = () =>
      Promise.all(
        Array.from({ length: 12 }, async () => void bodies.push((await attack.get(path)).text)),
      );
    expect(await snapshotsDuring(equal)).toBeLessThanOrEqual(2);
    expect(new Set(bodies).size).toBe(1);
    const etag = (await attack.get(path)).headers.get('etag') ?? '';
    const unchanged = async () => {
      expect((await attack.get(path, { 'if-none-match': etag })).status).toBe(304);
    };
    expect(await snapshotsDuring(unchanged)).toBe(0);
    await attack.delete(`${path}/1`);
    expect((await attack.get(path, { 'if-none-match': etag })).status).toBe(200);
  });

  deepTest(
    'while a long report of usage and a long list of users are made, others are answered',
    async () => {
      const { id } = attacker.account;
      const hour = t.now() - (t.now() % 3600);
      await t.write(async (tx) => {
        for (let at = 0; at < many; at += 1000) {
          const numbers = Array.from({ length: 1000 }, (_, index) => at + index);
          const name = (number: number) => `u${number}`;
          const users: Row[] = numbers.map((number) => ({
            ...{ account_id: id, id: number + 100, name: name(number), display_name: '' },
            ...{ active: 1, proxy: 1, billing: 0, admin: 0, token_version: 1 },
          }));
          await tx.insertMany('users', users);
          const buckets: Row[] = numbers.map((number) => ({
            ...{ account_id: id, server_id: 1, user_id: number + 100 },
            ...{ hour: hour - 3600 * (number % 7), up: number, down: 1 },
          }));
          await tx.insertMany('usage_hours', buckets);
        }
      });
      const sum = (many * (many - 1)) / 2;
      for (const [by, rows] of Object.entries({ hour: 7, server: 1, user: many })) {
        const report = t.operator.get(`/accounts/attacker/usage?from=${hour - 86_400}&by=${by}`);
        expect(await answeredDuring(report)).toBeGreaterThanOrEqual(leastTurns);
        const { body } = await report;
        expect(body).toMatchObject({ up: sum, down: many, total: sum + many });
        expect(body.rows).toHaveLength(rows);
      }
      const users = t.operator.get('/accounts/attacker/users');
      expect(await answeredDuring(users)).toBeGreaterThanOrEqual(leastTurns);
      expect((await users).body).toHaveLength(many + 1);
      const active = attack.get('/users');
      expect(await answeredDuring(active)).toBeGreaterThanOrEqual(leastTurns);
      expect((await active).body).toHaveLength(many + 1);
    },
  );
});

/** Lists of accounts, of two slices each, on a database whose snapshots wait for the gate. */
function listsBehind(gate: Promise<void>) {
  const clock = { now: () => 0 } as Clock;
  const db = { snapshot: (read) => gate.then(() => read(db)) } as Database;
  const lists = new Lists({ clock, db }, true);
  let begun = 0;
  async function* read() {
    try {
      for (const isLast of [false, true]) yield { values: [1], isLast, valid_until: 1 };
    } finally {
      begun += 1;
    }
  }
  return {
    requests: (account_id: number, count: number) =>
      Array.from({ length: count }, (_, at) =>
        lists.make(account_id, `list ${at}`, {} as Versions, read).then(
          ({ body }) => String(body),
          ({ status }) => status,
        ),
      ),
    /** Whether so many are known to be long: they wait, or have been refused. */
    areLong: (count: number) => expect.poll(() => begun, { interval: 5 }).toBe(count),
  };
}

test('a list of another account is made next, however many one asks for', async () => {
  const gate = Promise.withResolvers<void>();
  const { requests, areLong } = listsBehind(gate.promise);
  const order: string[] = [];
  const note = (name: string, requested: Promise<unknown>[]) =>
    requested.map((request) => request.then(() => order.push(name)));
  const ofAttacker = note('attacker', requests(1, 40));
  await areLong(40);
  const ofOther = note('other', requests(2, 1));
  await areLong(41);
  gate.resolve();
  await Promise.all([...ofAttacker, ...ofOther]);
  // One was under way, and the attacker's turn in the round came first.
  expect(order.indexOf('other')).toBe(2);
});

test('of one account so many long lists wait as one address has connections; others are no fewer', async () => {
  const { requests } = listsBehind(Promise.resolve());
  // One is being made while the others wait.
  const outcomes = await Promise.all([...requests(1, 300), ...requests(2, 2)]);
  expect(outcomes.filter((outcome) => outcome === 503)).toHaveLength(300 - 257);
  expect(outcomes.slice(-2)).toEqual(['[1,1]', '[1,1]']);
});
