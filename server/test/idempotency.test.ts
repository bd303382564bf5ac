// Idempotency-Key: a POST that is sent again does nothing again, and its answer is the first one,
// for a day.
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiToken } from '../src/api_tokens/api_tokens.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp, type TestClient } from './harness.ts';

const day = 86_400;
const lists = ['/contract/ip-authlist', '/contract/overrides'] as const;

eachDatabase((database) => {
  let t: TestApp;
  let url: string;
  let acme: BuiltAccount;
  let client: TestClient;
  let names = 0;

  beforeAll(async () => {
    url = await database.url();
    t = await startTestApp(url);
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'], expiry: t.now() + 3000 * day });
    client = t.as(acme);
  });
  afterAll(() => t.stop());

  const key = (name = `key-${++names}`) => ({ 'idempotency-key': name });
  const bodyFor = (list: string) =>
    list === lists[0]
      ? { ip: `203.0.113.${++names}`, user: 'alice', expiry: t.now() + 100 * day }
      : {
          server: 'fra1',
          hostname: `host${++names}.example.com`,
          ip: '192.0.2.1',
          expiry: t.now() + 100 * day,
        };
  const count = async (list: string) => (await client.get(list)).body.length;

  describe.each(lists)('POST /v0%s', (list) => {
    it('the same key and body: the first answer again, with its status, Location and ETag, and one entry', async () => {
      const [headers, body, before] = [key(), bodyFor(list), await count(list)];
      const first = await client.post(list, body, headers);
      expect(first.status).toBe(201);
      for (let again = 0; again < 3; again++) {
        const replayed = await client.post(list, body, headers);
        expect([replayed.status, replayed.text]).toEqual([201, first.text]);
        for (const name of ['location', 'etag', 'content-type']) {
          expect(replayed.headers.get(name)).toBe(first.headers.get(name));
        }
        expect(replayed.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
      }
      expect(await count(list)).toBe(before + 1);
    });

    it('the first answer is replayed also when the entry was changed or removed since', async () => {
      const [headers, body] = [key(), bodyFor(list)];
      const first = await client.post(list, body, headers);
      await client.patch(first.headers.get('location') as string, { expiry: t.now() + 5 * day });
      expect((await client.post(list, body, headers)).text).toBe(first.text);
      await client.delete(first.headers.get('location') as string);
      expect((await client.post(list, body, headers)).text).toBe(first.text);
      expect((await client.get(first.headers.get('location') as string)).status).toBe(404);
    });

    it('another body with the same key gets 409 and does nothing', async () => {
      const [headers, before] = [key(), await count(list)];
      await client.post(list, bodyFor(list), headers);
      const refused = await client.post(list, bodyFor(list), headers);
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('Idempotency-Key'),
      ]);
      expect(await count(list)).toBe(before + 1);
    });

    it('of many requests with one key at the same time one creates, and all get its answer', async () => {
      const [headers, body, before] = [key(), bodyFor(list), await count(list)];
      const answers = await Promise.all(
        Array.from({ length: 25 }, () => client.post(list, body, headers)),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(201);
      expect(await count(list)).toBe(before + 1);
    });

    it('a refusal is not kept: the same key may try again', async () => {
      const [headers, body] = [key(), bodyFor(list)];
      await client.post(list, body);
      expect((await client.post(list, body, headers)).status).toBe(409);
      await client.delete(list);
      expect((await client.post(list, body, headers)).status).toBe(201);
    });

    it('after 24 hours the key is free again, swept or not', async () => {
      const [headers, body] = [key(), bodyFor(list)];
      const first = await client.post(list, body, headers);
      t.clock.advance(day - 1);
      expect((await client.post(list, body, headers)).text).toBe(first.text);
      t.clock.advance(1);
      const other = bodyFor(list);
      const anew = await client.post(list, other, headers);
      expect([anew.status, anew.text === first.text]).toEqual([201, false]);
      expect((await client.post(list, other, headers)).text).toBe(anew.text);
    });
  });

  it('keys belong to an account: another one may use the same', async () => {
    const other = await t.account('other', { servers: ['fra1'] });
    const headers = key();
    const [mine, theirs] = [
      await client.post(lists[0], bodyFor(lists[0]), headers),
      await t.as(other).post(lists[0], bodyFor(lists[0]), headers),
    ];
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body.ip).not.toBe(mine.body.ip);
  });

  it('another path with the same key gets 409', async () => {
    const headers = key();
    await client.post(lists[0], bodyFor(lists[0]), headers);
    expect((await client.post(lists[1], bodyFor(lists[1]), headers)).status).toBe(409);
    expect((await client.post('/users/token', { user: 'alice' }, headers)).status).toBe(409);
  });

  it('blanks in the body do not make it another body', async () => {
    const headers = key();
    const { ip, user, expiry } = bodyFor(lists[0]) as { ip: string; user: string; expiry: number };
    const first = await client.post(lists[0], { ip, user, expiry }, headers);
    const again = await client.post(
      lists[0],
      ` { "ip": "${ip}", "user": "${user}",\n "expiry": ${expiry} } `,
      headers,
    );
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  it('PATCH and DELETE take no key: they may be sent again as they are', async () => {
    const { body } = await client.post(lists[1], bodyFor(lists[1]));
    const headers = key();
    const path = `${lists[1]}/${body.id}`;
    expect((await client.patch(path, { ip: '192.0.2.5' }, headers)).body.ip).toBe('192.0.2.5');
    expect((await client.patch(path, { ip: '192.0.2.6' }, headers)).body.ip).toBe('192.0.2.6');
    expect((await client.delete(path, headers)).status).toBe(204);
  });

  it.each(['', ' ', 'x'.repeat(256), 'a b', 'ü'])(
    'a malformed key gets 400: "%s"',
    async (name) => {
      const sent = name === 'ü' ? Buffer.from(name).toString('latin1') : name;
      const { status } = await client.post(lists[0], bodyFor(lists[0]), {
        'idempotency-key': sent,
      });
      expect(status).toBe(400);
    },
  );

  it('what comes before the key in the order of refusals still does', async () => {
    const body = { name: 'watcher', read_only: true };
    const { text } = await t.write((tx) =>
      createApiToken(tx, t.running.ctx.secrets, true, acme.account, body),
    );
    const [headers, entry] = [key(), bodyFor(lists[0])];
    await client.post(lists[0], entry, headers);
    expect((await t.as({ api_token: text }).post(lists[0], entry, headers)).status).toBe(403);
    expect((await client.post(lists[0], '{', headers)).status).toBe(400);
  });

  describe('POST /v0/users/token', () => {
    it('a replay answers the same token, whose text is sealed at rest', async () => {
      const headers = key();
      const first = await client.post('/users/token', { user: 'alice', expire: 777 }, headers);
      t.clock.advance(60);
      const again = await client.post('/users/token', { user: 'alice', expire: 777 }, headers);
      expect([again.status, again.text]).toEqual([200, first.text]);

      const { db } = t.running.ctx;
      const stored = await db.all<{ body: string }>('select * from idempotency_keys');
      expect(stored.length).toBeGreaterThan(0);
      const [payload, signature] = first.body.token.slice(4).split('.');
      for (const text of [
        first.body.token,
        payload,
        signature,
        Buffer.from(first.text).toString('base64url').slice(8, 80),
      ]) {
        expect(JSON.stringify(stored)).not.toContain(text);
        expect(JSON.stringify(await db.all('select * from audit'))).not.toContain(text);
        if (url.startsWith('sqlite:')) {
          for (const file of globSync(`${url.slice('sqlite:'.length)}*`)) {
            expect(readFileSync(file).includes(text)).toBe(false);
          }
        }
      }
    });

    it('an API token is found in no table and no file of the database either', async () => {
      const { db } = t.running.ctx;
      for (const table of [
        'api_tokens',
        'audit',
        'idempotency_keys',
        'accounts',
        'admin_tokens',
        'nodes',
        'node_invites',
      ]) {
        const text = JSON.stringify(await db.all(`select * from ${table}`));
        expect(text).not.toContain(acme.api_token);
        expect(text).not.toContain(t.admin_token);
      }
      if (!url.startsWith('sqlite:')) return;
      for (const file of globSync(`${url.slice('sqlite:'.length)}*`)) {
        expect(readFileSync(file).includes(acme.api_token)).toBe(false);
      }
    });
  });

  it('with Prefer: wait a replay does not wait again and shows the first answer', async () => {
    const node = await t.node('fra1');
    await node.start();
    const [headers, body] = [{ ...key(), prefer: 'wait=5' }, bodyFor(lists[1])];
    const posted = client.post(lists[1], body, headers);
    await node.until((follower) => follower.heard('override').length > 0);
    await node.ack();
    const first = await posted;
    expect(first.body.status).toBe('active');
    const again = await client.post(lists[1], body, headers);
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect(await count(lists[1])).toBeGreaterThan(0);
    node.stop();
  });

  it('cached responses leave the database after a day', async () => {
    await client.post(lists[0], bodyFor(lists[0]), key());
    await t.pass(day);
    expect(await t.running.ctx.db.all('select key from idempotency_keys')).toEqual([]);
  });
});
