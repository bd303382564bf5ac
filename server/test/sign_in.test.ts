// Signing in to the console: by invitation, password, second factor and link; sessions and how they
// end.
import { scryptSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OfBrowser, readCookie, setCookie } from '../src/http/cookies.ts';
import { cost } from '../src/sign_in/passwords.ts';
import { eachApp } from './apps.ts';
import { realCost } from './cheap_passwords.ts';
import { type Browser, passwordOf, startTestApp } from './harness.ts';

const day = 86_400;
const wrong = { message: 'account, user or password is not right.', code: 'wrong_password' };

eachApp((t, database) => {
  let accounts = 0;
  const ids = new Map<string, number>();

  /** An account of its own for each test, with alice (all flags) and bob (none). */
  async function account(): Promise<string> {
    const name = `acme${++accounts}`;
    const built = await t.account(name);
    await t.user(built, 'bob');
    ids.set(name, built.account.id);
    return name;
  }
  const users = (name: string) => `/accounts/${name}/users`;
  const invite = async (name: string, user: string) =>
    (await t.operator.send('POST', `${users(name)}/${user}/invite`)).body;
  const enter = (browser: Browser, name: string, user: string, more: object = {}) =>
    browser.post('/session', { account: name, user, password: passwordOf(user), ...more });
  const auditOf = async (name: string) =>
    (await t.operator.get(`/audit?account=${name}`)).body as Array<Record<string, unknown>>;

  const writeLastUsed = () => t.running.ctx.lastUsed.write(t.running.ctx);

  describe('an invitation', () => {
    test('says whom it invites without being used up, then sets the password and signs in', async () => {
      const name = await account();
      const { code, path, url, expiry } = await invite(name, 'alice');
      expect(code).toMatch(/^ewl_[0-9A-Za-z]{36}$/);
      expect(path).toBe(`/#/invite/${code}`);
      expect(url).toBe(t.running.ctx.config.public_url + path);
      expect(expiry).toBe(t.now() + 7 * day);
      const browser = t.browser();
      for (const _ of [1, 2]) {
        expect((await browser.post('/invite', { code })).body).toEqual({
          account: name,
          user: 'alice',
          display_name: 'Alice',
          expiry,
          second_factor: false,
        });
      }
      const accepted = await browser.post('/invite/accept', {
        code,
        password: passwordOf('alice'),
      });
      expect(accepted.status).toBe(201);
      expect(accepted.body).toEqual({
        account: name,
        user: {
          id: 1,
          name: 'alice',
          display_name: 'Alice',
          flags: { admin: true, billing: true, proxy: true },
        },
        session_id: 1,
        created_at: t.now(),
        expiry: t.now() + 30 * day,
        second_factor: false,
        has_password: true,
        writable: true,
        contract: { suspended: false, expiry: t.now() + 300 * day },
        now: t.now(),
      });
      expect((await browser.get('/session')).body).toEqual(accepted.body);
      expect((await enter(t.browser(), name, 'alice')).status).toBe(201);
    });

    test('works once, until a newer one is made, and for seven days', async () => {
      const name = await account();
      const body = async () => ({
        code: (await invite(name, 'bob')).code as string,
        password: passwordOf('bob'),
      });
      const accept = (what: object) => t.browser().post('/invite/accept', what);
      const [first, second] = [await body(), await body()];
      expect((await accept(first)).status).toBe(401);
      expect((await accept(second)).status).toBe(201);
      expect((await accept(second)).status).toBe(401);
      expect((await t.browser().post('/invite', { code: second.code })).status).toBe(401);
      const third = await body();
      t.clock.advance(7 * day);
      expect((await accept(third)).status).toBe(401);
      const fourth = await body();
      await t.operator.patch(`${users(name)}/bob`, { active: false });
      expect((await accept(fourth)).status).toBe(401);
      expect((await t.operator.send('POST', `${users(name)}/bob/invite`)).status).toBe(409);
      expect((await t.browser().post('/session/link', { code: second.code })).status).toBe(401);
    });

    test('accepted by two at once lets one in', async () => {
      const name = await account();
      const { code } = await invite(name, 'bob');
      const accept = () =>
        t.browser().post('/invite/accept', { code, password: passwordOf('bob') });
      const answers = await Promise.all([accept(), accept()]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 401]);
    });

    test.each([
      ['short', 'elevenchars', 'expected 12 to 200 characters'],
      ['long', 'long word '.repeat(21), 'expected 12 to 200 characters'],
      ['of one character', 'a'.repeat(20), 'expected at least 5 different'],
      ['the name', 'bartholomew-bob', undefined],
      ['one name over and over', 'BOB bob bob bob', 'is nothing but a name'],
      ['short once it is normalised', 'ﬃ'.repeat(3).concat('ab'), 'expected 12 to 200'],
    ])('a password that is %s is taken only if it is good enough', async (_, password, fault) => {
      const name = await account();
      const { code } = await invite(name, 'bob');
      const answer = await t.browser().post('/invite/accept', { code, password });
      expect([answer.status, answer.body.message]).toEqual(
        fault ? [400, expect.stringContaining(`password: ${fault}`)] : [201, undefined],
      );
    });
  });

  describe('a password, hashed at its real cost,', () => {
    const cheap = { ...cost };
    beforeAll(() => void Object.assign(cost, realCost));
    afterAll(() => void Object.assign(cost, cheap));

    test('signs in, however its characters are composed', async () => {
      const name = await account();
      const { code } = await invite(name, 'bob');
      const password = 'größer als zwölf';
      await t.browser().post('/invite/accept', { code, password: password.normalize('NFC') });
      const browser = t.browser();
      const given = { account: name, user: 'bob', password: password.normalize('NFD') };
      const answer = await browser.post('/session', given);
      expect(answer.status).toBe(201);
      expect(answer.headers.get('location')).toBe('/console/session');
      expect(answer.headers.get('cache-control')).toBe('no-store');
    });

    test('that is wrong, missing, of nobody, or of an inactive user gets one and the same answer, as slowly', async () => {
      const name = await account();
      await t.signIn(name, 'alice');
      const carol = await t.account(`${name}-other`);
      await t.user(carol, 'carol');
      await t.signIn(`${name}-other`, 'carol');
      await t.operator.patch(`${users(`${name}-other`)}/carol`, { active: false });
      const times: Record<string, number> = {};
      for (const [why, whose, user, password] of [
        ['wrong', name, 'alice', 'no such password'],
        ['without password', name, 'bob', 'no such password'],
        ['unknown user', name, 'mallory', 'no such password'],
        ['unknown account', 'nowhere', 'alice', 'no such password'],
        ['inactive', `${name}-other`, 'carol', passwordOf('carol')],
      ] as const) {
        // The quicker of two: the machine may do something else meanwhile.
        for (let tries = 0; tries < 2; tries++) {
          const browser = t.browser();
          const start = performance.now();
          const answer = await browser.post('/session', { account: whose, user, password });
          times[why] = Math.min(times[why] ?? Infinity, performance.now() - start);
          expect([why, answer.status, answer.body]).toEqual([why, 401, wrong]);
          expect(browser.cookie).toBe('');
        }
      }
      // Without the work for nobody's password these take a hundredth.
      for (const time of Object.values(times)) expect(time).toBeGreaterThan((times.wrong ?? 0) / 8);
    });

    test('is changed by who knows it; the other sessions end, this one stays', async () => {
      const name = await account();
      const alice = await t.signIn(name, 'alice');
      const elsewhere = t.browser();
      await enter(elsewhere, name, 'alice');
      const password = 'another long password';
      const change = (body: object) => alice.put('/password', body);
      expect((await change({ password })).body.message).toMatch(/^current_password: is missing/);
      const refused = await change({ current_password: 'not the password', password });
      expect([refused.status, refused.body.message]).toEqual([
        403,
        'current_password: is not right.',
      ]);
      const current_password = passwordOf('alice');
      expect((await change({ current_password, password: 'short' })).status).toBe(400);
      expect((await elsewhere.get('/session')).status).toBe(200);
      expect((await change({ current_password, password })).status).toBe(204);
      expect((await elsewhere.get('/session')).status).toBe(401);
      expect((await alice.get('/session')).status).toBe(200);
      expect((await enter(t.browser(), name, 'alice')).status).toBe(401);
      expect((await enter(t.browser(), name, 'alice', { password })).status).toBe(201);
    });

    test('hashed at an older cost is hashed again at the next sign-in', async () => {
      const name = await account();
      await t.signIn(name, 'bob');
      const stored = async () => {
        const sql = 'select password from sign_ins where account_id = $1 and user_id = 2';
        const row = await t.running.ctx.db.one<{ password: string }>(sql, [ids.get(name) ?? 0]);
        return row?.password;
      };
      expect(await stored()).toMatch(/^scrypt\$15\$8\$3\$/);
      const salt = Buffer.from('a salt of sixteen');
      const hash = scryptSync(passwordOf('bob'), salt, 32, { N: 2 ** 12, r: 8, p: 1 });
      const old = `scrypt$12$8$1$${salt.toString('base64url')}$${hash.toString('base64url')}`;
      await t.write((tx) =>
        tx.run('update sign_ins set password = $2 where account_id = $1 and user_id = 2', [
          ids.get(name) ?? 0,
          old,
        ]),
      );
      expect((await enter(t.browser(), name, 'bob', { password: 'not this one' })).status).toBe(
        401,
      );
      expect(await stored()).toBe(old);
      expect((await enter(t.browser(), name, 'bob')).status).toBe(201);
      expect(await stored()).toMatch(/^scrypt\$15\$8\$3\$/);
      expect((await enter(t.browser(), name, 'bob')).status).toBe(201);
    });
  });

  describe('a session', () => {
    const cookieOf = async (env: object) => {
      const other = await startTestApp(await database.url(), { ...env });
      await other.account('acme');
      const { code } = (await other.operator.send('POST', '/accounts/acme/users/alice/invite'))
        .body;
      const origin = other.base_url.replace(
        'http:',
        'EXITWARD_TLS_TERMINATED' in env ? 'https:' : 'http:',
      );
      const body = { code, password: passwordOf('alice') };
      const answer = await other.with().post('/console/invite/accept', body, { origin });
      await other.stop();
      return answer.headers.getSetCookie();
    };

    test('and a device are cookies for this host alone, over TLS alone, out of reach of scripts and other sites', async () => {
      const flags = (days: number) => `Path=/; Max-Age=${days * day}; HttpOnly; SameSite=Strict`;
      const device = '[\\w-]{22}\\.\\d{10}\\.[\\w-]{43}';
      const cookies = [
        `exitward-\\d+=[\\w-]{43}; ${flags(30)}`,
        `exitward-device-\\d+=${device}; ${flags(180)}`,
      ];
      expect(await cookieOf({ EXITWARD_TLS_TERMINATED: 'yes' })).toEqual(
        cookies.map((cooky) => expect.stringMatching(new RegExp(`^__Host-${cooky}; Secure$`))),
      );
      expect(await cookieOf({})).toEqual(
        cookies.map((cooky) => expect.stringMatching(new RegExp(`^${cooky}$`))),
      );
    });

    test('shows in the list of its person, and of nobody else', async () => {
      const name = await account();
      const alice = await t.signIn(name, 'alice');
      const bob = await t.signIn(name, 'bob');
      const phone = t.browser();
      const body = { account: name, user: 'alice', password: passwordOf('alice') };
      await phone.post('/session', body, { 'user-agent': 'x'.repeat(300) });
      const list = (await alice.get('/sessions')).body;
      expect(list).toEqual([
        {
          id: 3,
          current: false,
          created_at: t.now(),
          seen_at: t.now(),
          expiry: t.now() + 30 * day,
          address: '127.0.0.1',
          browser: 'x'.repeat(200),
        },
        expect.objectContaining({ id: 1, current: true }),
      ]);
      expect((await bob.get('/sessions')).body).toHaveLength(1);
      expect((await bob.delete('/sessions/1')).status).toBe(404);
      expect((await bob.delete('/sessions/x')).status).toBe(404);
      expect((await alice.delete('/sessions/3')).status).toBe(204);
      expect((await phone.get('/session')).status).toBe(401);
      await enter(phone, name, 'alice');
      expect((await alice.delete('/sessions')).status).toBe(204);
      expect((await phone.get('/session')).status).toBe(401);
      expect((await alice.get('/session')).status).toBe(200);
      expect((await bob.get('/session')).status).toBe(200);
    });

    test('ends by signing out, and by signing in again in the same browser', async () => {
      const name = await account();
      const alice = await t.signIn(name, 'alice');
      const first = alice.cookie;
      await enter(alice, name, 'alice');
      expect(alice.cookie).not.toBe(first);
      expect((await alice.get('/session', { cookie: first })).status).toBe(401);
      const second = alice.cookie;
      expect((await alice.delete('/session')).status).toBe(204);
      expect(alice.token).toBeUndefined();
      expect((await alice.get('/session', { cookie: second })).status).toBe(401);
    });

    test('ends after a week without use, and after thirty days in any case', async () => {
      const name = await account();
      const alice = await t.signIn(name, 'alice');
      const idle = t.browser();
      await enter(idle, name, 'alice');
      for (let week = 0; week < 4; week++) {
        t.clock.advance(7 * day - 1);
        expect((await alice.get('/session')).status, `week ${week}`).toBe(200);
        await writeLastUsed();
        expect(await seenAt(alice)).toBe(t.now());
      }
      expect((await idle.get('/session')).status).toBe(401);
      t.clock.advance(2 * day);
      expect((await alice.get('/session')).status).toBe(200);
      t.clock.advance(4);
      expect((await alice.get('/session')).status).toBe(401);
    });

    test('notes its use in memory, which is written once a minute', async () => {
      const name = await account();
      const alice = await t.signIn(name, 'alice');
      const began = t.now();
      t.clock.advance(59);
      await alice.get('/session');
      // A later write shows that none was made for the use.
      await t.write(async (tx) => void (await tx.run('update network set maintenance = 0')));
      expect(await seenAt(alice)).toBe(began);
      await writeLastUsed();
      expect(await seenAt(alice)).toBe(began + 59);
    });

    test('ends at once for a user who becomes inactive, and does not come back with the user', async () => {
      const name = await account();
      const bob = await t.signIn(name, 'bob');
      await t.operator.patch(`${users(name)}/bob`, { active: false });
      expect((await bob.get('/session')).status).toBe(401);
      await t.pass(60);
      await t.operator.patch(`${users(name)}/bob`, { active: true });
      expect((await bob.get('/session')).status).toBe(401);
    });

    test('is one of fifty at most: the oldest ends', async () => {
      const name = await account();
      const first = await t.signIn(name, 'bob');
      for (let more = 0; more < 49; more++) await byLink(t.browser(), name, 'bob');
      expect((await first.get('/sessions')).body).toHaveLength(50);
      await byLink(t.browser(), name, 'bob');
      expect((await first.get('/session')).status).toBe(401);
    });

    test('is apart from that of another server on this host', () => {
      const at = (host: string, cookie?: string) => ({ headers: { host, cookie } }) as OfBrowser;
      const session = { token: 'secret', lifetime_seconds: 60 };
      const [cookie = ''] = setCookie(at('127.0.0.1:8080'), 'session', session, false).split(';');
      const read = (host: string) => readCookie(at(host, cookie), 'session', false);
      expect(read('127.0.0.1:8080')).toBe('secret');
      expect(read('127.0.0.1:8090')).toBeUndefined();
      expect(setCookie(at('proxies.example'), 'session', session, true)).toMatch(
        /^__Host-exitward=secret;/,
      );
    });

    test.each([
      ['two of them', (cookie: string) => `${cookie}; ${cookie}`],
      ['a cookie of another name', (cookie: string) => cookie.replace('exitward-', 'exitward2-')],
      [
        'one changed character',
        (cookie: string) => cookie.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
      ],
      ['an empty one', (cookie: string) => cookie.replace(/=.*/, '=')],
    ])('is not taken from %s', async (_, spoil) => {
      const name = await account();
      const bob = await byLink(t.browser(), name, 'bob');
      expect((await bob.get('/session', { cookie: `a=b; ${bob.cookie}` })).status).toBe(200);
      expect((await bob.get('/session', { cookie: spoil(bob.cookie) })).status).toBe(401);
    });

    test('says whether the contract takes changes', async () => {
      const name = await account();
      const bob = await byLink(t.browser(), name, 'bob');
      await t.operator.patch(`/accounts/${name}`, { suspended: true });
      expect((await bob.get('/session')).body).toMatchObject({
        writable: false,
        contract: { suspended: true },
      });
    });
  });

  async function byLink(browser: Browser, name: string, user: string): Promise<Browser> {
    const link = (await t.operator.post(`${users(name)}/${user}/sign-in-link`, {})).body;
    expect((await browser.post('/session/link', { code: link.code })).status).toBe(201);
    return browser;
  }

  test('whatever ends a session or shows in the list of users moves what the account is stamped with', async () => {
    const name = await account();
    const stamp = async () => {
      const sql = 'select revision from versions where account_id = $1';
      const row = await t.running.ctx.db.one<{ revision: number }>(sql, [ids.get(name) ?? 0]);
      return row?.revision ?? 0;
    };
    const alice = await t.signIn(name, 'alice');
    const facts = async () => {
      const { body } = await alice.get('/users');
      return body.find((user: { name: string }) => user.name === 'bob').sign_in;
    };
    const nothing = {
      has_password: false,
      second_factor: false,
      invited_until: null,
      last_sign_in_at: null,
      sessions: 0,
    };
    expect(await facts()).toEqual(nothing);
    const phone = t.browser();
    const in_a_week = t.now() + 7 * day;
    const in_between = { ...nothing, has_password: true, last_sign_in_at: t.now() };
    const steps: Array<[string, () => Promise<unknown>, object]> = [
      ['invited', () => invite(name, 'bob'), { ...nothing, invited_until: in_a_week }],
      ['accepted', () => t.signIn(name, 'bob'), { ...in_between, sessions: 1 }],
      ['signed in', () => enter(phone, name, 'bob'), { ...in_between, sessions: 2 }],
      ['ended one', () => phone.delete('/sessions/2'), { ...in_between, sessions: 1 }],
      ['signed out', () => phone.delete('/session'), in_between],
      ['signed in', () => enter(phone, name, 'bob'), { ...in_between, sessions: 1 }],
      ['ended by an admin', () => alice.delete('/users/bob/sessions'), in_between],
      ['reset', () => alice.delete('/users/bob/sign-in'), { ...in_between, has_password: false }],
    ];
    for (const [what, act, expected] of steps) {
      const before = await stamp();
      await act();
      expect([what, (await stamp()) > before]).toEqual([what, true]);
      expect([what, await facts()]).toEqual([what, expected]);
    }
  });

  describe('a sign-in link', () => {
    test('signs in once, without a password, within its lifetime', async () => {
      const name = await account();
      const link = (more = {}) => t.operator.post(`${users(name)}/bob/sign-in-link`, more);
      const made = (await link()).body;
      expect(made).toEqual({
        code: expect.stringMatching(/^ewl_/),
        path: `/#/enter/${made.code}`,
        url: `${t.running.ctx.config.public_url}/#/enter/${made.code}`,
        expiry: t.now() + 900,
      });
      const bob = t.browser();
      const entered = await bob.post('/session/link', { code: made.code });
      expect([entered.status, entered.body.has_password]).toEqual([201, false]);
      expect((await t.browser().post('/session/link', { code: made.code })).status).toBe(401);
      const late = (await link({ lifetime_seconds: 60 })).body;
      t.clock.advance(60);
      expect((await t.browser().post('/session/link', { code: late.code })).status).toBe(401);
      expect((await link({ lifetime_seconds: 86_401 })).status).toBe(400);
      // It is no invitation.
      const { code } = (await link()).body;
      expect((await t.browser().post('/invite', { code })).status).toBe(401);
      expect((await bob.post('/second-factor', { password: 'x' })).status).toBe(409);
      expect((await bob.put('/password', { password: 'a first long password' })).status).toBe(204);
    });

    test('and all else is in the audit log, with who did it', async () => {
      const name = await account();
      const bob = await byLink(t.browser(), name, 'bob');
      await bob.put('/password', { password: 'a first long password' });
      const alice = await byLink(t.browser(), name, 'alice');
      await alice.put('/password', { password: passwordOf('alice') });
      await alice.post('/users/bob/invite', { password: passwordOf('alice') });
      await alice.delete('/users/bob/sign-in');
      const log = (await auditOf(name)).map((row) => [
        row.action,
        row.target,
        row.actor_kind,
        row.actor,
      ]);
      expect(log.slice(0, 7).reverse()).toEqual([
        ['session.create', 'bob', 'user', `${name}/bob`],
        ['password.set', 'bob', 'user', `${name}/bob`],
        ['user.sign_in_link', 'alice', 'operator', 'first'],
        ['session.create', 'alice', 'user', `${name}/alice`],
        ['password.set', 'alice', 'user', `${name}/alice`],
        ['user.invite', 'bob', 'user', `${name}/alice`],
        ['user.reset_sign_in', 'bob', 'user', `${name}/alice`],
      ]);
    });
  });
});

async function seenAt(browser: Browser): Promise<number> {
  const sessions = (await browser.get('/sessions')).body as Array<Record<string, unknown>>;
  return sessions.find(({ current }) => current)?.seen_at as number;
}
