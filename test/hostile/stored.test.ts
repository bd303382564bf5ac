// The records that the people of an account can have stored: users, API tokens, a day's writes,
// idempotency keys, the audit log, and the last uses that a node reports.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import {
  type Answer,
  type Browser,
  passwordOf,
  startTestApp,
  type TestApp,
} from '../../server/test/harness.ts';

const maxUsers = 6;
const maxApiTokens = 4;
const writesPerDay = 19;
const reserve = 2;
const keysPerDay = 8;
const maxAuditRecords = 40;
const day = 86_400;

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {
      EXITWARD_MAX_USERS: String(maxUsers),
      EXITWARD_MAX_API_TOKENS: String(maxApiTokens),
      EXITWARD_WRITES_PER_DAY: String(writesPerDay),
      EXITWARD_IDEMPOTENCY_KEYS_PER_DAY: String(keysPerDay),
      EXITWARD_AUDIT_RECORDS_PER_ACCOUNT: String(maxAuditRecords),
    });
    await t.server('fra1');
  });
  afterAll(() => t.stop());

  let accounts = 0;
  let addresses = 0;
  let attacker: BuiltAccount;
  let victim: BuiltAccount;
  let admin: Browser;
  beforeEach(async () => {
    accounts += 1;
    attacker = await t.account(`attacker${accounts}`, { servers: ['fra1'] });
    victim = await t.account(`victim${accounts}`, { servers: ['fra1'] });
    admin = await t.signIn(attacker.account.name, 'alice');
  });

  const entry = () => {
    addresses += 1;
    const ip = `203.0.${addresses >> 8}.${addresses & 255}`;
    return { ip, user: 'alice', expiry: t.now() + 30 * day };
  };
  const add = (of: BuiltAccount, headers = {}) =>
    t.as(of).post('/contract/ip-authlist', entry(), headers);
  const statuses = async (times: number, send: (at: number) => Promise<Answer>) => {
    const all: number[] = [];
    for (let at = 0; at < times; at += 1) all.push((await send(at)).status);
    return all;
  };
  /**
   * Holds the one writer: whatever else is to be written waits until the function that it returns
   * is called.
   */
  const hold = () => {
    const gate = Promise.withResolvers<void>();
    const holding = t.write(() => gate.promise);
    return () => {
      gate.resolve();
      return holding;
    };
  };
  const repeated = (status: number, times: number) => Array<number>(times).fill(status);

  describe('an account has so many at most', () => {
    test('users, inactive ones included: its admins and operators alike get 409 list_full', async () => {
      const create = (name: string) => admin.post('/users', { name });
      expect(await statuses(maxUsers - 1, (at) => create(`user${at}`))).toEqual(
        repeated(201, maxUsers - 1),
      );
      await admin.patch('/users/user0', { active: false });
      const refused = await create('one-more');
      expect([refused.status, refused.body.code]).toEqual([409, 'list_full']);
      expect(refused.body.message).toContain(String(maxUsers));
      const path = (of: BuiltAccount) => `/accounts/${of.account.name}/users`;
      const operators = await t.operator.send('POST', path(attacker), { name: 'one-more' });
      expect([operators.status, operators.body.code]).toEqual([409, 'list_full']);
      expect((await t.operator.send('POST', path(victim), { name: 'one-more' })).status).toBe(201);
    });

    test('users, also of those that are created at the same moment', async () => {
      const all = await Promise.all(
        Array.from({ length: 3 * maxUsers }, (_, at) =>
          admin.post('/users', { name: `user${at}` }),
        ),
      );
      expect(all.filter(({ status }) => status === 201)).toHaveLength(maxUsers - 1);
      expect((await admin.get('/users')).body).toHaveLength(maxUsers);
    });

    test('API tokens; one that is revoked makes room', async () => {
      const create = (name: string) => admin.post('/tokens', { name, read_only: true });
      const all = await Promise.all(
        Array.from({ length: 2 * maxApiTokens }, (_, at) => create(`token${at}`)),
      );
      const full = all.filter(({ status }) => status === 409);
      // The account came with one.
      expect(full).toHaveLength(maxApiTokens + 1);
      expect(full.every(({ body }) => body.code === 'list_full')).toBe(true);
      const path = `/accounts/${attacker.account.name}/tokens`;
      expect((await t.operator.send('POST', path, { name: 'o' })).body.code).toBe('list_full');
      const made = all.find(({ status }) => status === 201);
      expect((await admin.delete(`/tokens/${made?.body.id}`)).status).toBe(204);
      expect((await create('again')).status).toBe(201);
    });
  });

  describe('the writes of an account on a day', () => {
    test('are bounded: 429 with Retry-After until the day is over; others are served beside it', async () => {
      expect(await statuses(writesPerDay, () => add(attacker))).toEqual(
        repeated(201, writesPerDay),
      );
      const refused = await add(attacker);
      expect([refused.status, refused.headers.get('exitward-error')]).toEqual([
        429,
        'rate_limited',
      ]);
      expect(refused.body.message).toContain(String(writesPerDay));
      expect(refused.headers.get('retry-after')).toBe(String(day - (t.now() % day)));
      const inConsole = await admin.post('/users', { name: 'bob' });
      expect([inConsole.status, inConsole.body.code]).toEqual([429, 'rate_limited']);
      expect((await t.as(attacker).get('/contract/ip-authlist')).body).toHaveLength(writesPerDay);
      expect((await add(victim)).status).toBe(201);
      const path = `/accounts/${attacker.account.name}/users`;
      expect((await t.operator.send('POST', path, { name: 'bob' })).status).toBe(201);
      t.clock.advance(day - (t.now() % day));
      expect((await add(attacker)).status).toBe(201);
    });

    test('leave a reserve for what takes something away, and another for admins, whom a stolen API token cannot lock out', async () => {
      await t.user(attacker, 'bob', { proxy: true });
      const bob = await t.signIn(attacker.account.name, 'bob');
      const made: number[] = [];
      for (let at = 0; at < writesPerDay; at += 1) made.push((await add(attacker)).body.id);
      expect((await add(attacker)).status).toBe(429);
      const remove = (at: number) => t.as(attacker).delete(`/contract/ip-authlist/${made[at]}`);
      expect((await add(attacker)).body.message).toContain('Removals');
      expect(await statuses(reserve + 1, remove)).toEqual([...repeated(204, reserve), 429]);
      expect((await add(attacker)).body.message).not.toContain('Removals');
      expect((await bob.post('/users/bob/token_version', undefined)).status).toBe(429);
      // Of the account's two more, one ends the sessions of bob, the other his proxy tokens.
      expect((await admin.patch('/users/bob', { active: false })).status).toBe(200);
      expect((await bob.get('/users/bob')).status).toBe(401);
      expect((await admin.post('/users/bob/token_version', undefined)).status).toBe(200);
      expect((await admin.delete('/users/bob/sessions')).status).toBe(429);
    });

    test('are used up by no user without the admin flag: each has a tenth, and another for revocations', async () => {
      await t.user(attacker, 'bob', { proxy: true });
      const bob = await t.signIn(attacker.account.name, 'bob');
      const make = () => bob.post('/proxy-tokens', { user: 'bob' });
      const revoke = () => bob.post('/users/bob/token_version', undefined);
      expect(await statuses(reserve + 1, make)).toEqual([...repeated(201, reserve), 429]);
      expect((await make()).body.message).toContain(`the ${reserve} changes that a user without`);
      expect(await statuses(reserve + 1, revoke)).toEqual([...repeated(200, reserve), 429]);
      const remaining = writesPerDay - 2 * reserve;
      expect(await statuses(remaining + 1, () => add(attacker))).toEqual([
        ...repeated(201, remaining),
        429,
      ]);
      t.clock.advance(day - (t.now() % day));
      expect((await make()).status).toBe(201);
    });

    test("leave one's own sign-in alone: sessions end, and a second factor is set up, when nothing is left", async () => {
      const path = `/users/alice/token_version`;
      const used = () => admin.post(path, undefined);
      expect(await statuses(writesPerDay + 2 * reserve + 1, used)).toEqual([
        ...repeated(200, writesPerDay + 2 * reserve),
        429,
      ]);
      const password = passwordOf('alice');
      expect((await admin.post('/second-factor', { password })).status).toBe(201);
      const other = t.browser();
      const names = { account: attacker.account.name, user: 'alice' };
      expect((await other.post('/session', { ...names, password })).status).toBe(201);
      const { session_id } = (await other.get('/session')).body;
      expect((await admin.delete(`/sessions/${session_id}`)).status).toBe(204);
      expect((await admin.delete('/sessions')).status).toBe(204);
      expect((await admin.delete('/session')).status).toBe(204);
    });

    test('count what was written, once: neither what was refused nor what ran again in its group', async () => {
      const { ip, ...rest } = entry();
      expect((await t.as(attacker).post('/contract/ip-authlist', { ip, ...rest })).status).toBe(
        201,
      );
      const again = () => t.as(attacker).post('/contract/ip-authlist', { ip, ...rest });
      expect(await statuses(writesPerDay, again)).toEqual(repeated(409, writesPerDay));
      // An action that fails after it wrote makes all of its group run again.
      const failing = () =>
        t.write(async (tx) => {
          tx.markWritten();
          throw new Error('as intended');
        });
      for (let at = 1; at < writesPerDay; at += 6) {
        const release = hold();
        const adding = Promise.all(Array.from({ length: 6 }, () => add(attacker)));
        await setTimeout(200);
        const failed = expect(failing()).rejects.toThrow('as intended');
        await release();
        await failed;
        for (const { status } of await adding) expect(status).toBe(201);
      }
      expect((await add(attacker)).status).toBe(429);
    });
  });

  test('a response is kept for so many idempotency keys of a day; past them nothing is done, and those kept are repeated', async () => {
    const key = (name: number) => ({ 'idempotency-key': `key-${name}` });
    const body = entry();
    const first = await t.as(attacker).post('/contract/ip-authlist', body, key(0));
    expect(first.status).toBe(201);
    for (let at = 1; at < keysPerDay; at += 1) {
      expect((await add(attacker, key(at))).status).toBe(201);
    }
    const refused = await add(attacker, key(keysPerDay));
    expect([refused.status, refused.headers.get('exitward-error')]).toEqual([429, 'rate_limited']);
    expect(refused.body.message).toContain(String(keysPerDay));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const listed = async () => (await t.as(attacker).get('/contract/ip-authlist')).body.length;
    expect(await listed()).toBe(keysPerDay);
    expect((await t.as(attacker).post('/contract/ip-authlist', body, key(0))).text).toBe(
      first.text,
    );
    expect((await add(victim, key(keysPerDay))).status).toBe(201);
    expect((await add(attacker)).status).toBe(201);
    expect(await listed()).toBe(keysPerDay + 1);
    // With the writes of the day used up, a first response is repeated all the same.
    await statuses(writesPerDay, () => add(attacker));
    expect((await add(attacker)).status).toBe(429);
    expect((await t.as(attacker).post('/contract/ip-authlist', body, key(0))).text).toBe(
      first.text,
    );
    const stored = await t.running.ctx.db.one<{ keys: number }>(
      'select count(*) as keys from idempotency_keys where account_id = $1',
      [attacker.account.id],
    );
    expect(stored?.keys).toBe(keysPerDay);
  });

  test('of the audit log the newest records of an account are kept, so many; those of others stay', async () => {
    const idsOf = async (of: BuiltAccount) =>
      (
        await t.running.ctx.db.all<{ id: number }>(
          'select id from audit where account_id = $1 order by id',
          [of.account.id],
        )
      ).map(({ id }) => id);
    await add(victim);
    const ofVictim = await idsOf(victim);
    for (let days = 0; days < 4; days += 1) {
      await statuses(writesPerDay, () => add(attacker));
      await t.pass(day - (t.now() % day));
    }
    await statuses(10, () => add(attacker));
    const before = await idsOf(attacker);
    expect(before).toHaveLength(maxAuditRecords + 10);
    await t.pass(1);
    expect(await idsOf(attacker)).toEqual(before.slice(-maxAuditRecords));
    expect(await idsOf(victim)).toEqual(ofVictim);
    const shown = await t.operator.get(`/accounts/${attacker.account.name}/audit`);
    expect(shown.status).toBe(200);
  });

  test('uses that a node makes up do not pile up while nothing can be written; those of entries are kept', async () => {
    const server = `node${accounts}`;
    await t.server(server);
    const served = await t.account(`served${accounts}`, { servers: [server] });
    const node = await t.node(server);
    const { body: listed } = await add(served);
    const ctx = t.running.ctx;
    await ctx.lastUsed.write(ctx);
    const account = served.account.id;
    const at = t.now();
    const highest = Number.MAX_SAFE_INTEGER;
    const release = hold();
    const sizes: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const uses = Array.from({ length: 4999 }, (_, index) => ({
        account,
        entry: highest - 5000 * round - index,
        at,
      }));
      // Beyond 2^53 a key of account and entry in one number would fall together with others.
      const report = { uses: [...uses, { account, entry: listed.id, at }] };
      await node.send('POST', '/last-used', report);
      sizes.push(ctx.lastUsed.authlist_entries.size);
    }
    await release();
    expect(sizes).toEqual(Array(10).fill(1));
    await ctx.lastUsed.write(ctx);
    const path = `/accounts/${served.account.name}/authlist`;
    expect((await t.operator.get(path)).body).toMatchObject([{ last_used_at: at - (at % 60) }]);
  });
});
