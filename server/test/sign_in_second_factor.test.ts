// The second factor: set up, asked for, each code once, recovery codes, and how it is lost or taken
// away.
import { TOTP, URI } from 'otpauth';
import { expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import { type Browser, passwordOf } from './harness.ts';

const password = passwordOf('alice');

eachApp((t) => {
  let accounts = 0;

  /** alice of an account of her own, with her phone and recovery codes. */
  async function protectedAlice() {
    const name = `acme${++accounts}`;
    await t.account(name);
    const alice = await t.signIn(name, 'alice');
    const { url } = (await alice.post('/second-factor', { password })).body;
    const phone = URI.parse(url) as TOTP;
    /** The code that the phone shows, so many seconds from now. */
    const shown = (seconds = 0) => phone.generate({ timestamp: (t.now() + seconds) * 1000 });
    const confirmed = await alice.put('/second-factor', { code: shown() });
    expect(confirmed.status).toBe(200);
    const recovery_codes = confirmed.body.recovery_codes as string[];
    // The code that confirmed is used up.
    t.clock.advance(60);
    return { name, alice, phone, shown, recovery_codes };
  }
  const enter = (browser: Browser, account: string, code?: string) =>
    browser.post('/session', { account, user: 'alice', password, ...(code ? { code } : {}) });
  const outcome = async (account: string, code?: string) =>
    (await enter(t.browser(), account, code)).status;

  test('is in force once a code of the app has confirmed it', async () => {
    await t.account('fresh');
    const alice = await t.signIn('fresh', 'alice');
    expect((await alice.put('/second-factor', { code: '123456' })).status).toBe(409);
    expect((await alice.post('/second-factor', { password: 'not the password' })).status).toBe(403);
    const begun = await alice.post('/second-factor', { password });
    expect(begun.status).toBe(201);
    const phone = URI.parse(begun.body.url) as TOTP;
    expect(phone).toBeInstanceOf(TOTP);
    expect([phone.issuer, phone.label, phone.secret.base32]).toEqual([
      'Exitward',
      'fresh/alice',
      begun.body.secret,
    ]);
    expect(phone.secret.bytes).toHaveLength(20);
    const now = phone.generate({ timestamp: t.now() * 1000 });
    const other = now.replace(/.$/, (digit) => String((Number(digit) + 1) % 10));
    expect((await alice.put('/second-factor', { code: other })).status).toBe(400);
    expect((await alice.get('/session')).body.second_factor).toBe(false);
    expect(await outcome('fresh')).toBe(201);
    const confirmed = await alice.put('/second-factor', { code: now });
    expect(new Set(confirmed.body.recovery_codes).size).toBe(10);
    for (const code of confirmed.body.recovery_codes) {
      expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){2}$/);
    }
    expect((await alice.get('/session')).body.second_factor).toBe(true);
  });

  test('is asked for behind the right password alone, and without it no cookie is set', async () => {
    const { name, shown } = await protectedAlice();
    const browser = t.browser();
    const half = await enter(browser, name);
    expect([half.status, half.body, browser.cookie]).toEqual([200, { second_factor: 'totp' }, '']);
    const given = { account: name, user: 'alice', password: 'not the password', code: shown() };
    const wrong = await browser.post('/session', given);
    expect([wrong.status, wrong.body.message]).toEqual([
      401,
      'account, user or password is not right.',
    ]);
    const code = shown().replace(/.$/, (digit) => String((Number(digit) + 1) % 10));
    const guessed = await enter(browser, name, code);
    expect([guessed.status, guessed.body.message]).toEqual([401, expect.stringMatching(/^code: /)]);
    expect((await enter(browser, name, shown())).status).toBe(201);
    expect((await browser.get('/session')).body.second_factor).toBe(true);
  });

  test('takes each code once, of this step or the ones beside it', async () => {
    const { name, shown } = await protectedAlice();
    expect(await outcome(name, shown(-60))).toBe(401);
    expect(await outcome(name, shown(60))).toBe(401);
    expect(await outcome(name, shown(-30))).toBe(201);
    expect(await outcome(name, shown(-30))).toBe(401);
    expect(await outcome(name, ` ${shown().slice(0, 3)} ${shown().slice(3)}`)).toBe(201);
    expect(await outcome(name, shown())).toBe(401);
    // A code that is older than a used one is used up with it.
    expect(await outcome(name, shown(30))).toBe(201);
    expect(await outcome(name, shown())).toBe(401);
  });

  test('sent by two at once lets one in', async () => {
    const { name, shown } = await protectedAlice();
    const answers = await Promise.all([outcome(name, shown()), outcome(name, shown())]);
    expect(answers.sort()).toEqual([201, 401]);
  });

  test('may be a recovery code, each once, however it is written', async () => {
    const { name, recovery_codes } = await protectedAlice();
    const [first = '', second = ''] = recovery_codes;
    expect(await outcome(name, first)).toBe(201);
    expect(await outcome(name, first)).toBe(401);
    expect(await outcome(name, second.replaceAll('-', '').toUpperCase())).toBe(201);
    expect(await outcome(name, 'aaaa-bbbb-cccc')).toBe(401);
    const log = (await t.operator.get(`/audit?account=${name}`)).body as Array<{ action: string }>;
    const used = log.filter(({ action }) => action === 'second_factor.recover');
    expect(used).toMatchObject([{ after: { codes_left: 8 } }, { after: { codes_left: 9 } }]);
  });

  test('set up again ends the old secret and the old recovery codes', async () => {
    const { name, alice, shown, recovery_codes } = await protectedAlice();
    const { url } = (await alice.post('/second-factor', { password })).body;
    // Until it is confirmed the old one holds.
    expect(await outcome(name, shown())).toBe(201);
    t.clock.advance(60);
    const phone = URI.parse(url) as TOTP;
    const fresh = () => phone.generate({ timestamp: t.now() * 1000 });
    expect((await alice.put('/second-factor', { code: fresh() })).status).toBe(200);
    t.clock.advance(60);
    expect(await outcome(name, shown())).toBe(401);
    expect(await outcome(name, recovery_codes[0])).toBe(401);
    expect(await outcome(name, fresh())).toBe(201);
  });

  test('is put into force within a quarter of an hour of its beginning, or begun again', async () => {
    const name = `acme${++accounts}`;
    await t.account(name);
    const alice = await t.signIn(name, 'alice');
    const begin = async () => {
      const { url } = (await alice.post('/second-factor', { password })).body;
      const phone = URI.parse(url) as TOTP;
      return () =>
        alice.put('/second-factor', { code: phone.generate({ timestamp: t.now() * 1000 }) });
    };
    const late = await begin();
    t.clock.advance(900);
    const refused = await late();
    expect([refused.status, refused.body.message]).toEqual([
      409,
      expect.stringMatching(/^Begin to set up the second factor first/),
    ]);
    const inTime = await begin();
    t.clock.advance(899);
    expect((await inTime()).status).toBe(200);
    expect((await inTime()).status).toBe(409);
  });

  test('is taken away with the password', async () => {
    const { name, alice, recovery_codes } = await protectedAlice();
    const remove = (given: string) => alice.post('/second-factor/remove', { password: given });
    expect((await remove('not the password')).status).toBe(403);
    expect((await remove(password)).status).toBe(204);
    expect(await outcome(name)).toBe(201);
    expect((await remove(password)).status).toBe(409);
    expect((await alice.get('/session')).body.second_factor).toBe(false);
    const rows = await t.running.ctx.db.all('select * from recovery_codes where account_id = $1', [
      accounts + 1,
    ]);
    expect([recovery_codes.length, rows]).toEqual([10, []]);
  });

  test('is asked for by an invitation too, and goes with a reset', async () => {
    const { name, alice, shown, recovery_codes } = await protectedAlice();
    const invite = async () =>
      (await t.operator.send('POST', `/accounts/${name}/users/alice/invite`)).body.code as string;
    const code = await invite();
    const accept = (more: object) =>
      t.browser().post('/invite/accept', { code, password, ...more });
    expect((await t.browser().post('/invite', { code })).body.second_factor).toBe(true);
    for (const more of [{}, { second_factor_code: '000000' }]) {
      const refused = await accept(more);
      expect([refused.status, refused.body.message]).toEqual([
        401,
        expect.stringMatching(/^second_factor_code: /),
      ]);
    }
    expect((await accept({ second_factor_code: shown() })).status).toBe(201);
    expect((await alice.get('/session')).status).toBe(401);

    const back = t.browser();
    await enter(back, name, recovery_codes[0]);
    const open = await invite();
    expect((await t.operator.delete(`/accounts/${name}/users/alice/sign-in`)).status).toBe(204);
    expect((await back.get('/session')).status).toBe(401);
    expect(await outcome(name, shown())).toBe(401);
    expect((await t.browser().post('/invite', { code: open })).status).toBe(401);
    const fresh = { code: await invite(), password };
    expect((await t.browser().post('/invite/accept', fresh)).body.second_factor).toBe(false);
  });
});
