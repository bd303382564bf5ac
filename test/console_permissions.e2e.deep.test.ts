// The console's words for a failed sign-in, the pages that a person's permissions open, and how
// sessions end: the server's own tests prove the rules.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything, giveCredentials, passwordOf } from './console/console.ts';

const patience = { timeout: 100_000 };

describe('a person at the console', { timeout: 360_000 }, () => {
  let t: Console;
  beforeAll(async () => {
    t = await Console.start();
  });
  afterAll(() => t?.stop());

  test('a wrong password, a wrong user and a wrong account get the same words', async () => {
    await t.passwordFor('admin');
    const visit = await t.visit();
    await visit.open('/');
    const said: Array<string | null> = [];
    for (const [of, user, password] of [
      [account, 'admin', 'not the right password'],
      [account, 'nobody-there', passwordOf('admin')],
      ['no-such-account', 'admin', passwordOf('admin')],
    ] as const) {
      await visit.field('Account').fill(of);
      await visit.field('User').fill(user);
      await visit.field('Password').fill(password);
      const answered = visit.page.waitForResponse(/\/console\/session$/);
      await visit.button('Sign in').click();
      expect((await answered).status()).toBe(401);
      const alert = visit.page.getByRole('alert').filter({ hasText: /./ });
      await alert.waitFor();
      said.push(await alert.textContent());
    }
    expect(new Set(said)).toEqual(new Set(['Account, user or password is not right.']));
    await visit.end();
  });

  test('a guesser sees how long to wait, and even the right password waits', async () => {
    await t.passwordFor('billing-admin');
    const visit = await t.visit();
    await visit.open('/');
    const alert = visit.page.getByRole('alert').filter({ hasText: /./ });
    // The fifth failure costs 2 seconds, of which this makes 52.
    for (let failures = 0; failures < 5; failures++) {
      const answered = visit.page.waitForResponse(/\/console\/session$/);
      await giveCredentials(visit, 'billing-admin', `guess number ${failures}`);
      expect((await answered).status()).toBe(401);
    }
    t.moveWaits(50);
    await giveCredentials(visit, 'billing-admin');
    await alert.filter({ hasText: 'Too many attempts' }).waitFor();
    expect(await alert.textContent()).toMatch(/^Too many attempts.*Try again in \d\d? seconds\.$/);
    t.moveWaits(-50);
    await expect
      .poll(async () => {
        const press = visit.button('Sign in').click({ timeout: 1000 });
        await press.catch(() => undefined);
        return visit.heading('Overview').isVisible();
      }, patience)
      .toBe(true);
    await visit.end();
  });

  test('the menu shows what the permissions open, and a typed address of another page says that it is not open', async () => {
    const all = [
      'Overview',
      'Servers',
      'IP authlist',
      'Custom DNS',
      'Connected now',
      'Connection test',
      'Refused lately',
      'Usage',
      'Users and tokens',
      'API tokens',
      'Activity',
      'Your sign-in',
    ];
    const open: Record<string, string[]> = {
      admin: all,
      billing: ['Overview', 'Usage', 'Your sign-in'],
      proxy: [
        ...['Overview', 'Servers', 'IP authlist', 'Connected now', 'Connection test'],
        ...['Refused lately', 'Users and tokens', 'Your sign-in'],
      ],
      none: ['Overview', 'Your sign-in'],
    };
    const closed: Record<string, string> = {
      billing: '/authlist',
      proxy: '/tokens',
      none: '/servers/aar1',
    };
    for (const [user, names] of Object.entries(open)) {
      const visit = await t.visitAs(user);
      expect(await visit.menu(), user).toEqual(names);
      if (user === 'none') await visit.heading('You have no permissions yet').waitFor();
      const path = closed[user];
      if (path) {
        await visit.open(`/#${path}`);
        await visit.sees('you don’t have permission to see it');
      }
      expect(visit.problems, user).toEqual([]);
      await visit.end();
    }
  });

  test('sessions are listed; one ended from here is signed out there at once, without a reload', async () => {
    const here = await t.visitAs(everything, '/sign-in');
    const there = await t.visitAs(everything, '/authlist', {
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    });
    await here.row('this one').getByText('Chrome').waitFor();
    const other = here.row('Firefox');
    await other.waitFor();
    await other.getByRole('button', { name: /^End the session/ }).click();
    await here.button('End the session').click();
    await there.heading('Sign in').waitFor();
    await here.toast('is signed out').waitFor();
    await other.waitFor({ state: 'detached' });
    expect([...here.problems, ...there.problems]).toEqual([]);
    await here.end();
    await there.end();
  });

  test('a session that an admin ends leads to the sign-in page, and what was typed there leads back', async () => {
    await t.passwordFor('proxy');
    const visit = await t.visit();
    await visit.open('/#/authlist');
    await giveCredentials(visit, 'proxy');
    await visit.heading('IP authlist').waitFor();
    const path = `/accounts/${account}/users/proxy/sign-in`;
    expect((await t.operator.delete(path)).status).toBe(204);
    await visit.heading('Sign in').waitFor();
    await t.passwordFor('proxy');
    await giveCredentials(visit, 'proxy');
    await visit.heading('IP authlist').waitFor();
    expect(visit.problems).toEqual([]);
    await visit.end();
  });
});
