// Known devices: a browser in which a user has shown the password does not wait for the guesses of
// others.
import { type TOTP, URI } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { type Browser, passwordOf, startTestApp, type TestApp } from './harness.ts';

const right = passwordOf('alice');
const newer = 'another long password';

eachDatabase((database) => {
  let t: TestApp;
  let accounts = 0;
  let addresses = 0;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8' });
  });
  afterAll(() => t.stop());

  /** alice of an account of her own, in a browser of hers; bob is beside her. */
  async function alice() {
    const name = `acme${++accounts}`;
    await t.user(await t.account(name), 'bob');
    return { name, browser: await t.signIn(name, 'alice') };
  }
  const attempt = async (by: Browser, account: string, password: string, user = 'alice') => {
    const headers = { 'x-forwarded-for': `198.51.100.${++addresses % 250}` };
    return (await by.post('/session', { account, user, password }, headers)).status;
  };
  /** Guesses from elsewhere, until the name has to wait. */
  async function lockOut(account: string, user = 'alice') {
    for (let free = 0; free < 5; free++) await attempt(t.browser(), account, 'a guess', user);
    expect(await attempt(t.browser(), account, passwordOf(user), user)).toBe(429);
  }
  /** Whether a browser without a session is known, in an account that is locked out for others. */
  const isKnown = async (by: Browser, account: string, password = right) => {
    expect(by.token).toBeUndefined();
    const status = await attempt(by, account, password);
    expect([201, 429]).toContain(status);
    return status === 201;
  };

  test('signs in while others guess, after the invitation and after each sign-in', async () => {
    const { name, browser } = await alice();
    await lockOut(name);
    for (let times = 0; times < 3; times++) {
      await browser.delete('/session');
      expect(await isKnown(browser, name)).toBe(true);
    }
    expect((await browser.post('/second-factor', { password: right })).status).toBe(201);
  });

  test('has five guesses of its own, whatever its address, and then waits', async () => {
    const { name, browser } = await alice();
    await browser.delete('/session');
    for (let free = 0; free < 5; free++) expect(await attempt(browser, name, 'a guess')).toBe(401);
    expect(await attempt(browser, name, right)).toBe(429);
    // Others are not concerned.
    expect(await attempt(t.browser(), name, right)).toBe(201);
    t.clock.advance(2);
    expect(await attempt(browser, name, right)).toBe(201);
  });

  test('opens nothing', async () => {
    const { browser } = await alice();
    await browser.delete('/session');
    expect(browser.cookie).toMatch(/^exitward-device-\d+=[^;]+$/);
    expect((await browser.get('/session')).status).toBe(401);
    const [, device] = browser.cookie.split('=');
    const cookie = `exitward-${new URL(t.base_url).port}=${device}`;
    expect((await browser.get('/session', { cookie })).status).toBe(401);
  });

  test('is of one user alone', async () => {
    const { name, browser } = await alice();
    const other = await alice();
    await lockOut(name, 'bob');
    await browser.delete('/session');
    expect(await attempt(browser, name, passwordOf('bob'), 'bob')).toBe(429);
    await lockOut(other.name);
    expect(await isKnown(browser, other.name)).toBe(false);
  });

  test('is not made by a link, nor by a token that was changed', async () => {
    const { name, browser } = await alice();
    const path = `/accounts/${name}/users/alice/sign-in-link`;
    const { code } = (await t.operator.post(path, {})).body;
    const entered = t.browser();
    expect((await entered.post('/session/link', { code })).status).toBe(201);
    await entered.delete('/session');
    expect(entered.cookie).toBe('');
    await browser.delete('/session');
    await lockOut(name);
    const [first, id = '', expiry, hash] = browser.cookie.split(/=|\./);
    const tries = [
      [id.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')), expiry, hash],
      [id, `${Number(expiry) + 1}`, hash],
      [id, expiry, `A${hash}`.slice(0, 43)],
    ];
    for (const parts of tries) {
      const cookie = `${first}=${parts.join('.')}`;
      const body = { account: name, user: 'alice', password: right };
      expect((await t.browser().post('/session', body, { cookie })).status).toBe(429);
    }
    expect(await isKnown(browser, name)).toBe(true);
  });

  test('ends with a new password, except for the browser that sets it', async () => {
    const { name, browser } = await alice();
    const old = t.browser();
    expect(await attempt(old, name, right)).toBe(201);
    const change = { current_password: right, password: newer };
    expect((await browser.put('/password', change)).status).toBe(204);
    for (const device of [old, browser]) await device.delete('/session');
    for (let free = 0; free < 5; free++) await attempt(t.browser(), name, 'a guess');
    expect(await attempt(old, name, newer)).toBe(429);
    expect(await attempt(browser, name, newer)).toBe(201);
  });

  test('ends with a new second factor, except for the browser that sets it: those made before are no guesses at its codes', async () => {
    const { name, browser } = await alice();
    const old = t.browser();
    expect(await attempt(old, name, right)).toBe(201);
    const { url } = (await browser.post('/second-factor', { password: right })).body;
    const phone = URI.parse(url) as TOTP;
    const shown = () => phone.generate({ timestamp: t.now() * 1000 });
    expect((await browser.put('/second-factor', { code: shown() })).status).toBe(200);
    for (const device of [old, browser]) await device.delete('/session');
    const enter = (by: Browser, code: string) =>
      by.post('/session', { account: name, user: 'alice', password: right, code });
    const wrong = shown().replace(/.$/, (digit) => String((Number(digit) + 5) % 10));
    for (let free = 0; free < 5; free++) {
      expect((await enter(t.browser(), wrong)).status).toBe(401);
    }
    expect((await enter(old, wrong)).status).toBe(429);
    // One that was used confirmed it.
    t.clock.advance(60);
    for (let guess = 0; guess < 5; guess++) await enter(t.browser(), wrong);
    expect((await enter(old, shown())).status).toBe(429);
    expect((await enter(browser, shown())).status).toBe(201);
  });

  test('ends with a reset, and after 180 days', async () => {
    const { name, browser } = await alice();
    await t.operator.delete(`/accounts/${name}/users/alice/sign-in`);
    await t.signIn(name, 'alice');
    await lockOut(name);
    const cookie = browser.cookie.replace(/exitward-\d+=[^;]*; /, '');
    const body = { account: name, user: 'alice', password: right };
    expect((await t.browser().post('/session', body, { cookie })).status).toBe(429);

    const other = await alice();
    await other.browser.delete('/session');
    t.clock.advance(180 * 86_400 - 1);
    await lockOut(other.name);
    const oldCookie = other.browser.cookie;
    expect(await isKnown(other.browser, other.name)).toBe(true);
    t.clock.advance(1);
    const late = { account: other.name, user: 'alice', password: right };
    await lockOut(other.name);
    expect((await t.browser().post('/session', late, { cookie: oldCookie })).status).toBe(429);
  });
});
