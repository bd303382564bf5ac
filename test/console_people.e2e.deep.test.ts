// Users, proxy access tokens, API tokens and the record of what was done, in the console.
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestClient } from '../server/test/client.ts';
import { Console, confirmPassword, everything, passwordOf } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import type { Visit } from './console/visit.ts';
import { throughProxy } from './demo_process.ts';

const patience = { timeout: 100_000 };

describe('users and tokens in the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything, '/users');
  });
  afterAll(() => t?.stop());

  const more = async (user: string, action: string) => {
    await visit.button(`More for ${user}`).click();
    await visit.page.getByRole('menuitem', { name: action }).click();
  };

  test('where a password is asked for again, somebody who has none must set one first', async () => {
    const isTold = async () => {
      await visit.link('Set a password first').waitFor();
      await visit.page.keyboard.press('Escape');
      await visit.link('Set a password first').waitFor({ state: 'detached' });
    };
    await more('proxy', 'Invite to sign in');
    await isTold();
    await more('proxy', 'Change');
    await visit.field('admin').check();
    await isTold();
    const token = { name: 'seen', read_only: true };
    expect((await t.operator.post('/accounts/acme/tokens', token)).status).toBe(201);
    await visit.go('/tokens');
    await visit.button('View seen').click();
    await isTold();
    await visit.button('New API token').click();
    await visit.link('Set a password first').click();
    await visit.button('Set a password').click();
    await visit.field('New password').fill('too short');
    await visit.button('Set the password').click();
    // The browser itself refuses, and says why.
    expect(
      await visit.page.evaluate("document.querySelector('input[name=password]').validity.tooShort"),
    ).toBe(true);
    await visit.field('New password').fill(passwordOf(everything));
    await visit.button('Set the password').click();
    await visit.toast('Password set').waitFor();
    await visit.go('/users');
  });

  test('making somebody an admin asks for the password again', async () => {
    await more('proxy', 'Change');
    await visit.field('billing').check();
    await visit.field('Your password').waitFor({ state: 'detached' });
    await visit.field('admin').check();
    await confirmPassword(visit, 'Save');
    await visit.toast('Saved proxy').waitFor();
    await more('proxy', 'Change');
    await visit.field('admin').uncheck();
    await visit.field('billing').uncheck();
    await visit.button('Save').click();
    await visit.dialog('Change proxy').waitFor({ state: 'detached' });
  });

  test('a user is added, invited, and signs in by the link with what the flags open', async () => {
    await visit.button('Add a user').click();
    const dialog = visit.dialog('Add a user');
    const add = dialog.getByRole('button', { name: /^Add/ });
    await visit.field('Name').fill('two words');
    await add.click();
    // The browser itself refuses, and says why.
    expect(
      await visit.page.evaluate(
        "document.querySelector('input[name=name]').validity.patternMismatch",
      ),
    ).toBe(true);
    await visit.field('Name').fill('proxy');
    await add.click();
    await dialog
      .getByText(/already|exists|taken/i)
      .first()
      .waitFor();
    await visit.field('Name').fill('grace');
    await visit.field('Display name').fill('Grace Hopper');
    await visit.field('billing').check();
    await add.click();

    const invite = visit.dialog('grace was added');
    await visit.field('Your password').fill(passwordOf(everything));
    await invite.getByRole('button', { name: 'Create link' }).click();
    const link = (await invite.locator('pre').textContent()) ?? '';
    expect(link.startsWith(`${t.facts.base_url}/#/invite/ewl_`)).toBe(true);
    await invite.getByRole('button', { name: 'Done' }).click();
    await visit.row('Grace Hopper').getByText('Invited').waitFor();

    const grace = await t.visit();
    await grace.open(link.replace(t.facts.base_url, ''));
    await grace.sees('Welcome, Grace Hopper');
    await grace.field('New password').fill(passwordOf('grace'));
    await grace.button('Set password and sign in').click();
    await grace.heading('Overview').waitFor();
    expect(await grace.menu()).toContain('Usage');
    expect(await grace.menu()).toContain('IP authlist');
    expect(await grace.menu()).not.toContain('Custom DNS');
    await visit.row('Grace Hopper').getByText('just now').waitFor();

    // A change by an admin shows there without signing in again.
    await more('grace', 'Change');
    await visit.field('proxy').uncheck();
    await visit.button('Save').click();
    await grace.open('/#/');
    await grace.heading('Overview').waitFor();
    expect(await grace.menu()).toEqual(['Overview', 'Usage', 'Your sign-in']);

    await more('grace', 'Reset the sign-in');
    await visit.button('Reset the sign-in of grace').click();
    await grace.heading('Sign in').waitFor();
    expect(grace.problems).toEqual([]);
    await grace.end();
  });

  test('a user who is made inactive is signed out at once', async () => {
    const other = await t.visitAs('billing');
    await more('billing', 'Change');
    await visit.field('Active').uncheck();
    await visit.button('Save').click();
    await other.heading('Sign in').waitFor();
    await visit.row('Demo billing').getByText('inactive').waitFor();
    await more('billing', 'Change');
    await visit.field('Active').check();
    await visit.button('Save').click();
    await visit.row('Demo billing').getByText('inactive').waitFor({ state: 'detached' });
    await other.end();
  });

  test('a proxy access token is shown once, works, and stops when all of them are invalidated', async () => {
    const page = (credentials: string) =>
      throughProxy(t.facts.proxy, `${t.facts.proxy.origin}/`, credentials);
    await visit.button('New token for proxy').click();
    await visit.field('Lifetime').selectOption({ label: '7 days' });
    await visit.button('Create token').click();
    const dialog = visit.dialog('New proxy access token for proxy');
    const token = (await dialog.locator('pre').first().textContent()) ?? '';
    expect(token).toMatch(/^ewt_/);
    // A line may be shown shortened; what is copied is whole.
    await expect
      .poll(() => visit.copied(visit.button('Copy the curl line')), patience)
      .toContain(`-U proxy:${token} `);
    await visit.sees('Copied the curl line.');
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(await visit.page.content()).not.toContain(token);
    expect(await page(`proxy:${token}`)).toMatchObject({ status: 200 });

    await more('proxy', 'Invalidate all tokens');
    const ending = visit.dialog('Invalidate all tokens of proxy');
    await ending.getByText('stop working at once, on all servers').waitFor();
    await ending.getByRole('button', { name: 'Invalidate all tokens of proxy' }).click();
    await visit.toast('are now invalid').waitFor();
    await expect.poll(() => page(`proxy:${token}`), patience).toMatchObject({ status: 407 });
    expect((await page(`proxy:${token}`)).reason).toMatch(/token/);
  });

  test('a VPN profile is made for one server or all: files for devices, and the values to type', async () => {
    const made = async (body: object) =>
      (await t.operator.post('/accounts/acme/users/proxy/vpn-profile', body)).body;
    const [server = { name: '', exit_ips: [] }] = (await made({})).servers
      .filter(({ exit_ips }: { exit_ips: string[] }) => exit_ips.length > 1)
      .map(({ server: name, exit_ips }: { server: string; exit_ips: string[] }) => {
        return { name, exit_ips };
      });
    const exit_ip = server.exit_ips[1];
    const expected = await made({ server: server.name, exit_ip });
    const dialog = visit.dialog('VPN profile for proxy');
    await more('proxy', 'VPN profile');
    await visit.field('Server').selectOption(server.name);
    await visit.field('Exit').selectOption(exit_ip);
    await visit.button('Create profile').click();
    for (const file of expected.files) {
      const downloaded = visit.page.waitForEvent('download');
      await visit.button(`Save ${file.name}`).click();
      const saved = await downloaded;
      expect(saved.suggestedFilename()).toBe(file.name);
      expect(await text(await saved.createReadStream())).toBe(file.content);
    }
    const [{ hostname, password, shared_key }] = expected.servers;
    expect(await dialog.locator('pre').allTextContents()).toEqual(
      [exit_ip, hostname, expected.login, password, shared_key].filter(Boolean),
    );
    await expectAccessible(visit, 'a VPN profile');
    await visit.button('Done').click();
    expect(await visit.page.content()).not.toContain(password);

    await more('proxy', 'VPN profile');
    await visit.field('Lifetime').selectOption({ label: '7 days' });
    await visit.button('Create profile').click();
    await dialog.getByText('One file per server').click();
    const { servers, files } = await made({});
    expect(await dialog.getByRole('button', { name: /^Save / }).count()).toBe(files.length);
    await visit.field('Server').selectOption(servers.at(-1).server);
    await dialog.getByText(servers.at(-1).hostname).waitFor();
    await dialog.getByText(/^proxy@acme~/).waitFor();
    await expectFitsPhone(visit, 'a VPN profile');
    await visit.button('Done').click();
  });

  test('an API token is made, viewed by who gives the password, and gets 401 once it is revoked', async () => {
    const contract = async (token: string) => {
      const authorization = `Basic ${Buffer.from(`:${token}`).toString('base64')}`;
      return (await new TestClient(`${t.facts.base_url}/v0`, { authorization }).get('/contract'))
        .status;
    };
    await visit.go('/tokens');
    await visit.button('New API token').click();
    await visit.field('Name').fill('reports');
    await visit.field('Your password').waitFor();
    await visit.field('Read-only').check();
    await visit.field('Your password').waitFor({ state: 'detached' });
    await visit.button('Create token').click();
    const made = visit.dialog('API token reports');
    const token = (await made.locator('pre').first().textContent()) ?? '';
    expect(token).toMatch(/^ewa_/);
    expect(await contract(token)).toBe(200);
    await made.getByRole('button', { name: 'Done' }).click();
    await visit.row('reports').getByText('read-only').waitFor();

    await visit.button('View reports').click();
    await confirmPassword(visit, 'View the token');
    await expect
      .poll(() => visit.dialog('View reports').locator('pre').first().textContent(), patience)
      .toBe(token);
    await visit.button('Done').click();

    await visit.button('New API token').click();
    await visit.field('Name').fill('full');
    await confirmPassword(visit, 'Create token');
    await visit.dialog('API token full').locator('pre').first().waitFor();
    await visit.button('Done').click();
    await visit.row('full').getByText('full', { exact: true }).first().waitFor();

    await visit.button('Revoke reports').first().click();
    const dialog = visit.dialog('Revoke reports');
    await dialog.getByText(/^It (was last used|has never been used)/).waitFor();
    await dialog.getByRole('button', { name: 'Revoke reports' }).click();
    await visit.row('reports').waitFor({ state: 'detached' });
    expect(await contract(token)).toBe(401);
  });

  test('the activity shows, in sentences, what was just done', async () => {
    await visit.go('/activity');
    for (const sentence of [
      `${everything} revoked the API token reports.`,
      `${everything} set a first password for ${everything}.`,
      `${everything} ended all proxy access tokens of proxy.`,
      `${everything} disabled the user billing.`,
      'grace signed in with an invitation.',
      `${everything} added the user grace, permissions: billing, proxy.`,
    ]) {
      await visit.page.getByText(sentence, { exact: true }).first().waitFor();
    }
    await visit.field('Kind').selectOption('API tokens');
    const sentences = visit.page.locator('.activity-sentence');
    await expect
      .poll(async () =>
        (await sentences.allTextContents()).every((text) => text.includes('API token')),
      )
      .toBe(true);
    // Changes by others appear by themselves.
    await visit.field('Kind').selectOption('');
    const entry = {
      ip: '198.51.100.77',
      user: 'proxy',
      expiry: Math.floor(Date.now() / 1000) + 60,
    };
    await t.api.post('/contract/ip-authlist', entry);
    await visit.sees(/^API token .* added 198\.51\.100\.77 to the authlist for proxy/);
  });

  test('one’s own password is changed by who knows it; other sessions end', async () => {
    const other = await t.visitAs(everything);
    await visit.go('/sign-in');
    await visit.button('Change the password').click();
    await visit.field('Current password').fill('not the right password');
    await visit.field('New password').fill('an entirely new password');
    const save = visit
      .dialog('Change your password')
      .getByRole('button', { name: 'Change the password' });
    await save.click();
    expect(await visit.faultOf('Current password')).not.toBe('');
    await visit.field('Current password').fill(passwordOf(everything));
    await save.click();
    await visit.toast('Password changed').waitFor();
    await other.heading('Sign in').waitFor();
    expect(other.problems).toEqual([]);
    await other.end();
  });

  test('the last admin cannot be taken away', async () => {
    const others = ['admin', 'proxy-admin', 'billing-admin'];
    for (const user of others) {
      await t.operator.patch(`/accounts/acme/users/${user}`, { active: false });
    }
    await visit.go('/users');
    await more(everything, 'Change');
    await visit.field('admin').uncheck();
    await visit.button('Save').click();
    await visit.dialog(`Change ${everything}`).getByText(/admin/i).last().waitFor();
    await visit
      .dialog(`Change ${everything}`)
      .getByRole('alert')
      .filter({ hasText: /admin flag/ })
      .waitFor();
    await visit.page.keyboard.press('Escape');
    for (const user of others) {
      await t.operator.patch(`/accounts/acme/users/${user}`, { active: true });
    }
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });
});
