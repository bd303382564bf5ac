// The console while things change elsewhere, and while the server is away.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

describe('an open page of the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything, '/authlist');
  });
  afterAll(() => t?.stop());

  test('shows what a program changes with an API token, without a reload', async () => {
    await visit.sees('Live');
    const entry = { ip: '198.51.100.1', user: 'proxy', expiry: inAnHour() };
    const { body } = await t.api.post('/contract/ip-authlist', entry);
    const changed = performance.now();
    await visit.row('198.51.100.1').waitFor();
    // By events, not by looking again each minute.
    expect(performance.now() - changed).toBeLessThan(30_000);
    await t.api.delete(`/contract/ip-authlist/${body.id}`);
    await visit.row('198.51.100.1').waitFor({ state: 'detached' });
  });

  test('keeps what is being typed while the list behind it changes', async () => {
    await visit.button('Add an address').first().click();
    await visit.field('Address').fill('198.51.100.2');
    await visit.field('Expires').selectOption({ label: 'In 1 week' });
    await visit.field('Expires').focus();
    const entry = { ip: '198.51.100.3', user: 'proxy', expiry: inAnHour() };
    await t.api.post('/contract/ip-authlist', entry);
    await visit.page.locator('tr', { hasText: '198.51.100.3' }).waitFor();
    expect(await visit.field('Address').inputValue()).toBe('198.51.100.2');
    expect(await visit.page.evaluate('document.activeElement.name')).toBe('expiry');
    await visit.page.keyboard.press('Escape');
  });

  test('follows the permissions of its person, without a reload', async () => {
    const other = await t.visitAs('billing');
    const allow = (proxy: boolean) =>
      t.operator.patch(`/accounts/${account}/users/billing`, { flags: { proxy } });
    await allow(true);
    const link = other.page.getByRole('navigation', { name: 'Pages' }).getByText('IP authlist');
    await link.click();
    await other.heading('IP authlist').waitFor();
    await allow(false);
    await link.waitFor({ state: 'detached' });
    await other.heading('IP authlist').waitFor({ state: 'detached' });
    expect(other.problems).toEqual([]);
    await other.end();
  });

  test('says that the contract is suspended, and refuses changes in words', async () => {
    await visit.button('Add an address').first().click();
    await visit.field('Address').fill('198.51.100.4');
    await t.operator.patch(`/accounts/${account}`, { suspended: true });
    await visit.sees(/^The contract is suspended: .* Ask your provider/);
    await visit.button('Add the address').click();
    await visit.page
      .getByRole('alert')
      .filter({ hasText: /suspended/i })
      .waitFor();
    await visit.page.keyboard.press('Escape');
    // A button that would change records stays where it is, says why it cannot, and does nothing.
    const add = visit.button('Add an address').first();
    expect(await add.getAttribute('title')).toContain('suspended');
    await add.press('Enter');
    expect(await visit.page.getByRole('dialog').count()).toBe(0);
    await visit.go('/');
    await visit.page
      .getByRole('region', { name: 'Needs attention' })
      .getByText(/suspended/i)
      .first()
      .waitFor();
    await t.operator.patch(`/accounts/${account}`, { suspended: false });
    await visit.page
      .getByRole('region', { name: 'Contract' })
      .getByText('active', { exact: true })
      .waitFor();
    await visit.go('/authlist');
  });

  test('says so when the server is away, keeps what it shows, and goes on by itself when it is back', async () => {
    expect(visit.problems).toEqual([]);
    visit.mayBeUnreachable = true;
    await t.kill();
    await visit.sees('Connecting …');
    const banner = visit.page.getByRole('status').filter({ hasText: /^Connection lost on/ });
    await banner.getByText('The page shows data from that time').waitFor();
    expect(await visit.row('198.51.100.3').count()).toBe(1);
    // It stays in sight, on a phone too, however far down the page one is.
    await expectFitsPhone(visit, 'the banner of an outage');
    await visit.page.setViewportSize({ width: 390, height: 500 });
    await visit.page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const { y = -1 } = (await banner.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThan(100);
    await visit.page.setViewportSize({ width: 1280, height: 800 });
    await expectAccessible(visit, 'the banner of an outage');
    // A change that cannot be sent says so, and what was typed stays.
    await visit.button('Add an address').first().click();
    await visit.field('Address').fill('198.51.100.5');
    await visit.button('Add the address').click();
    const dialog = visit.dialog('Add an address');
    await dialog
      .getByRole('alert')
      .filter({ hasText: 'Your change may not have been saved' })
      .waitFor();
    await t.revive();
    await expect
      .poll(() => visit.page.getByText('Live', { exact: true }).isVisible(), patience)
      .toBe(true);
    await dialog.getByRole('button', { name: 'Add the address' }).click();
    await visit.row('198.51.100.5').waitFor();
    await banner.waitFor({ state: 'detached' });
    const old = visit.page.getByText('What you see may be out of date');
    await expect.poll(() => old.count(), patience).toBe(0);
    visit.mayBeUnreachable = false;
    const entry = { ip: '198.51.100.6', user: 'proxy', expiry: inAnHour() };
    await t.api.post('/contract/ip-authlist', entry);
    await visit.row('198.51.100.6').waitFor();
  });

  test('of which a part was not opened yet opens it when the server is back; nobody signs out meanwhile', async () => {
    const other = await t.visitAs(everything);
    other.mayBeUnreachable = true;
    visit.mayBeUnreachable = true;
    await t.kill();
    await other.sees('Connecting …');
    await other.go('/dns');
    await other.heading('Couldn’t open this page').waitFor();
    await other.sees(/^Couldn’t reach the server\. The page opens once/);
    await other.button('Sign out').click();
    await other.sees(/^You’re still signed in: Couldn’t reach the server/);
    await t.revive();
    await other.heading('Custom DNS').waitFor(patience);
    await other.end();
    await visit.page.getByText('Live', { exact: true }).waitFor(patience);
    visit.mayBeUnreachable = false;
  });

  test('opened while the server is away offers to try again', async () => {
    const other = await t.visitAs(everything);
    await other.page.route('**/console**', (route) => route.abort());
    other.mayBeUnreachable = true;
    await other.open('/#/authlist');
    await other.heading('Exitward isn’t responding').waitFor();
    await other.page.unroute('**/console**');
    await other.button('Try again').click();
    await other.heading('IP authlist').waitFor();
    await other.end();
  });

  test('caused no error of its own in all this', () => {
    expect(visit.problems).toEqual([]);
  });
});
