// Guessing: attempts are counted before they are evaluated, waits grow, and nothing distinguishes a
// right guess from a wrong one.
import { type TOTP, URI } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inHashQueue } from '../src/sign_in/hash_queue.ts';
import { addressPrefix } from '../src/sign_in/throttle.ts';
import { cookieAt } from './client.ts';
import { eachDatabase } from './databases.ts';
import { type Answer, passwordOf, startTestApp, type TestApp } from './harness.ts';
import { until } from './waiting.ts';

const right = passwordOf('alice');
const place = (at: number) => ({ prefix: `place ${at}`, account: `${at}`, isKnown: false });

eachDatabase((database) => {
  let t: TestApp;
  let accounts = 0;
  let addresses = 0;
  let address = '';
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8' });
  });
  afterAll(() => t.stop());

  /** alice of an account of her own; attempts come from an address of its own for each test. */
  async function alice() {
    const name = `acme${++accounts}`;
    address = `203.0.113.${++addresses}`;
    await t.account(name);
    return { name, browser: await t.signIn(name, 'alice') };
  }
  const attempt = (account: string, password: string, more: object = {}, from = address) =>
    t
      .browser()
      .post('/session', { account, user: 'alice', password, ...more }, { 'x-forwarded-for': from });
  const waitOf = ({ status, headers }: Answer) => [status, headers.get('retry-after')];

  test('after five failures each has to wait twice as long as the one before, a quarter of an hour at most', async () => {
    const { name } = await alice();
    for (let free = 0; free < 5; free++) {
      expect((await attempt(name, 'not the password')).status).toBe(401);
    }
    const waits: number[] = [];
    for (let failures = 5; failures < 16; failures++) {
      const refused = await attempt(name, 'not the password');
      expect(refused.status).toBe(429);
      const wait = Number(refused.headers.get('retry-after'));
      waits.push(wait);
      t.clock.advance(wait - 1);
      expect(waitOf(await attempt(name, 'not the password'))).toEqual([429, '1']);
      t.clock.advance(1);
      expect((await attempt(name, 'not the password')).status).toBe(401);
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
  });

  test('the right password has to wait too, and then clears the count', async () => {
    const { name, browser } = await alice();
    for (let free = 0; free < 5; free++) await attempt(name, 'not the password');
    const throttled = await attempt(name, right);
    expect(throttled.text).toBe((await attempt(name, 'not the password')).text);
    expect(waitOf(throttled)).toEqual([429, '2']);
    // People who are signed in already are not concerned.
    expect((await browser.get('/session')).status).toBe(200);
    t.clock.advance(2);
    expect((await attempt(name, right)).status).toBe(201);
    for (let free = 0; free < 5; free++) {
      expect((await attempt(name, 'not the password')).status).toBe(401);
    }
  });

  test('many guesses at once are no more than one after another', async () => {
    const { name } = await alice();
    const guesses = Array.from({ length: 25 }, () => attempt(name, 'not the password'));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  });

  test('an unknown name is throttled as a known one', async () => {
    await alice();
    for (let free = 0; free < 5; free++) {
      expect((await attempt('nowhere', 'not the password')).status).toBe(401);
    }
    expect(waitOf(await attempt('nowhere', 'not the password'))).toEqual([429, '2']);
  });

  test('another user from another address is not concerned', async () => {
    const { name } = await alice();
    for (let free = 0; free < 6; free++) await attempt(name, 'not the password');
    expect((await attempt(name, right)).status).toBe(429);
    const other = await alice();
    expect((await attempt(other.name, right)).status).toBe(201);
  });

  test('one address gets twenty failures, for all people together; right ones do not count', async () => {
    await alice();
    for (let free = 0; free < 20; free++) {
      expect((await attempt(`nowhere${free}`, 'not the password')).status, `${free}`).toBe(401);
      if (free === 10) {
        for (let good = 0; good < 3; good++)
          expect((await attempt(`acme${accounts}`, right)).status).toBe(201);
      }
    }
    expect(waitOf(await attempt('nowhere', 'not the password'))).toEqual([429, '2']);
    expect(waitOf(await attempt(`acme${accounts}`, right))).toEqual([429, '2']);
    expect((await attempt(`acme${accounts}`, right, {}, '203.0.113.250')).status).toBe(201);
  });

  test('addresses of one IPv6 network count as one', async () => {
    await alice();
    for (let free = 0; free < 20; free++) {
      await attempt(`inside${free}`, 'not the password', {}, `2001:db8:0:1::${free + 1}`);
    }
    const next = (from: string) => attempt('inside', 'not the password', {}, from);
    expect((await next('2001:db8:0:1:ffff::1')).status).toBe(429);
    expect((await next('2001:db8:0:2::1')).status).toBe(401);
  });

  test('a site of many IPv6 networks gets a hundred failures, each of its networks twenty', async () => {
    await alice();
    const next = (network: number, to: string, site = '2001:db8:7') =>
      attempt(to, 'not the password', {}, `${site}:${network.toString(16)}::1`);
    for (let free = 0; free < 100; free++) {
      expect((await next(free, `site${free}`)).status, `${free}`).toBe(401);
    }
    expect(waitOf(await next(100, 'site100'))).toEqual([429, '2']);
    expect((await next(100, 'site100', '2001:db8:8')).status).toBe(401);
  });

  test('attempts that find no place to be looked at are counted until then, and given back', async () => {
    const { name } = await alice();
    const places = Array.from({ length: 32 }, () => Promise.withResolvers<void>());
    const busy = places.map(({ promise }, at) => inHashQueue(place(at), () => promise));
    for (let times = 0; times < 8; times++) {
      expect((await attempt(name, 'not the password')).status).toBe(503);
    }
    for (const { resolve } of places) resolve();
    await Promise.all(busy);
    expect((await attempt(name, right)).status).toBe(201);
  });

  test('attempts are counted while they wait to be looked at', async () => {
    const { name } = await alice();
    const places = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    const busy = places.map(({ promise }, at) => inHashQueue(place(at), () => promise));
    const guesses = Array.from({ length: 4 }, () => attempt(name, 'not the password'));
    const failures = async () => {
      const rows = await t.running.ctx.db.all<{ failures: number; at: number }>(
        'select failures, at from sign_in_attempts where failures = 4 and at = $1',
        [t.now()],
      );
      return rows.length;
    };
    await until(async () => (await failures()) >= 2);
    expect(await failures()).toBe(2);
    for (const { resolve } of places) resolve();
    await Promise.all(busy);
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses).toEqual([401, 401, 401, 401]);
  });

  test('who knows the password gets no more guesses at the second factor', async () => {
    const { name, browser } = await alice();
    const { url } = (await browser.post('/second-factor', { password: right })).body;
    const phone = URI.parse(url) as TOTP;
    const shown = () => phone.generate({ timestamp: t.now() * 1000 });
    await browser.put('/second-factor', { code: shown() });
    t.clock.advance(60);
    const wrong = shown().replace(/.$/, (digit) => String((Number(digit) + 5) % 10));
    for (let free = 0; free < 4; free++) {
      // The first half alone neither counts nor clears.
      expect((await attempt(name, right)).status).toBe(200);
      expect((await attempt(name, right, { code: wrong })).status).toBe(401);
    }
    expect((await attempt(name, right)).status).toBe(200);
    expect((await attempt(name, right, { code: wrong })).status).toBe(401);
    expect(waitOf(await attempt(name, right, { code: shown() }))).toEqual([429, '2']);
    expect(waitOf(await attempt(name, right))).toEqual([429, '2']);
    t.clock.advance(2);
    expect((await attempt(name, right, { code: shown() })).status).toBe(201);
  });

  test('a borrowed browser gets no more guesses at the password', async () => {
    const { browser } = await alice();
    const headers = { 'x-forwarded-for': address };
    const guess = (current_password: string) =>
      browser.put('/password', { current_password, password: 'a new long password' }, headers);
    const again = (password: string) => browser.post('/second-factor', { password }, headers);
    for (let free = 0; free < 3; free++) expect((await guess('a guess')).status).toBe(403);
    for (let free = 0; free < 2; free++) expect((await again('a guess')).status).toBe(403);
    expect((await guess(right)).status).toBe(429);
    expect((await again(right)).status).toBe(429);
    t.clock.advance(2);
    expect((await again(right)).status).toBe(201);
  });

  test('a second factor that is being set up is no way to guess its code', async () => {
    const { browser } = await alice();
    const headers = { 'x-forwarded-for': address };
    const { url } = (await browser.post('/second-factor', { password: right }, headers)).body;
    const phone = URI.parse(url) as TOTP;
    const shown = () => phone.generate({ timestamp: t.now() * 1000 });
    const confirm = (code: string) => browser.put('/second-factor', { code }, headers);
    const wrong = shown().replace(/.$/, (digit) => String((Number(digit) + 5) % 10));
    for (let free = 0; free < 5; free++) expect((await confirm(wrong)).status).toBe(400);
    expect(waitOf(await confirm(shown()))).toEqual([429, '2']);
    t.clock.advance(2);
    expect((await confirm(shown())).status).toBe(200);
  });

  test('an invitation is no way to guess the second factor', async () => {
    const { name, browser } = await alice();
    const { url } = (await browser.post('/second-factor', { password: right })).body;
    const phone = URI.parse(url) as TOTP;
    await browser.put('/second-factor', { code: phone.generate({ timestamp: t.now() * 1000 }) });
    const path = `/accounts/${name}/users/alice/invite`;
    const { code } = (await t.operator.send('POST', path)).body;
    const body = { code, password: right, second_factor_code: '000000' };
    const accept = () => t.browser().post('/invite/accept', body, { 'x-forwarded-for': address });
    for (let free = 0; free < 5; free++) expect((await accept()).status).toBe(401);
    expect((await accept()).status).toBe(429);
  });

  test('what a proxy passes on that is no address is no way to be counted as many', async () => {
    const { browser } = await alice();
    const guess = (at: number) => attempt(`garbled${at}`, 'not the password', {}, `"garbage ${at}`);
    for (let free = 0; free < 20; free++) expect((await guess(free)).status).toBe(401);
    expect(waitOf(await guess(20))).toEqual([429, '2']);
    const seen = await browser.get('/address', { 'x-forwarded-for': 'garbage' });
    expect([seen.status, seen.body.message]).toEqual([
      400,
      expect.stringMatching(/^ip: your own address is not known/),
    ]);
  });

  test('what was counted is forgotten after a day', async () => {
    const { name } = await alice();
    for (let free = 0; free < 5; free++) await attempt(name, 'not the password');
    const rows = () => t.running.ctx.db.all('select * from sign_in_attempts');
    expect((await rows()).length).toBeGreaterThan(0);
    expect(JSON.stringify(await rows())).not.toMatch(/acme|alice|203\.0/);
    await t.pass(86_400);
    expect(await rows()).toEqual([]);
  });
});

