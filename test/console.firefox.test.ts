// The console in Firefox: the flows in which engines differ, and every page of both consoles once.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchFirefox } from './browser.ts';
import { addressesOfAccount, addressesOfOperator } from './console/addresses.ts';
import { account, Console, everything, passwordOf } from './console/console.ts';
import type { Visit } from './console/visit.ts';

const note = 'Zürich, „Büro“';

describe('the console in Firefox', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  const folder = mkdtempSync(join(tmpdir(), 'exitward-firefox-'));
  beforeAll(async () => {
    t = await Console.start(() => launchFirefox(folder));
    await t.passwordFor(everything);
    visit = await t.visit();
  });
  afterAll(async () => {
    await visit?.end();
    await t?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const focused = () => visit.page.evaluate('document.activeElement.name');
  const expectNoProblem = ({ problems }: Visit) => expect(problems.splice(0)).toEqual([]);

  test('people sign in with a password; a wrong one is said beside the form', async () => {
    await visit.open('/');
    const { page } = visit;
    for (const password of ['a wrong password', passwordOf(everything)]) {
      await visit.field('Account').fill(account);
      await visit.field('User').fill(everything);
      await visit.field('Password').fill(password);
      await visit.button('Sign in').click();
      if (password !== passwordOf(everything)) await page.getByRole('alert').first().waitFor();
    }
    await visit.heading('Overview').waitFor();
    await visit.sees('Live');
    expectNoProblem(visit);
  });

  test('an authlist entry is added, changed and removed in dialogs that keep the focus, and comes back by Undo', async () => {
    const { page } = visit;
    await visit.go('/authlist');
    const opener = visit.button('Add an address');
    await opener.click();
    await expect.poll(focused).toBe('ip');
    // The page under a dialog is inert.
    for (let presses = 0; presses < 9; presses++) {
      await page.keyboard.press('Tab');
      const isOutside = await page.evaluate(
        "document.hasFocus() && document.activeElement !== document.body && !document.activeElement.closest('dialog')",
      );
      expect(isOutside).toBe(false);
    }
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect
      .poll(() => page.evaluate('document.activeElement.innerText.trim()'))
      .toBe('Add an address');
    await opener.click();
    await visit.field('Address').fill('198.51.100.300');
    await visit.button('Add the address').click();
    expect(await visit.faultOf('Address')).not.toBe('');
    await visit.field('Address').fill('198.51.100.30');
    await page.keyboard.press('Enter');
    await visit.row('198.51.100.30').waitFor();
    await visit.button('Change 198.51.100.30').click();
    await visit.field('Note').fill(note);
    await visit.button('Save the change').click();
    await visit.row('198.51.100.30').getByText(note).waitFor();
    await visit.button('Remove 198.51.100.30').click();
    await visit.button('Remove entry').click();
    await visit.row('198.51.100.30').waitFor({ state: 'detached' });
    await visit.toast('198.51.100.30 removed').getByRole('button', { name: 'Undo' }).click();
    await visit.row('198.51.100.30').waitFor();
    expectNoProblem(visit);
  });

  test('a list is saved as CSV and JSON', async () => {
    for (const format of ['CSV', 'JSON']) {
      await visit.exportAs(format);
      const saved = () =>
        readdirSync(folder)
          .filter((name) => name.endsWith(`.${format.toLowerCase()}`))
          .map((name) => readFileSync(join(folder, name), 'utf8'))
          .join('');
      await expect.poll(saved).toContain(note);
    }
    expectNoProblem(visit);
  });

  test('a page shows by itself what a program has changed', async () => {
    const entry = {
      ip: '198.51.100.31',
      user: 'proxy',
      expiry: Math.floor(Date.now() / 1000) + 3600,
    };
    // A menu that is open stays so.
    await visit.button('Export').click();
    const { body } = await t.api.post('/contract/ip-authlist', entry);
    await visit.row('198.51.100.31').waitFor();
    await visit.page.getByRole('menuitem', { name: 'CSV' }).waitFor();
    await visit.page.keyboard.press('Escape');
    await t.api.delete(`/contract/ip-authlist/${body.id}`);
    await visit.row('198.51.100.31').waitFor({ state: 'detached' });
    expectNoProblem(visit);
  });

  test('a custom DNS entry is added, changed and removed', async () => {
    await visit.go('/dns');
    await visit.button('Add an entry').click();
    const dialog = visit.page.getByRole('dialog');
    await visit.field('Hostname').fill('fox.example.com');
    await visit.field(/^(Resolves to|Address)/).fill('192.0.2.9');
    await dialog.getByRole('button', { name: /^Add/ }).click();
    await visit.row('fox.example.com').waitFor();
    await visit.button(/^Change fox\.example\.com/).click();
    await visit.field('Note').fill('from Firefox');
    await visit.button('Save the change').click();
    await visit.toast('fox.example.com on aar1 is changed').waitFor();
    await visit.button(/^Change fox\.example\.com/).click();
    expect(await visit.field('Note').inputValue()).toBe('from Firefox');
    await visit.page.keyboard.press('Escape');
    await visit.button(/^Remove fox\.example\.com/).click();
    await visit.button('Remove entry').click();
    await visit.row('fox.example.com').waitFor({ state: 'detached' });
    expectNoProblem(visit);
  });

  test('keys lead to the palette, the search and the list of keys', async () => {
    const { page } = visit;
    await page.keyboard.press('/');
    await expect.poll(focused).toBe('search');
    await page.keyboard.press('Control+k');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).waitFor();
    await page.keyboard.type('aar1');
    await page.getByRole('dialog').getByRole('option', { name: /aar1/ }).first().waitFor();
    await page.keyboard.press('Enter');
    await visit.heading(/aar1/).first().waitFor();
    await page.keyboard.press('?');
    await visit.dialog('Keyboard shortcuts').waitFor();
    await page.keyboard.press('Escape');
    expectNoProblem(visit);
  });

  test('what is copied is what is shown', async () => {
    await visit.go('/servers/aar1');
    await visit.select('curl');
    await visit.button('Copy the settings for curl').click();
    await visit.sees('Copied the settings for curl.');
    const settings = visit.page
      .getByRole('region', { name: 'Settings to copy' })
      .locator('pre')
      .last();
    // Firefox lets no program read the clipboard: it is pasted, as people do.
    const shown = await settings.textContent();
    await visit.go('/authlist');
    await visit.button('Add several …').click();
    await visit.field('Addresses').focus();
    await visit.page.keyboard.press('Control+v');
    expect(await visit.field('Addresses').inputValue()).toBe(shown);
    await visit.page.keyboard.press('Escape');
    expectNoProblem(visit);
  });

  test('every page of an account opens without an error', async () => {
    for (const path of addressesOfAccount('aar1')) {
      await visit.go(path);
      expect(visit.problems.splice(0), path).toEqual([]);
    }
  });

  test('every page of the operator opens without an error', async () => {
    const operator = await t.visitAsOperator();
    for (const path of addressesOfOperator('aar1')) {
      await operator.go(path);
      expect(operator.problems.splice(0), path).toEqual([]);
    }
    await operator.go(`/operator/accounts/${account}`);
    for (const link of await operator.page
      .getByRole('navigation', { name: `Parts of ${account}` })
      .getByRole('link')
      .all()) {
      await link.click();
      await operator.settled();
      expect(operator.problems.splice(0), await link.innerText()).toEqual([]);
    }
    await operator.end();
  });

  test('the control: an error of a page is noted in Firefox, too', async () => {
    await visit.page.evaluate("setTimeout(() => { throw new Error('on purpose') })");
    await visit.page.evaluate("console.error('said on purpose')");
    await expect.poll(() => visit.problems.splice(0).length).toBe(2);
  });
});
