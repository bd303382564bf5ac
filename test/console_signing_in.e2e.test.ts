// Signing in to the console in a real browser: links, invitations, passwords, sessions.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything, giveCredentials, passwordOf } from './console/console.ts';
import { deepTest } from './deep_test.ts';

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
    await other.heading('This link doesn’t work').waitFor();
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
    await visit.button('Set password and sign in').click();
    expect(await visit.faultOf('New password')).toContain('easily guessed');
    await password.fill(passwordOf('admin'));
    await visit.button('Set password and sign in').click();
    await visit.heading('Overview').waitFor();

    const other = await t.visit();
    await other.open(path);
    await other.heading('This link doesn’t work').waitFor();
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

  deepTest(
    'a page shows the person who signs in in another tab, and takes no change of the one before',
    async () => {
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
    },
  );

  deepTest(
    'who signs out is signed out: the way back and the old cookie lead nowhere',
    async () => {
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
    },
  );
});
