// Forms of the console when the server is slow or refuses: nothing of what was done, typed or made
// is lost.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

describe('a form of the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything);
  });
  afterAll(() => t?.stop());

  /** Keeps requests to this path waiting until the answer is called. */
  async function hold(path: string): Promise<() => Promise<void>> {
    const { promise, resolve } = Promise.withResolvers<void>();
    await visit.page.route(
      (url) => url.pathname === path,
      async (route) => {
        await promise;
        await route.continue();
      },
    );
    return async () => {
      resolve();
      await visit.page.unroute((url) => url.pathname === path);
    };
  }

  const focused = () => visit.page.evaluate('document.activeElement.textContent');

  test('stays open while it is sent, whatever is pressed: the token that it makes is shown', async () => {
    await visit.go('/tokens');
    await visit.button('New API token').click();
    await visit.field('Name').fill('nightly');
    await visit.field('Read-only').check();
    const release = await hold('/console/tokens');
    const dialog = visit.page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await dialog.locator('[aria-busy="true"]').waitFor();
    // Chromium asks before the first Escape, and no more before the second.
    for (let presses = 0; presses < 3; presses++) await visit.page.keyboard.press('Escape');
    expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true);
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    expect(await dialog.isVisible()).toBe(true);
    await release();
    await visit.heading('API token nightly').waitFor();
    expect(await dialog.locator('pre').first().textContent()).toMatch(/^ew/);
    await visit.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('takes no server before it knows which there are, and keeps the selected one', async () => {
    const release = await hold('/console/servers');
    await visit.open('/#/dns');
    await visit.button('Add an entry').click();
    const server = visit.field('On server');
    expect(await server.locator('option').allInnerTexts()).toEqual(['Loading the servers …']);
    await visit.field('Hostname').fill('early.example.com');
    await visit.field('Resolves to').fill('192.0.2.7');
    await visit.button('Add the entry').click();
    expect(await visit.page.locator('[aria-invalid=true]').getAttribute('name')).toBe('server');
    await release();
    await server.locator('option[value="aar1"]').waitFor({ state: 'attached' });
    await server.selectOption('aar1');
    await visit.button('Add the entry').click();
    await visit.row('early.example.com').getByText('aar1', { exact: true }).waitFor();
  });

  test('a hostname that is overridden already leads to the entry that does it', async () => {
    await visit.button('Add an entry').click();
    await visit.field('Hostname').fill('early.example.com');
    await visit.field('Resolves to').fill('192.0.2.8');
    await visit.field('On server').selectOption('aar1');
    await visit.button('Add the entry').click();
    expect(await visit.faultOf('Hostname')).toBe(
      'early.example.com already has an entry on aar1. Change that one.',
    );
    await visit.button('Change that entry').click();
    await visit.dialog('Change early.example.com on aar1').waitFor();
    expect(await visit.field('Resolves to').inputValue()).toBe('192.0.2.7');
    await visit.button('Cancel').click();
  });

  test('what was wrong is no longer said once it is corrected', async () => {
    await visit.go('/authlist');
    await visit.button('Add an address').click();
    await visit.field('Address').fill('10.0.0.300');
    await visit.button('Add the address').click();
    expect(await visit.faultOf('Address')).not.toBe('');
    await visit.field('Address').press('Backspace');
    const fault = visit.page.locator('dialog .fault:not(:empty)');
    await fault.waitFor({ state: 'detached' });
    await visit.button('Add the address').click();
    // The last digit was the fault: this one is listed.
    await visit.row('10.0.0.30').waitFor();
  });

  test('a date and time is typed alike in every browser, and is sent only when it is one', async () => {
    await visit.go('/authlist');
    await visit.button('Add an address').click();
    await visit.field('Address').fill('10.0.0.31');
    await visit.field('Expires').selectOption('At a date and time …');
    const date = visit.field('Date and time');
    await date.fill('2027-02-30 10:00');
    await visit.button('Add the address').click();
    await visit.sees('Expected: YYYY-MM-DD HH:MM.');
    await date.fill('2027-02-28 10:00');
    await visit.dialog('Add an address').getByText('28 Feb 2027, 10:00').waitFor();
    await visit.button('Add the address').click();
    await visit.row('10.0.0.31').waitFor();
  });

  test('the address of somebody else: a user without admin sees what to do', async () => {
    const own = await t.visitAs('proxy-billing', '/authlist');
    await own.button('Add an address').first().click();
    await own.field('Address').fill('10.0.0.30');
    await own.button('Add the address').click();
    expect(await own.faultOf('Address')).toBe(
      '10.0.0.30 is already on the authlist. Ask an admin, or use a token.',
    );
    await own.end();
  });

  test('the name of the page has the focus when the row that had it is gone', async () => {
    await visit.button('Remove 10.0.0.30').click();
    await visit.button('Remove entry').click();
    await visit.row('10.0.0.30').waitFor({ state: 'detached' });
    await expect.poll(focused, patience).toBe('IP authlist');
    await visit.toast('10.0.0.30 removed').getByRole('button', { name: 'Undo' }).click();
    await expect.poll(focused, patience).toBe('IP authlist');
    await visit.row('10.0.0.30').waitFor();
  });

  test('a removal that another admin has undone meanwhile was restored already', async () => {
    await visit.button('Remove all …').click();
    await visit.button(/^Remove \d+ entr(y|ies)$/).click();
    await visit.button('Restore').waitFor();
    await expect.poll(focused, patience).toBe('IP authlist');
    const { body } = await t.operator.get('/accounts/acme/removals');
    const release = await hold('/console/authlist/restore');
    await visit.button('Restore').click();
    const [{ removal_id }] = body;
    expect((await t.operator.post('/accounts/acme/authlist/restore', { removal_id })).status).toBe(
      200,
    );
    await release();
    await visit.toast('They are already restored.').waitFor();
    await visit.row('10.0.0.30').waitFor();
    await expect.poll(focused, patience).toBe('IP authlist');
  });

  test.each([1280, 360])(
    'a hostname of 200 letters fits its dialogs, %i px wide',
    async (width) => {
      const hostname = `${`${'x'.repeat(60)}.`.repeat(3)}example${width}`;
      const entry = { server: 'acc1', hostname, ip: '192.0.2.9', expiry: inAnHour() };
      await t.api.post('/contract/overrides', entry);
      await visit.page.setViewportSize({ width, height: 800 });
      await visit.go('/dns');
      const act = async (action: string) => {
        const button = visit.button(`${action} ${hostname} on acc1`);
        const menu = visit.button(`More for ${hostname} on acc1`);
        await button.or(menu).first().waitFor();
        if ((await menu.count()) === 0) return await button.click();
        await menu.click();
        await visit.page.getByRole('menuitem', { name: action, exact: true }).click();
      };
      for (const action of ['Change', 'Remove']) {
        await act(action);
        const dialog = visit.page.getByRole('dialog');
        await visit.settled();
        const tooWide = await visit.page.evaluate(
          "document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth",
        );
        expect(tooWide).toBe(0);
        await dialog.getByRole('button', { name: 'Close' }).click();
        await dialog.waitFor({ state: 'detached' });
      }
      await act('Remove');
      await visit.button('Remove entry').click();
      const toast = visit.toast('is removed');
      const box = await toast.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
      await toast.getByRole('button', { name: 'Dismiss' }).click();
    },
  );

  test('a token that was made is there in full, also where the settings cannot hold it', async () => {
    await visit.page.setViewportSize({ width: 1280, height: 800 });
    await visit.go('/servers/aar1');
    await visit.select('By token');
    await visit.button('Create a token').click();
    await visit.button('Copy the token').waitFor();
    await visit.select('Firefox');
    const token = visit.page.locator('.copy', { has: visit.button('Copy the token') });
    expect((await token.locator('pre').textContent())?.length).toBeGreaterThan(30);
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });
});
