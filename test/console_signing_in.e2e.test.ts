// Signing in to the console in a real browser: links, invitations, passwords, the second factor,
// sessions.
import { type TOTP, URI } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything, giveCredentials, passwordOf } from './console/console.ts';

describe('signing in to the console', { timeout: 360_000 }, () => {
  let t: Console;
  beforeAll(async () => {
    t = await Console.start();
  });
  afterAll(() => t?.stop());

  test('the link that npm start prints signs in, once; used again it says so in words', async () => {
    const { link, user } = t.facts.console;
    const visit = await t.visit();
    // A program that opens it, such as a scanner of mail, does not use it up.
    const scanner = await t.visit();
    await scanner.open(link.replace(t.facts.base_url, ''));
    await scanner.button('Sign in').waitFor();
    await scanner.end();
    await visit.enter(link.replace(t.facts.base_url, ''));
    await visit.heading('Overview').waitFor();
    await visit.sees(`${user} of ${account}`);
    // The address and the history hold no code.
    expect(visit.page.url()).toBe(`${t.facts.base_url}/#/`);

    const other = await t.visit();
    await other.enter(link.replace(t.facts.base_url, ''));
    await other.heading('This link does not work').waitFor();
    expect(await other.page.getByRole('alert').textContent()).toMatch(/used|over|replaced/);
    await other.link('Sign in with a password').click();
    await other.heading('Sign in').waitFor();
    expect([...visit.problems, ...other.problems]).toEqual([]);
    await visit.end();
    await other.end();
  });

  test('an invitation sets a password, signs in, and works once', async () => {
    const path = await t.invite('admin');
    const visit = await t.visit();
    await visit.open(path);
    await visit.sees('Welcome, Demo admin');
    const password = visit.field('New password');
    await password.fill('admin admin admin');
    await visit.button('Set the password and sign in').click();
    expect(await visit.faultOf('New password')).toContain('easily guessed');
    await password.fill(passwordOf('admin'));
    await visit.button('Set the password and sign in').click();
    await visit.heading('Overview').waitFor();

    const other = await t.visit();
    await other.open(path);
    await other.heading('This link does not work').waitFor();
    expect([...visit.problems, ...other.problems]).toEqual([]);
    await visit.end();
    await other.end();
  });

  test('account, user and password sign in, and the page is still signed in when it is loaded again', async () => {
    await t.passwordFor('admin');
    const visit = await t.visit();
    await visit.open('/');
    await giveCredentials(visit, 'admin');
    await visit.heading('Overview').waitFor();
    await visit.open('/#/authlist');
    await visit.heading('IP authlist').waitFor();
    expect(visit.problems).toEqual([]);
    await visit.end();
  });

  test('a second factor is set up, asked for at the next sign-in, and a recovery code stands in for it once', async () => {
    const user = 'proxy-admin';
    await t.passwordFor(user);
    const visit = await t.visit();
    await visit.open('/#/sign-in');
    await giveCredentials(visit, user);
    await visit.heading('Your sign-in').waitFor();

    await visit.button('Set it up').click();
    const first = visit.dialog('Set up a second factor');
    await first.getByLabel('Your password').fill('not the right password');
    await visit.button('Continue').click();
    expect(await visit.faultOf('Your password')).not.toBe('');
    await first.getByLabel('Your password').fill(passwordOf(user));
    const begun = visit.page.waitForResponse(
      (response) => /second-factor$/.test(response.url()) && response.status() === 201,
    );
    await visit.button('Continue').click();
    const { url, secret } = await (await begun).json();
    const second = visit.dialog('Add it to your app');
    await second.getByRole('img', { name: /QR code/ }).waitFor();
    expect((await second.locator('pre').textContent())?.replace(/\s/g, '')).toBe(secret);

    const app = URI.parse(url) as TOTP;
    expect(app.label).toBe(`${account}/${user}`);
    await second.getByLabel('Code', { exact: true }).fill('000000');
    await visit.button('Turn it on').click();
    expect(await visit.faultOf('Code')).toContain('not the app');
    // A code of the step before counts, too; the next one is then left for the sign-in.
    await expect.poll(() => Date.now() % 30_000, { timeout: 40_000 }).toBeLessThan(15_000);
    const now = Date.now();
    await second
      .getByLabel('Code', { exact: true })
      .fill(app.generate({ timestamp: now - 30_000 }));
    await visit.button('Turn it on').click();
    const third = visit.dialog('Keep your recovery codes');
    await third.waitFor();
    const codes = await third
      .getByRole('list', { name: 'Recovery codes' })
      .locator('li')
      .allInnerTexts();
    expect(new Set(codes).size).toBe(10);
    await visit.button('I have kept them').click();
    await visit.sees('Signing in takes a code from your authenticator app');
    await visit.button('Sign out').click();

    await giveCredentials(visit, user);
    await visit.sees('has a second factor');
    await visit.field('Code').fill('123456');
    await visit.button('Sign in').click();
    expect(await visit.faultOf('Code')).toMatch(/not right/);
    await visit.field('Code').fill(app.generate());
    await visit.button('Sign in').click();
    await visit.heading('Your sign-in').or(visit.heading('Overview')).waitFor();

    for (const [code, works] of [
      [codes[0] as string, true],
      [codes[0] as string, false],
      [(codes[1] as string).toUpperCase().replaceAll('-', ' '), true],
    ] as const) {
      const other = await t.visit();
      await other.open('/');
      await giveCredentials(other, user);
      await other.button('No phone at hand? Use a recovery code').click();
      await other.field('Recovery code').fill(code);
      await other.button('Sign in').click();
      if (works) await other.heading('Overview').waitFor();
      else expect(await other.faultOf('Recovery code')).toMatch(/used already/);
      expect(other.problems).toEqual([]);
      await other.end();
    }
    expect(visit.problems).toEqual([]);
    await visit.end();
  });

  test('a page shows the person who signs in in another tab, and takes no change of the one before', async () => {
    const visit = await t.visitAs(everything, '/users');
    await visit.button('Add a user').click();
    await visit.field('Name').fill('stray');
    const expiry = Math.floor(Date.now() / 1000) + 86_400;
    const neighbour = { name: 'neighbour', plan: 'Team', expiry, limit_bytes: 1_000_000 };
    expect((await t.operator.post('/accounts', neighbour)).status).toBe(201);
    await t.operator.post('/accounts/neighbour/users', { name: 'alice', flags: { proxy: true } });
    const path = '/accounts/neighbour/users/alice/sign-in-link';
    const { body } = await t.operator.post(path, {});
    // This tab hears nothing of it before it asks for something.
    await visit.page.route('**/console/{session,events}', (route) => route.abort());
    const tab = await visit.context.newPage();
    await tab.goto(t.facts.base_url + body.path);
    await tab.getByRole('button', { name: 'Use the link' }).click();
    await tab.getByText('alice of neighbour').waitFor();
    const refused = visit.page.waitForResponse((response) => response.status() === 409);
    await visit.button('Add the user').click();
    await refused;
    await visit.page.unroute('**/console/{session,events}');
    await visit.toast('You are now signed in as alice of neighbour.').waitFor();
    await visit.heading('Overview').waitFor();
    await visit.sees('alice of neighbour');
    const { body: users } = await t.operator.get('/accounts/neighbour/users');
    expect(users.map(({ name }: { name: string }) => name)).not.toContain('stray');
    await visit.end();
  });

  test('who signs out is signed out: the way back and the old cookie lead nowhere', async () => {
    const visit = await t.visitAs(everything, '/users');
    const [cookie] = await visit.context.cookies();
    expect(cookie).toMatchObject({
      name: expect.stringMatching(/^exitward-\d+$/),
      ...{ httpOnly: true, sameSite: 'Strict' },
    });
    expect(await visit.page.evaluate('document.cookie')).toBe('');
    await visit.button('Sign out').click();
    await visit.heading('Sign in').waitFor();
    expect(await visit.context.cookies()).toEqual([]);
    await visit.page.goBack();
    await visit.heading('Sign in').waitFor();
    await visit.context.addCookies([cookie as NonNullable<typeof cookie>]);
    await visit.open('/#/users');
    await visit.heading('Sign in').waitFor();
    await visit.end();
  });
});
