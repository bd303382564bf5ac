// The authlist and custom DNS in the console, and what comes of them at the demo's own proxy.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';
import { throughProxy } from './demo_process.ts';

const patience = { timeout: 100_000 };

describe('the lists of an account in the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything);
  });
  afterAll(() => t?.stop());

  const page = (credentials?: string) =>
    throughProxy(t.facts.proxy, `${t.facts.proxy.origin}/`, credentials);

  const shopUrl = () => `http://shop.example.com:${new URL(t.facts.proxy.origin).port}/`;
  const served = { status: 200 };
  /** Without an entry: the domain has no such name, or the machine has no name server to ask. */
  const noAddress = { reason: expect.stringMatching(/^(unresolved|no_name_server)$/) };
  const shopOnOverridePort = () => {
    const { host, override_port } = t.facts.proxy;
    return throughProxy({ host, port: override_port }, shopUrl());
  };

  test('an address that is added needs no password at the proxy from then on', async () => {
    expect(await page()).toMatchObject({ status: 407, reason: 'unknown_address' });
    await visit.go('/authlist');
    await visit.button('Add an address').click();
    const dialog = visit.dialog('Add an address');
    await dialog.getByRole('button', { name: 'Use my address' }).click();
    await expect.poll(() => visit.field('Address').inputValue(), patience).toBe('127.0.0.1');
    await visit.field('User').selectOption('proxy');
    await visit.field('Expires').selectOption({ label: 'In 1 hour' });
    await dialog.getByRole('button', { name: 'Add the address' }).click();
    await visit.toast('127.0.0.1 is listed for proxy').waitFor();
    await dialog.waitFor({ state: 'detached' });
    await visit.row('127.0.0.1').getByText('in 1 hour').waitFor();
    await expect.poll(async () => (await page()).status, patience).toBe(200);
  });

  test('an address that is no address, and one that is listed already, are refused next to the field', async () => {
    await visit.button('Add an address').click();
    const dialog = visit.dialog('Add an address');
    const add = dialog.getByRole('button', { name: 'Add the address' });
    await visit.field('Address').fill('10.0.0.300');
    await add.click();
    expect(await visit.faultOf('Address')).toMatch(/not|expected/i);
    await visit.field('Address').fill('127.0.0.1');
    await add.click();
    await dialog
      .getByText(/already|listed/i)
      .first()
      .waitFor();
    await visit.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('a changed expiry shows at once, and can be put back', async () => {
    await visit.button('Change 127.0.0.1').click();
    await visit.field('Expires').selectOption({ label: 'In 1 week' });
    await visit.button('Save the change').click();
    await visit
      .row('127.0.0.1')
      .getByText(/in 1 week|in 7 days/)
      .waitFor();
    await visit.toast('127.0.0.1 changed').getByRole('button', { name: 'Undo' }).click();
    await visit.toast('127.0.0.1 restored').waitFor();
    await visit
      .row('127.0.0.1')
      .getByText(/minutes|in 1 hour/)
      .waitFor();
  });

  test('a removed entry lets nobody in, and does again when that is undone', async () => {
    await visit.button('Remove 127.0.0.1').click();
    const dialog = visit.dialog('Remove 127.0.0.1?');
    await dialog.getByText('need a username and a proxy access token').waitFor();
    await dialog.getByRole('button', { name: 'Remove entry' }).click();
    await expect.poll(async () => (await page()).reason, patience).toBe('unknown_address');
    await visit.toast('127.0.0.1 removed').getByRole('button', { name: 'Undo' }).click();
    await visit.row('127.0.0.1').waitFor();
    await expect.poll(async () => (await page()).status, patience).toBe(200);
  });

  test('all entries are removed by a button that says how many, and come back by undoing it', async () => {
    const rows = visit.page.getByRole('table').getByRole('rowheader');
    await rows.nth(1).waitFor();
    const before = (await rows.allInnerTexts()).sort();
    await visit.button('Remove all …').click();
    await visit.button(`Remove ${before.length} entries`).click();
    await visit.sees('No addresses listed');
    await expect.poll(async () => (await page()).reason, patience).toBe('unknown_address');
    await visit.toast('removed').getByRole('button', { name: 'Undo' }).click();
    await visit.toast(`${before.length} authlist entries restored`).waitFor();
    await expect.poll(async () => (await rows.allInnerTexts()).sort(), patience).toEqual(before);
    await expect.poll(async () => (await page()).status, patience).toBe(200);
  });

  test('more than twenty entries are removed only by who types how many, or of whom', async () => {
    for (let last = 1; last <= 20; last++) {
      await t.api.post('/contract/ip-authlist', {
        ip: `198.51.100.${last}`,
        user: 'proxy',
        expiry: Math.floor(Date.now() / 1000) + 3600,
      });
    }
    await visit.row('198.51.100.20').waitFor();
    await visit.button('Remove all …').click();
    await visit.field(/^To confirm/).fill('21');
    await visit.button('Remove 22 entries').click();
    expect(await visit.faultOf('To confirm, type acme (the account) or 22 (the number)')).toBe(
      'Expected: acme, or 22.',
    );
    await visit.field(/^To confirm/).fill('acme');
    await visit.button('Remove 22 entries').click();
    await visit.sees('No addresses listed');
    // Also later, from the page itself.
    await visit.go('/dns');
    await visit.go('/authlist');
    await visit.button('Restore').click();
    await visit.row('198.51.100.20').waitFor();
  });

  test('a user without the admin flag lists addresses for no other, and sees no other', async () => {
    const own = await t.visitAs('proxy-billing', '/authlist');
    await own.sees('No addresses listed');
    await own.button('Add an address').click();
    expect(await own.field('User').getAttribute('readonly')).not.toBeNull();
    await own.field('Address').fill('198.51.100.200');
    await own.dialog('Add an address').getByRole('button', { name: 'Add the address' }).click();
    await own.row('198.51.100.200').waitFor();
    expect(await own.button('Remove all …').count()).toBe(0);
    // The user, and who added it.
    const names = visit.row('198.51.100.200').getByText('proxy-billing', { exact: true });
    await expect.poll(() => names.count()).toBe(2);
    expect(own.problems).toEqual([]);
    await own.end();
  });

  test('a custom DNS entry leads to its address on the override port, and on no other', async () => {
    await visit.go('/dns');
    await visit.button('Add an entry').click();
    const dialog = visit.dialog('Add a custom DNS entry');
    await visit.field('Hostname').fill('not a hostname');
    await visit.field('Resolves to').fill('127.0.0.1');
    await visit.field('On server').selectOption('aar1');
    const add = dialog.getByRole('button', { name: 'Add the entry' });
    await add.click();
    expect(await visit.faultOf('Hostname')).not.toBe('');
    await visit.field('Hostname').fill('shop.example.com');
    await visit.field('Resolves to').fill('nowhere');
    await add.click();
    expect(await visit.faultOf('Resolves to')).not.toBe('');
    await visit.field('Resolves to').fill('127.0.0.1');
    await add.click();
    await visit.row('shop.example.com').getByText('active', { exact: true }).waitFor();
    expect((await shopOnOverridePort()).text).toContain(`You asked for ${shopUrl()}`);
    expect(await throughProxy(t.facts.proxy, shopUrl())).toMatchObject(noAddress);
  });

  test('an entry turns from pending to active before one’s eyes, when its node has it', async () => {
    const staging = visit.row('staging.example.com');
    await staging.getByText('no node serves acc1').waitFor();
    const node = await t.node('acc1');
    await node.start();
    await staging.getByText('active', { exact: true }).waitFor();
    const entry = { server: 'acc1', hostname: 'slow.example.com', ip: '192.0.2.7' };
    const expiry = Math.floor(Date.now() / 1000) + 3600;
    await t.api.post('/contract/overrides', { ...entry, expiry });
    const row = visit.row('slow.example.com');
    await row.getByText('pending', { exact: true }).waitFor();
    await row.getByText('waiting for scripted').waitFor();
    await node.until(({ events }) => events.length > 0);
    await node.ack();
    await row.getByText('active', { exact: true }).waitFor();
    node.stop();
  });

  test('the command to test it with works as it was copied', async () => {
    const { proxy } = t.facts;
    await visit.button('Test shop.example.com on aar1').click();
    await visit.field('Page').fill(`http://shop.example.com:${new URL(proxy.origin).port}/`);
    const line = visit.page.locator('main pre').first();
    expect(await t.curl((await line.textContent()) ?? '')).toContain(
      'You asked for http://shop.example.com',
    );
    await visit.page.goBack();
  });

  test('a changed entry leads elsewhere, and back when that is undone', async () => {
    await visit.button('Change shop.example.com on aar1').click();
    await visit.field('Hostname').fill('other.example.com');
    await visit.button('Save the change').click();
    await visit.row('other.example.com').getByText('active', { exact: true }).waitFor();
    await expect.poll(shopOnOverridePort, patience).toMatchObject(noAddress);
    await visit
      .toast('other.example.com on aar1 is changed')
      .getByRole('button', { name: 'Undo' })
      .click();
    await visit.row('shop.example.com').getByText('active', { exact: true }).waitFor();
    await expect.poll(shopOnOverridePort, patience).toMatchObject(served);
  });

  test('a removed entry counts no more, and again when that is undone', async () => {
    await visit.button('Remove shop.example.com on aar1').click();
    await visit.button('Remove entry').click();
    await expect.poll(shopOnOverridePort, patience).toMatchObject(noAddress);
    await visit
      .toast('shop.example.com on aar1 is removed')
      .getByRole('button', { name: 'Undo' })
      .click();
    await visit.row('shop.example.com').getByText('active', { exact: true }).waitFor();
    await expect.poll(shopOnOverridePort, patience).toMatchObject(served);
    await visit.button('Remove all …').click();
    await visit.button(/^Remove \d+ entries$/).click();
    await visit.sees('No hostnames overridden');
    await expect.poll(shopOnOverridePort, patience).toMatchObject(noAddress);
    await visit.toast('removed').getByRole('button', { name: 'Undo' }).click();
    await expect.poll(shopOnOverridePort, patience).toMatchObject(served);
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });
});
