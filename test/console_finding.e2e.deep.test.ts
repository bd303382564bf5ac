// Finding things in both consoles by keyboard alone: the palette, the keys of every page, and the
// search of the activity.
import { text as textIn } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

describe('finding things', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  let operator: Visit;
  beforeAll(async () => {
    t = await Console.start();
    for (const ip of ['198.51.100.71', '198.51.100.72']) {
      const expiry = Math.floor(Date.now() / 1000) + 86_400;
      await t.api.post('/contract/ip-authlist', { ip, user: 'proxy', expiry });
    }
    visit = await t.visitAs(everything);
    operator = await t.visitAsOperator();
  });
  afterAll(() => t?.stop());

  const field = ({ page }: Visit) => page.getByRole('combobox', { name: 'Find anything' });
  const options = ({ page }: Visit) => page.getByRole('option');
  /** The option that Enter would select, as a screen reader reads it. */
  const active = (at: Visit) =>
    at.page.evaluate(`(() => {
      const id = document.activeElement?.getAttribute('aria-activedescendant');
      const option = id && document.getElementById(id);
      return option?.getAttribute('aria-selected') === 'true' ? option.innerText.split('\\n')[0] : null;
    })()`);
  const open = async (at: Visit) => {
    await at.page.keyboard.press('Control+k');
    await field(at).waitFor();
  };
  /** Opens the palette, types, and waits until this is what Enter would select. */
  const find = async (at: Visit, text: string, first: string) => {
    await open(at);
    await at.page.keyboard.type(text);
    await expect.poll(() => active(at)).toBe(first);
  };
  const path = ({ page }: Visit) => new URL(page.url()).hash;

  test('Ctrl-K opens the palette, arrows move in it and around its ends, Escape gives the focus back', async () => {
    const { page } = visit;
    await visit.link('Usage').focus();
    await open(visit);
    await expect.poll(() => active(visit)).toBe('Servers');
    await page.keyboard.press('ArrowDown');
    expect(await active(visit)).toBe('IP authlist');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await active(visit)).toBe('Sign out');
    await page.keyboard.press('Escape');
    await field(visit).waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.innerText.trim()')).toBe('Usage');
  });

  test('it finds pages, actions, servers, users and addresses, and leads there', async () => {
    const { page } = visit;
    await find(visit, 'auth', 'IP authlist');
    await page.keyboard.press('Enter');
    await visit.heading('IP authlist').waitFor();
    await find(visit, 'fra', 'fra1');
    await page.keyboard.press('Enter');
    await visit.heading(/fra1/).first().waitFor();
    expect(path(visit)).toBe('#/servers/fra1');
    await find(visit, 'billing', 'billing');
    await page.keyboard.press('Enter');
    await visit.heading('billing').waitFor();
    expect(path(visit)).toBe('#/users/billing');
    await find(visit, '100.72', '198.51.100.72');
    await page.keyboard.press('Enter');
    await visit.row('198.51.100.72').waitFor();
    expect(await visit.row('198.51.100.71').count()).toBe(0);
    // The latest choice comes first.
    await open(visit);
    await expect.poll(() => active(visit)).toBe('billing');
    await page.keyboard.press('Escape');
  });

  test.each([
    ['add address', 'Add an address to the authlist', /^Add an address$/],
    ['custom entry', 'Add a custom DNS entry', 'Add a custom DNS entry'],
    ['user add', 'Add a user', 'Add a user'],
    ['api new', 'New API token', 'New API token'],
  ])(
    '"%s" leads to the dialog of "%s", whose address a colleague can be sent',
    async (text, name, title) => {
      await find(visit, text, name);
      await visit.page.keyboard.press('Enter');
      await visit.dialog(title).waitFor();
      expect(
        await visit.page.evaluate('document.activeElement.closest("dialog form") !== null'),
      ).toBe(true);
      await visit.page.reload();
      await visit.dialog(title).waitFor();
      await visit.page.keyboard.press('Escape');
      await visit.dialog(title).waitFor({ state: 'detached' });
      expect(path(visit)).not.toContain('dialog');
    },
  );

  test('it changes the theme, and shows the shortcuts', async () => {
    await find(visit, 'dark', 'Use the dark theme');
    await visit.page.keyboard.press('Enter');
    await expect
      .poll(() => visit.page.evaluate('document.documentElement.dataset.theme'))
      .toBe('dark');
    await find(visit, 'theme system', 'Use the system’s theme');
    await visit.page.keyboard.press('Enter');
    await find(visit, 'keys', 'Show the keyboard shortcuts');
    await visit.page.keyboard.press('Enter');
    await visit.dialog('Keyboard shortcuts').waitFor();
    await expectAccessible(visit, 'the shortcuts');
    await visit.page.keyboard.press('Escape');
  });

  test('no key is a shortcut while somebody types, or while a dialog is open', async () => {
    const { page } = visit;
    await visit.go('/authlist');
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.name')).toBe('search');
    for (const key of ['?', '/', 'Control+k']) await page.keyboard.press(key);
    expect(await visit.field('Search').inputValue()).toBe('?/');
    expect(await page.locator('dialog').count()).toBe(0);
    await visit.field('Search').fill('');
    await visit.heading('IP authlist').focus();
    await page.keyboard.press('?');
    await visit.dialog('Keyboard shortcuts').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('?');
    expect(await page.locator('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
  });

  test('on a Mac it is Cmd-K, and Ctrl-K is left to the system', async () => {
    const mac = await t.visit();
    await mac.context.addInitScript(
      `Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' })`,
    );
    const { body } = await t.operator.post(`/accounts/${account}/users/proxy/sign-in-link`, {});
    await mac.enter(body.path);
    await mac.heading('Overview').waitFor();
    await mac.page.getByText('⌘ K', { exact: true }).waitFor();
    await mac.page.keyboard.press('Control+k');
    expect(await mac.page.locator('dialog').count()).toBe(0);
    await mac.page.keyboard.press('Meta+k');
    await field(mac).waitFor();
    await mac.end();
  });

  test('who may do less finds less', async () => {
    const other = await t.visitAs('proxy');
    await open(other);
    await other.page.keyboard.type('add');
    await expect.poll(() => active(other)).toBe('Add an address to the authlist');
    const names = await options(other).allInnerTexts();
    expect(names.filter((name) => /user|token|DNS|contract/.test(name))).toEqual([]);
    await other.page.keyboard.press('Control+a');
    await other.page.keyboard.type('nothing like this');
    await other.sees('No results for “nothing like this”');
    expect(await active(other)).toBeNull();
    await other.page.keyboard.press('Enter');
    expect(other.problems).toEqual([]);
    await other.end();
  });

  test('the palette is clean by axe, empty and with results, and is opened by a button on a phone', async () => {
    for (const at of [visit, operator]) {
      await open(at);
      await expectAccessible(at, 'the palette');
      await at.page.keyboard.type('s');
      await expectAccessible(at, 'the palette with results');
      await at.page.keyboard.press('Escape');
    }
    const phone = await t.visitAs(everything, '/', { viewport: { width: 390, height: 780 } });
    await phone.button('Find anything').click();
    await expect.poll(() => active(phone)).toBe('Servers');
    await expectFitsPhone(phone, 'the palette');
    await options(phone).filter({ hasText: 'Activity' }).click();
    await phone.heading('Activity').waitFor();
    await expectFitsPhone(phone, 'the activity');
    expect(phone.problems).toEqual([]);
    await phone.end();
  });

  test('operators find accounts, servers, who lists an address, and what the account that is open has', async () => {
    const { page } = operator;
    await find(operator, 'glo', 'globex');
    await page.keyboard.press('Enter');
    await operator.heading('globex').waitFor();
    await find(operator, 'fra1', 'fra1');
    await page.keyboard.press('Enter');
    await operator.heading('fra1').waitFor();
    await find(operator, '198.51.100.71', 'acme lists 198.51.100.71');
    await page.keyboard.press('Enter');
    await operator.row('198.51.100.71').waitFor();
    expect(path(operator)).toBe('#/operator/accounts/acme/authlist?search=198.51.100.71');
    await find(operator, 'new api', 'New API token');
    await page.keyboard.press('Enter');
    await operator.dialog('New API token').waitFor();
    await page.keyboard.press('Escape');
    await find(operator, 'proxy-bill', 'proxy-billing');
    await page.keyboard.press('Escape');
    await open(operator);
    await page.keyboard.type('192.0.2.250');
    await operator.sees('No account lists 192.0.2.250');
    await page.keyboard.press('Escape');
    await find(operator, 'inventory', 'Import an inventory');
    await page.keyboard.press('Enter');
    await operator.dialog('Import an inventory').waitFor();
    await page.keyboard.press('Escape');
  });

  test('the activity is searched by words, kind, actor and day; the address keeps it, and so does a file', async () => {
    const { page } = visit;
    await visit.go('/activity');
    await page.keyboard.press('/');
    await page.keyboard.type('198.51.100.71');
    await visit.sees('1 record found.');
    expect(path(visit)).toBe('#/activity?search=198.51.100.71');
    expect(await page.evaluate('document.activeElement.name')).toBe('search');
    await visit.field('Kind').selectOption('API tokens');
    await visit.sees('No matches');
    await visit.field('Kind').selectOption('Authlist');
    await visit.field('Who').fill('default');
    await page.keyboard.press('Enter');
    await visit.sees('1 record found.');
    await visit.field('To').fill('2020-01-01');
    await visit.sees('No record matches.');
    await visit.field('To').fill('');
    await visit.field('From').fill('2020-01-01');
    await visit.sees('1 record found.');
    await page.reload();
    await visit.sees('1 record found.');
    expect(await visit.field('Who').inputValue()).toBe('default');
    await expectAccessible(visit, 'the activity that was searched');
    const file = async (format: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), visit.exportAs(format)]);
      expect(download.suggestedFilename()).toMatch(
        new RegExp(`^exitward-audit-${account}-[0-9-]{10}\\.${format.toLowerCase()}$`),
      );
      return textIn(await download.createReadStream());
    };
    const [record, ...others] = JSON.parse(await file('JSON'));
    expect([record.after.ip, others]).toEqual(['198.51.100.71', []]);
    const [header, line, end] = (await file('CSV')).split('\r\n');
    expect(header).toBe(
      'id,time,who,kind,from,account,action,target,sentence,before,after,request',
    );
    expect(line).toContain('acme/default,account,127.0.0.1,acme,authlist.create,');
    expect(end).toBe('');
    await visit.button('Clear the filters').press('Enter');
    await expect.poll(() => path(visit)).toBe('#/activity');
    await expect.poll(() => visit.field('Search').inputValue()).toBe('');
  });

  test('an export has every page of the log', async () => {
    const { page } = operator;
    await operator.go(`/operator/audit?account=${account}`);
    await operator.sees(/records so far\.|records found\./);
    const all = (await t.operator.get(`/audit?account=${account}&limit=1000`)).body;
    // The server gives pages of five, whatever is asked for.
    await page.route(/\/admin\/audit\?.*limit=1000/, (route) =>
      route.continue({ url: route.request().url().replace('limit=1000', 'limit=5') }),
    );
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      operator.exportAs('JSON'),
    ]);
    const exported = JSON.parse(await textIn(await download.createReadStream()));
    expect(exported.length).toBeGreaterThan(5);
    expect(exported.map(({ id }: { id: number }) => id)).toEqual(
      all.map(({ id }: { id: number }) => id),
    );
    await page.unroute(/\/admin\/audit\?.*limit=1000/);
    await expectAccessible(operator, 'the audit log');
    await expectFitsPhone(operator, 'the audit log');
  });

  test('nothing went wrong on the way', () => {
    expect([...visit.problems, ...operator.problems]).toEqual([]);
  });
});
