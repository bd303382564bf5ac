// The first operator token: made once, kept in a file that only its owner reads, taken over by a
// new database.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { testFolder } from '../../test/test_folder.ts';
import { systemClock } from '../src/clock.ts';
import type { Actor, Database } from '../src/db/database.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { newKeys } from '../src/keys/keys_file.ts';
import { Secrets } from '../src/keys/secrets.ts';
import { newTokenText } from '../src/keys/token_text.ts';
import {
  createOperatorToken,
  ensureOperatorToken,
  findOperator,
  listOperatorTokens,
  networkStatus,
  nextStep,
  removeOperatorToken,
} from '../src/operators/operators.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp } from './harness.ts';

const actor: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };
const folder = testFolder('operators');
const secrets = new Secrets(newKeys());

eachDatabase((database) => {
  mkdirSync(join(folder, database.name));
  const open: Database[] = [];
  afterAll(() => Promise.all(open.map((db) => db.close())));
  const connect = async (url: string) => {
    const db = await openDatabase(url, { clock: systemClock });
    open.push(db);
    return db;
  };
  const fresh = async () => {
    const db = await connect(await database.url());
    await migrate(db);
    return db;
  };
  const file = (name: string) => join(folder, database.name, name);
  const opens = async (db: Database, text: string) =>
    (await findOperator(db, secrets.hashesOf(text.trim()))) !== undefined;

  test('a new network gets one token, in a file that only its owner reads; a second start keeps it', async () => {
    const [db, path] = [await fresh(), file('new')];
    expect(await ensureOperatorToken(db, secrets, path, actor)).toBe('first');
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(/^ewo_\w{36}\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await opens(db, text)).toBe(true);
    expect(await ensureOperatorToken(db, secrets, path, actor)).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('a new database takes over the token of the file that is there', async () => {
    const [db, path] = [await fresh(), file('new')];
    const text = readFileSync(path, 'utf8');
    expect(await ensureOperatorToken(db, secrets, path, actor)).toBe('first');
    expect(await opens(db, text)).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('a token that was revoked does not come back from the file', async () => {
    const [db, path] = [await fresh(), file('revoked')];
    await ensureOperatorToken(db, secrets, path, actor);
    const text = readFileSync(path, 'utf8');
    await db.write(actor, (tx) => createOperatorToken(tx, secrets, 'second'));
    const first = (await listOperatorTokens(db)).find((token) => token.name === 'first');
    await db.write(actor, (tx) => removeOperatorToken(tx, first?.id));
    expect(await ensureOperatorToken(db, secrets, path, actor)).toBeUndefined();
    expect(await opens(db, text)).toBe(false);
  });

  test('processes that start together agree on one token', async () => {
    const url = await database.url();
    const path = file('together');
    await migrate(await connect(url));
    const starts = await Promise.all(
      [1, 2, 3].map(async () => ensureOperatorToken(await connect(url), secrets, path, actor)),
    );
    expect(starts.filter((made) => made === 'first')).toHaveLength(1);
    const db = await connect(url);
    expect(await listOperatorTokens(db)).toHaveLength(1);
    expect(await opens(db, readFileSync(path, 'utf8'))).toBe(true);
  });

  test('a file that holds something else is left alone, and reported in one sentence that does not repeat it', async () => {
    const db = await fresh();
    for (const text of ['', 'my diary', newTokenText('ewa_')]) {
      const path = file('diary');
      writeFileSync(path, text, { mode: 0o600 });
      const start = ensureOperatorToken(db, secrets, path, actor);
      await expect(start).rejects.toThrow(/holds no operator token; move it away/);
      await expect(start).rejects.not.toThrow(text || 'undefined');
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
    expect(await listOperatorTokens(db)).toEqual([]);
  });

  test('a folder that cannot be written leaves no token behind in the database', async () => {
    const db = await fresh();
    writeFileSync(file('blocked'), '');
    const path = join(file('blocked'), 'admin-token');
    await expect(ensureOperatorToken(db, secrets, path, actor)).rejects.toThrow(/cannot be/);
    expect(await listOperatorTokens(db)).toEqual([]);
  });

  test('where API tokens are shown once, nobody can view one later', async () => {
    const t = await startTestApp(await database.url(), { EXITWARD_API_TOKENS: 'once' });
    const account = { name: 'once', plan: 'P', expiry: t.now() + 1000, limit_bytes: 1 };
    const made = await t.operator.post('/accounts', account);
    expect((await t.as(made.body).get('/contract')).status).toBe(200);
    expect((await t.operator.get('/accounts/once/tokens')).body).toMatchObject([
      { viewable: false },
    ]);
    const viewed = await t.operator.post('/accounts/once/tokens/1/view', undefined);
    expect([viewed.status, viewed.body.message]).toEqual([
      409,
      expect.stringMatching(/shown once/),
    ]);
    await t.stop();
  });

  test('the status says who asks, and from it follows what a network waits for until traffic passes', async () => {
    const t = await startTestApp(await database.url());
    const status = async () => (await t.operator.get('/status')).body;
    expect((await status()).operator).toBe('first');
    const next = async () => nextStep(await networkStatus(t.running.ctx.db, t.now()));
    expect(await next()).toBe('server');
    await t.server('fra1');
    expect(await next()).toBe('node');
    const node = await t.node('fra1');
    expect(await next()).toBe('account');
    const { name } = (
      await t.operator.post('/accounts', {
        name: 'acme',
        plan: 'P',
        expiry: t.now() + 1000,
        limit_bytes: 1,
      })
    ).body.account;
    expect([await next(), (await status()).has_users]).toEqual(['user', false]);
    await t.operator.post(`/accounts/${name}/users`, { name: 'alice' });
    await t.operator.put(`/accounts/${name}/servers/fra1`, {});
    expect([await next(), (await status()).has_usage]).toEqual(['connection', false]);
    const rows = [{ account: 1, user: 1, at: t.now(), up: 1, down: 0 }];
    expect((await node.send('POST', '/usage', { boot: 'b', seq: 1, rows })).status).toBe(200);
    expect([await next(), (await status()).has_usage]).toEqual([undefined, true]);
    await t.stop();
  });
});