eachDatabase((database) => {
  test('several processes count together, and a session that one ends has ended for all', async () => {
    const url = await database.url();
    const app = await startTestApp(url);
    const { keys_file, admin_token_file } = app.running.ctx.config;
    const other = await startTestApp(url, {
      EXITWARD_KEYS_FILE: keys_file,
      EXITWARD_ADMIN_TOKEN_FILE: admin_token_file,
    });
    await app.account('acme');
    const alice = await app.signIn('acme', 'alice');
    const cookie = cookieAt(other.base_url, alice.cookie);
    const session = () => other.browser().get('/session', { cookie });
    expect((await session()).status).toBe(200);
    const guess = (t: TestApp) =>
      t.browser().post('/session', { account: 'acme', user: 'alice', password: 'a guess' });
    const guesses = Array.from({ length: 12 }, (_, at) => guess(at % 2 === 0 ? app : other));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    await alice.delete('/session');
    expect((await session()).status).toBe(401);
    await Promise.all([app.stop(), other.stop()]);
  });
});

describe('addressPrefix', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:DB8:1:2::', '2001:db8:1:2::'],
    ['fe80::1%eth0', 'fe80::'],
    ['', ''],
  ])('of %s is %s', (address, expected) => {
    expect(addressPrefix(address)).toBe(expected);
  });
});
