// Users of a contract and their proxy access tokens: whom they are for, what they carry, and what
// ends them.
import { createPublicKey, verify } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { changeUser, raiseTokenVersion, requireUserNamed } from '../src/users/users.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import type { TestClient } from './harness.ts';

const day = 86_400;

/** The claims of a token, in the order that nodes read them. */
function claimsOf(token: string) {
  const [payload = ''] = token.slice(4).split('.');
  const [version, kid, account, user, token_version, expiry] = JSON.parse(
    Buffer.from(payload, 'base64url').toString(),
  );
  return { version, kid, account, user, token_version, expiry };
}

eachApp((t) => {
  let acme: BuiltAccount;
  let client: TestClient;
  let keys: Array<{ kid: string; public_key: string }>;

  beforeAll(async () => {
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'] });
    client = t.as(acme);
    await t.user(acme, 'bob', { billing: true });
    await t.user(acme, 'carol', { proxy: true });
    await change(acme, 'carol', { active: false });
    const node = await t.node('fra1');
    keys = (await node.snapshot()).find(({ kind }) => kind === 'keys')?.value as typeof keys;
  });

  const change = (of: BuiltAccount, name: string, changes: Parameters<typeof changeUser>[2]) =>
    t.write(async (tx) => changeUser(tx, await requireUserNamed(tx, of.account.id, name), changes));
  const raise = (of: BuiltAccount, name: string) =>
    t.write(async (tx) => raiseTokenVersion(tx, await requireUserNamed(tx, of.account.id, name)));
  const create = (user: unknown, expire?: number, by = client) =>
    by.post('/users/token', { user, ...(expire === undefined ? {} : { expire }) });

  /** As a node verifies a token: with the public key of its snapshot alone. */
  function isSigned(token: string): boolean {
    const [payload = '', signature = ''] = token.slice(4).split('.');
    const { kid } = claimsOf(token);
    const x = keys.find((key) => key.kid === kid)?.public_key;
    if (!token.startsWith('ewt_') || !x) return false;
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, Buffer.from(payload), key, Buffer.from(signature, 'base64url'));
  }

  describe('GET /v0/users', () => {
    it('shows the active users of the account by id, with their permissions', async () => {
      expect((await client.get('/users')).body).toEqual([
        {
          id: 1,
          name: 'alice',
          display_name: 'Alice',
          active: true,
          flags: { proxy: true, billing: true, admin: true },
          token_version: 1,
        },
        {
          id: 2,
          name: 'bob',
          display_name: 'bob',
          active: true,
          flags: { proxy: false, billing: true, admin: false },
          token_version: 1,
        },
      ]);
    });

    it('a user who is made inactive leaves the list and is not forgotten', async () => {
      const other = await t.account('other');
      await t.user(other, 'dora', { proxy: true });
      const listed = async () =>
        (await t.as(other).get('/users')).body.map((user: { name: string }) => user.name);
      await change(other, 'dora', { active: false });
      expect(await listed()).toEqual(['alice']);
      await change(other, 'dora', { active: true });
      expect(await listed()).toEqual(['alice', 'dora']);
    });

    it('the earlier variant has no users and no tokens', async () => {
      const earlier = t.as(acme, 'earlier');
      expect((await earlier.get('/users')).status).toBe(404);
      expect((await earlier.post('/users/token', { user: 'alice' })).status).toBe(404);
    });
  });

  describe('POST /v0/users/token', () => {
    it('a token carries account, user, token_version, expiry and key id, signed with Ed25519', async () => {
      const { status, body } = await create('alice', 3600);
      expect(status).toBe(200);
      expect(body.token).toMatch(/^ewt_[\w-]+\.[\w-]{86}$/);
      expect(claimsOf(body.token)).toEqual({
        version: 1,
        kid: keys[0]?.kid,
        account: acme.account.id,
        user: 1,
        token_version: 1,
        expiry: t.now() + 3600,
      });
      expect(isSigned(body.token)).toBe(true);
    });

    it('a token that was tampered with does not verify', async () => {
      const { token } = (await create('alice')).body;
      const [payload = '', signature] = token.slice(4).split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
      claims[5] += 1;
      const forged = `ewt_${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
      expect([isSigned(token), isSigned(forged)]).toEqual([true, false]);
    });

    it('an integer is an id; a string is a name, or failing that an id in digits', async () => {
      const digits = await t.account('digits');
      const by = t.as(digits);
      await t.user(digits, '1', { proxy: true });
      await t.user(digits, '007', { proxy: true });
      const userOf = async (user: unknown) =>
        claimsOf((await create(user, 60, by)).body.token).user;
      expect(await userOf('alice')).toBe(1);
      expect(await userOf(1)).toBe(1);
      expect(await userOf('1')).toBe(2);
      expect(await userOf(2)).toBe(2);
      expect(await userOf('2')).toBe(2);
      expect(await userOf('007')).toBe(3);
      expect(await userOf('3')).toBe(3);
      expect((await create('03', 60, by)).status).toBe(409);
      expect((await create('1e0', 60, by)).status).toBe(409);
    });

    it.each([
      ['an unknown name', 'nobody', /not a user of the account/],
      ['an unknown id', 99, /not a user of the account/],
      ['an unknown id in digits', '99', /not a user of the account/],
      ['an inactive user', 'carol', /inactive/],
      ['an inactive user by id', 3, /inactive/],
      ['a user without the proxy flag', 'bob', /proxy flag/],
      ['a user without the proxy flag by id', 2, /proxy flag/],
    ])('%s gets 409', async (_, user, says) => {
      const { status, body } = await create(user);
      expect([status, body]).toEqual([409, { message: expect.stringMatching(says) }]);
    });

    it("another account's user is not there", async () => {
      const foreign = await t.account('foreign');
      await t.user(foreign, 'zoe', { proxy: true });
      expect((await create('zoe')).status).toBe(409);
      expect((await create('zoe', 60, t.as(foreign))).status).toBe(200);
    });

    it('expire goes from one second to ten years', async () => {
      for (const seconds of [1, 10 * 365.25 * day]) {
        expect(claimsOf((await create('alice', seconds)).body.token).expiry).toBe(
          t.now() + seconds,
        );
      }
      for (const seconds of [0, -1, 1.5, 10 * 365.25 * day + 1]) {
        const { status, body } = await create('alice', seconds);
        expect([status, body]).toEqual([400, { message: expect.stringMatching(/^expire:/) }]);
      }
    });

    it("without expire the contract's default lifetime applies, a year where nothing was agreed", async () => {
      expect(claimsOf((await create('alice')).body.token).expiry).toBe(t.now() + 365 * day);
      const brief = await t.account('brief', { token_lifetime_seconds: 7200 });
      expect(claimsOf((await create('alice', undefined, t.as(brief))).body.token).expiry).toBe(
        t.now() + 7200,
      );
    });

    it('a user may have many at once', async () => {
      const tokens = await Promise.all(
        [60, 61, 62].map(async (seconds) => (await create('alice', seconds)).body.token),
      );
      expect(new Set(tokens).size).toBe(3);
      expect(tokens.every(isSigned)).toBe(true);
    });

    it('the text of a token is nowhere in the database', async () => {
      const { token } = (await create('alice', 4242)).body;
      const rows = await t.running.ctx.db.all<{ after: string }>(
        "select after from audit where action = 'proxy_token.create' order by id",
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain(token.slice(0, 40));
      expect(JSON.parse(rows.at(-1)?.after ?? '')).toEqual({
        token_version: expect.any(Number),
        expiry: t.now() + 4242,
      });
    });
  });

  describe('token_version', () => {
    it('raising it ends all tokens of that user at once: new ones carry it, and the nodes get it', async () => {
      const node = await t.node('fra1', 'listening');
      await node.start();
      const before = claimsOf((await create('alice')).body.token).token_version;
      await raise(acme, 'alice');
      const after = claimsOf((await create('alice')).body.token).token_version;
      expect(after).toBe(before + 1);
      await node.until((follower) => follower.heard('user').length === 1);
      expect(node.heard('user')[0]).toMatchObject({
        id: 1,
        value: { name: 'alice', token_version: after },
      });
      expect((await client.get('/users')).body[0].token_version).toBe(after);
      node.stop();
    });

    it('it only rises, and of raises at the same time each counts', async () => {
      const version = async () => (await client.get('/users')).body[0].token_version;
      const before = await version();
      await Promise.all(Array.from({ length: 10 }, () => raise(acme, 'alice')));
      expect(await version()).toBe(before + 10);
      await change(acme, 'alice', { display_name: 'Alice' });
      expect(await version()).toBe(before + 10);
    });

    it('a token and a raise at the same time: no token carries a version that was not the current one', async () => {
      const before = (await client.get('/users')).body[0].token_version;
      const [made] = await Promise.all([
        create('alice'),
        raise(acme, 'alice'),
        raise(acme, 'alice'),
      ]);
      const { token_version } = claimsOf(made.body.token);
      expect(token_version).toBeGreaterThanOrEqual(before);
      expect(token_version).toBeLessThanOrEqual(before + 2);
      expect(claimsOf((await create('alice')).body.token).token_version).toBe(before + 2);
    });
  });
});
