// The second factor in a real browser, against the real server. On each submission its rules are
// shown by sign_in_second_factor, its forms by pages/forms.
import { type TOTP, URI } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, giveCredentials, passwordOf } from './console/console.ts';

describe('signing in to the console', { timeout: 360_000 }, () => {
  let t: Console;
  beforeAll(async () => {
    t = await Console.start();
  });
  afterAll(() => t?.stop());

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
    const third = visit.dialog('Save your recovery codes');
    await third.waitFor();
    const codes = await third
      .getByRole('list', { name: 'Recovery codes' })
      .locator('li')
      .allInnerTexts();
    expect(new Set(codes).size).toBe(10);
    await visit.button('I’ve saved them').click();
    await visit.sees('Signing in also needs a code from your authenticator app');
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
      await other.button('No phone? Use a recovery code').click();
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
});
