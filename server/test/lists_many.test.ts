// Both lists for daily work: notes and who added an entry; many entries at once, all or none, with
// a way back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  let t: TestApp;
  let acme: BuiltAccount;
  let alice: Browser;
  let bob: Browser;
  let accounts = 0;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_CONFLICTS_PER_HOUR: '50' });
    await t.server('fra1');
  });
  afterAll(() => t.stop());

  /** A new account, so that each test has lists of its own. */
  async function scene() {
    const name = `acme${++accounts}`;
    acme = await t.account(name, { servers: ['fra1'] });
    await t.user(acme, 'bob', { proxy: true });
    alice = await t.signIn(name, 'alice');
    bob = await t.signIn(name, 'bob');
    return name;
  }
  const expiry = () => t.now() + 3600;
  const ip = (at: number) => `10.7.${accounts}.${at}`;
  const entry = (at: number, more: object = {}) => ({
    ...{ ip: ip(at), user: 'bob', expiry: expiry(), ...more },
  });
  const override = (at: number, more: object = {}) => ({
    ...{ server: 'fra1', hostname: `h${at}.example`, ip: '192.0.2.1', expiry: expiry(), ...more },
  });
  const bodies = { authlist: entry, overrides: override };
  const lists = ['authlist', 'overrides'] as const;
  const listOf = async (list: string, by = alice) =>
    (await by.get(`/${list}`)).body as Array<{ id: number; expiry: number; note: string }>;
  const add = async (list: keyof typeof bodies, at: number, more: object = {}) => {
    const { status, body } = await alice.post(`/${list}`, bodies[list](at, more));
    expect(status).toBe(201);
    return body as { id: number; expiry: number };
  };
  const v0 = { authlist: '/contract/ip-authlist', overrides: '/contract/overrides' };

  describe.each(lists)('%s', (list) => {
    test('an entry has a note, and who added it when; /v0 knows neither', async () => {
      const name = await scene();
      const made = await alice.post(`/${list}`, bodies[list](1, { note: 'Büro 🏢, until March' }));
      const added = { added_by_kind: 'user', added_by: `${name}/alice`, added_at: t.now() };
      expect(made.body).toMatchObject({ note: 'Büro 🏢, until March', ...added });
      const byToken = await t.as(acme).post(v0[list], bodies[list](2));
      const byOperator = await t.operator.post(`/accounts/${name}/${list}`, bodies[list](3));
      expect(byOperator.body.added_by_kind).toBe('operator');
      expect((await listOf(list))[1]).toMatchObject({
        ...{ id: byToken.body.id, note: '', added_by_kind: 'account', added_at: t.now() },
      });
      const shown = await t.as(acme).get(`${v0[list]}/${made.body.id}`);
      expect(shown.text).not.toMatch(/note|added/);
      const unknown = await t.as(acme).post(v0[list], bodies[list](4, { note: 'x' }));
      expect([unknown.status, unknown.body.message]).toEqual([
        400,
        expect.stringMatching(/^note: /),
      ]);
      const { id } = made.body;
      expect((await t.as(acme).patch(`${v0[list]}/${id}`, { note: 'x' })).status).toBe(400);
    });

    test('a note is changed without a word to the nodes, and the entry stays as it is', async () => {
      const name = await scene();
      const { id } = await add(list, 1);
      const node = await t.node('fra1');
      await node.snapshot();
      await node.ack();
      const before = (await listOf(list))[0];
      const position = () => t.running.ctx.db.one('select max(revision) as last from changes');
      const logged = await position();
      const changed = await alice.patch(`/${list}/${id}`, { note: 'office' });
      expect(changed.body).toEqual({ ...before, note: 'office' });
      expect(await position()).toEqual(logged);
      const [record] = (await alice.get('/audit?limit=1')).body;
      expect([record.action, record.after.note]).toEqual([
        expect.stringMatching(/change$/),
        'office',
      ]);
      expect((await alice.patch(`/${list}/${id}`, { note: '' })).body.note).toBe('');
      const long = await alice.patch(`/${list}/${id}`, { note: 'x'.repeat(201) });
      expect([long.status, long.body.field]).toEqual([400, 'note']);
      const half = await alice.patch(`/${list}/${id}`, `{"note": "\\ud800"}`, {
        'content-type': 'application/json',
      });
      expect(half.status).toBe(400);
      await t.operator.delete(`/accounts/${name}/${list}`);
      await node.send('GET', '/snapshot');
    });

    test('entries that are removed at once come back with ids, notes and who added them', async () => {
      await scene();
      for (const at of [1, 2, 3]) await add(list, at, { note: `note ${at}` });
      const before = await listOf(list);
      const ids = before.slice(0, 2).map(({ id }) => id);
      const removed = await alice.post(`/${list}/remove`, { ids });
      expect(removed.body).toEqual({ entries: 2, removal_id: expect.any(Number) });
      expect(await listOf(list)).toEqual(before.slice(2));
      const { removal_id } = removed.body;
      expect((await alice.get('/removals')).body).toEqual([
        { removal_id, list, entries: 2, at: t.now(), chosen: true },
      ]);
      const restored = await alice.post(`/${list}/restore`, { removal_id });
      expect(restored.body).toEqual({ restored: 2, left_out: 0 });
      const rest = (entries: typeof before) =>
        entries.map(({ status: _, ...entry }: (typeof before)[0] & { status?: string }) => entry);
      expect(rest(await listOf(list))).toEqual(rest(before));
      expect((await alice.post(`/${list}/restore`, { removal_id })).status).toBe(409);
      const records = (await alice.get('/audit?limit=3')).body as Array<{ action: string }>;
      expect(records.map(({ action }) => action.split('.')[1])).toEqual([
        ...['restore', 'remove', 'remove'],
      ]);
      await alice.delete(`/${list}`);
      const all = (await alice.get('/removals')).body[0];
      expect(all.chosen).toBe(false);
      await alice.post(`/${list}/restore`, { removal_id: all.removal_id });
      expect(rest(await listOf(list))).toEqual(rest(before));
    });

    test('removals of chosen entries end no undo of a removal of all', async () => {
      await scene();
      await add(list, 1);
      const { removal_id } = (await alice.delete(`/${list}`)).body;
      for (let at = 2; at < 24; at += 1) {
        const { id } = await add(list, at);
        expect((await alice.post(`/${list}/remove`, { ids: [id] })).status).toBe(200);
      }
      const removals = (await alice.get('/removals')).body as Array<{ removal_id: number }>;
      expect(removals.length).toBe(21);
      expect(removals.at(-1)?.removal_id).toBe(removal_id);
      const restored = await alice.post(`/${list}/restore`, { removal_id });
      expect(restored.body).toEqual({ restored: 1, left_out: 0 });
    });

    test('an id that is not there is named, and nothing is done', async () => {
      await scene();
      const { id } = await add(list, 1);
      const before = await listOf(list);
      const gone = await alice.post(`/${list}/remove`, { ids: [id, 99] });
      expect([gone.status, gone.body.code, gone.body.field]).toEqual([404, 'not_found', 'ids.1']);
      const entries = [
        { id, expiry: expiry() + 60 },
        { id: 99, expiry: expiry() },
      ];
      const extended = await alice.patch(`/${list}`, { entries });
      expect([extended.status, extended.body.field]).toEqual([404, 'entries.1.id']);
      const past = await alice.patch(`/${list}`, { entries: [{ id, expiry: t.now() }] });
      expect([past.status, past.body.field]).toEqual([400, 'entries.0.expiry']);
      const twice = [0, 1].map(() => ({ id, expiry: expiry() }));
      expect((await alice.patch(`/${list}`, { entries: twice })).body.field).toBe('entries.1.id');
      const tooMany = Array.from({ length: 1001 }, (_, at) => at + 1);
      const refused = await alice.post(`/${list}/remove`, { ids: tooMany });
      expect([refused.status, refused.body.field]).toEqual([400, 'ids']);
      expect(await listOf(list)).toEqual(before);
    });

    test('many expiries are changed at once, and each reaches nodes and the audit log', async () => {
      await scene();
      for (const at of [1, 2, 3]) await add(list, at);
      const before = await listOf(list);
      const later = before.map(({ id }, at) => ({ id, expiry: expiry() + 60 * (at + 1) }));
      const changed = await alice.patch(`/${list}`, { entries: later.slice(1) });
      expect([changed.status, changed.body]).toEqual([200, { changed: 2 }]);
      expect((await listOf(list)).map((entry) => entry.expiry)).toEqual([
        before[0]?.expiry,
        ...later.slice(1).map((entry) => entry.expiry),
      ]);
      const records = (await alice.get('/audit?limit=2')).body;
      expect(records.map(({ target }: { target: string }) => target)).toEqual(
        later
          .slice(1)
          .reverse()
          .map(({ id }) => `${list}/${id}`),
      );
    });
  });

  test('an expired custom DNS entry revives with others, unless its hostname is taken by then', async () => {
    await scene();
    const first = await add('overrides', 1, { expiry: t.now() + 60 });
    const second = await add('overrides', 2, { expiry: t.now() + 60 });
    await t.pass(61);
    const entries = [first, second].map(({ id }) => ({ id, expiry: expiry() }));
    expect((await alice.patch('/overrides', { entries })).body).toEqual({ changed: 2 });
    expect((await listOf('overrides')).map((entry) => entry.expiry)).toEqual([expiry(), expiry()]);
    await t.pass(3601);
    await add('overrides', 2);
    const again = entries.map(({ id }) => ({ id, expiry: expiry() }));
    const refused = await alice.patch('/overrides', { entries: again });
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([
      ...[409, 'hostname_taken', 'entries.1.id'],
    ]);
    expect((await listOf('overrides'))[0]?.expiry).not.toBe(expiry());
  });

  describe('addresses that are pasted', () => {
    const paste = (addresses: string, more: object = {}, by = alice) =>
      by.post('/authlist/add', { addresses, user: 'bob', expiry: expiry(), ...more });

    test('a dry run says what would come of each line, then all are added, or none', async () => {
      await scene();
      await add('authlist', 9);
      await alice.post('/authlist', entry(8, { user: 'alice' }));
      const text = `# our offices\n${ip(1)} # Berlin\n\n  ${ip(2)}\t\r\n${ip(9)}\n${ip(1)}\n2001:DB8::${accounts}\n`;
      const dry = await paste(text, { dry_run: true, note: 'office' });
      expect([dry.status, dry.body.added]).toEqual([200, 3]);
      const outcomes = (body: { lines: Array<{ line: number; outcome: string }> }) =>
        body.lines.map(({ line, outcome }) => `${line} ${outcome}`);
      const expected = ['2 new', '4 new', '5 listed', '6 repeated', '7 new'];
      expect(outcomes(dry.body)).toEqual(expected);
      expect((await listOf('authlist')).length).toBe(2);
      const faulty = await paste(`${text}10.0.0.300\n${ip(8)}`, { dry_run: true });
      expect(faulty.body.lines.slice(-2)).toEqual([
        {
          ...{ line: 8, ip: '10.0.0.300', outcome: 'fault', code: 'invalid_field' },
          message: expect.stringMatching(/^"10.0.0.300" is not an IP address/),
        },
        {
          ...{ line: 9, ip: ip(8), outcome: 'fault', code: 'address_taken' },
          message: `${ip(8)} is already on the authlist.`,
        },
      ]);
      const refused = await paste(`${text}10.0.0.300`);
      expect([refused.status, refused.body.field]).toEqual([400, 'addresses']);
      expect(refused.body.message).toMatch(/^addresses: line 8: .*Nothing was added\.$/);
      expect((await listOf('authlist')).length).toBe(2);
      const done = await paste(text, { note: 'office' });
      expect([done.status, done.body.added, outcomes(done.body)]).toEqual([200, 3, expected]);
      const added = (await listOf('authlist')).slice(2);
      expect(added.map(({ note }) => note)).toEqual(['Berlin', 'office', 'office']);
      const ids = done.body.lines.flatMap(({ id }: { id?: number }) => id ?? []);
      expect(added.map(({ id }) => id)).toEqual(ids);
      expect((await alice.post('/authlist/remove', { ids })).body.entries).toBe(3);
    });

    test('an address that a removal, or time, took off the list is free', async () => {
      await scene();
      await add('authlist', 1);
      await alice.delete('/authlist');
      await add('authlist', 2, { expiry: t.now() + 60 });
      t.clock.advance(61);
      expect((await paste(`${ip(1)}\n${ip(2)}`)).body.added).toBe(2);
      expect((await listOf('authlist')).length).toBe(2);
    });

    test('1000 are added at once; of 1001 none is added', async () => {
      await scene();
      const several = (count: number) =>
        Array.from({ length: count }, (_, at) => `203.0.${at >> 8}.${at & 255}`).join('\n');
      const refused = await paste(several(1001));
      expect([refused.status, refused.body.field]).toEqual([400, 'addresses']);
      const added = await paste(several(1000));
      expect([added.status, added.body.added]).toEqual([200, 1000]);
      expect(await listOf('authlist')).toHaveLength(1000);
    });

    test('what is no list of addresses is refused by its field', async () => {
      await scene();
      for (const addresses of ['', '# nothing\n']) {
        const { status, body } = await paste(addresses);
        expect([status, body.field]).toEqual([400, 'addresses']);
      }
      const unknown = await paste(ip(1), { user: 'nobody', dry_run: true });
      expect([unknown.status, unknown.body.code]).toEqual([409, 'unknown_user']);
      expect((await paste(ip(1), { expiry: t.now() })).body.field).toBe('expiry');
      expect((await paste(ip(1), { user: 'alice' }, bob)).status).toBe(403);
    });

    test('it shows no more listed addresses than additions one by one', async () => {
      await scene();
      for (let at = 1; at <= 40; at += 1) await add('authlist', at);
      const name = await scene();
      const addresses = Array.from({ length: 40 }, (_, at) => `10.7.${accounts - 1}.${at + 1}`);
      const dry = { dry_run: true };
      expect((await paste(addresses.join('\n'), dry)).status).toBe(200);
      expect((await paste(addresses.join('\n'), dry)).status).toBe(429);
      expect((await alice.post('/authlist', entry(1))).status).toBe(429);
      expect(name).toContain('acme');
    });

    test('an address that another account claims without a proof gives way to the operator’s word', async () => {
      await scene();
      await add('authlist', 1);
      const theirs = ip(1);
      const name = await scene();
      const added = await t.operator.post(`/accounts/${name}/authlist/add`, {
        ...{ addresses: theirs, user: 'bob', expiry: expiry() },
      });
      expect(added.body.added).toBe(1);
      expect((await listOf('authlist'))[0]).toMatchObject({ ip: theirs, proof: 'proven' });
    });
  });

  test('a person without the admin flag removes, extends and restores own entries alone', async () => {
    await scene();
    const own = await add('authlist', 1);
    const others = (await alice.post('/authlist', entry(2, { user: 'alice' }))).body as {
      id: number;
    };
    const refused = await bob.post('/authlist/remove', { ids: [own.id, others.id] });
    expect([refused.status, refused.body.field]).toEqual([404, 'ids.1']);
    const entries = [{ id: others.id, expiry: expiry() }];
    expect((await bob.patch('/authlist', { entries })).status).toBe(404);
    const removed = await bob.post('/authlist/remove', { ids: [own.id] });
    const byAdmin = await alice.post('/authlist/remove', { ids: [others.id] });
    const restore = (by: Browser, { body: { removal_id } }: typeof removed) =>
      by.post('/authlist/restore', { removal_id });
    expect((await restore(bob, byAdmin)).body.code).toBe('removal_gone');
    expect((await restore(bob, removed)).body).toEqual({ restored: 1, left_out: 0 });
    expect((await restore(alice, byAdmin)).body).toEqual({ restored: 1, left_out: 0 });
    expect((await bob.post('/overrides/remove', { ids: [1] })).status).toBe(403);
  });

  test('many entries at once count as many writes of the day', async () => {
    const small = await startTestApp(await database.url(), { EXITWARD_WRITES_PER_DAY: '40' });
    await small.account('acme');
    const admin = await small.signIn('acme', 'alice');
    const text = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => `10.9.0.${from + at}`).join('\n');
    const paste = (addresses: string) =>
      admin.post('/authlist/add', { addresses, user: 'alice', expiry: small.now() + 60 });
    expect((await paste(text(1, 31))).body).toMatchObject({ added: 30 });
    const over = await paste(text(31, 51));
    expect([over.status, over.body.code]).toEqual([429, 'rate_limited']);
    expect(over.body.message).toMatch(
      /^With these 20 the account would have made more than the 40/,
    );
    expect((await paste(text(31, 40))).status).toBe(200);
    const ids = Array.from({ length: 5 }, (_, at) => at + 1);
    expect((await admin.post('/authlist/remove', { ids })).status).toBe(200);
    await small.stop();
  });
});
