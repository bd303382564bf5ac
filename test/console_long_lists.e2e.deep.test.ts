// Lists for daily work in the console: 100,000 entries feel like a hundred; selected rows, pasted
// addresses, notes and exports.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, everything } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };
const many = 99_990;

describe('a list of 100,000 entries', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  let held = 0;
  const folder = mkdtempSync(join(tmpdir(), 'exitward-lists-'));
  beforeAll(async () => {
    t = await Console.start();
    held = t.fillAuthlist(many);
    visit = await t.visitAs(everything);
  });
  afterAll(async () => {
    await visit?.end();
    await t?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const rows = () => visit.page.locator('tbody tr');
  const addresses = () => visit.page.locator('tbody th').allInnerTexts();
  const head = (name: string) => visit.page.getByRole('columnheader', { name, exact: true });
  const box = (at: number) => rows().nth(at).getByRole('checkbox');
  const number = (value: number) => value.toLocaleString('en');

  test('a first view is read at once, in few bytes, and in rows of one line', async () => {
    let bytes = 0;
    const count = async (response: Response) => {
      if (!response.url().includes('/authlist?')) return;
      // The browser may keep a body no longer than its page needs it.
      const body = await response.body().catch(() => undefined);
      bytes += body?.length ?? 0;
    };
    visit.page.on('response', count);
    await visit.go('/authlist');
    await visit.sees(`The first 100 of ${number(held)} entries.`);
    visit.page.off('response', count);
    expect(await rows().count()).toBe(100);
    await expect.poll(() => bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(100_000);
    const heights = (await visit.page.evaluate(
      `[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height)`,
    )) as number[];
    expect(Math.max(...heights)).toBeLessThanOrEqual(36);
  });

  test('a head sorts by its column, a search narrows, and the address keeps both', async () => {
    await head('Address').getByRole('button').click();
    await expect.poll(() => head('Address').getAttribute('aria-sort')).toBe('ascending');
    await expect.poll(async () => (await addresses())[0], patience).toBe('11.0.0.1');
    await head('Address').getByRole('button').click();
    await expect.poll(() => head('Address').getAttribute('aria-sort')).toBe('descending');
    await visit.field('Search').fill('Zürich 77');
    await visit.sees(/found in/);
    const shown = await addresses();
    expect(visit.page.url()).toContain('sort=-ip');
    await visit.page.reload();
    await expect.poll(addresses, patience).toEqual(shown);
    expect(await visit.field('Search').inputValue()).toBe('Zürich 77');
    await visit.field('Search').fill('');
    await visit.sees(`The first 100 of ${number(held)} entries.`);
    await visit.button('Show more').click();
    await visit.sees(`The first 200 of ${number(held)} entries.`);
  });

  test('the address opens the form of an entry that is on no page that was read, and says when it is gone', async () => {
    await visit.go('/authlist?sort=ip&dialog=change:54321');
    const dialog = visit.dialog(/^Change 11\./);
    await dialog.waitFor();
    await visit.field('Note').fill('kept while it is typed');
    const entry = {
      ip: '11.250.0.1',
      user: everything,
      expiry: Math.floor(Date.now() / 1000) + 900,
    };
    const { status, body } = await t.api.post('/contract/ip-authlist', entry);
    expect(status).toBe(201);
    await visit.sees(number(held + 1));
    expect(await visit.field('Note').inputValue()).toBe('kept while it is typed');
    await visit.button('Cancel').click();
    await visit.go('/authlist?dialog=change:999999');
    await visit.toast('The entry no longer exists.').waitFor();
    expect(visit.page.url()).not.toContain('dialog');
    await t.api.delete(`/contract/ip-authlist/${body.id}`);
    await visit.sees(`of ${number(held)} entries`);
    await visit.go('/authlist?sort=-ip');
  });

  test('rows are selected by click, with shift, and by the keyboard alone', async () => {
    const selected = () => visit.page.locator('tbody input:checked').count();
    await box(1).click();
    await box(4).click({ modifiers: ['Shift'] });
    expect(await selected()).toBe(4);
    await visit.page.keyboard.press('Shift+ArrowDown');
    await visit.page.keyboard.press('ArrowDown');
    await visit.page.keyboard.press('Space');
    expect(await selected()).toBe(6);
    await visit.sees('6 selected');
    await expectAccessible(visit, 'selected rows');
    await visit.button('Clear').click();
    expect(await selected()).toBe(0);
  });

  test('selected entries get another expiry or are removed, and an undo restores them', async () => {
    await head('Expires').getByRole('button').click();
    await expect.poll(() => head('Expires').getAttribute('aria-sort')).toBe('ascending');
    await expect.poll(async () => (await rows().first().innerText()).includes('hour')).toBe(true);
    const before = await addresses();
    for (const at of [0, 1]) await box(at).click();
    await visit.button('Change expiry …').click();
    await visit.field('Expires').selectOption({ label: 'In 1 year' });
    await visit.button('Change 2 entries').click();
    await expect.poll(async () => (await addresses())[0], patience).toBe(before[2]);
    await visit.toast('2 authlist entries until').getByRole('button', { name: 'Undo' }).click();
    await expect
      .poll(async () => (await addresses()).slice(0, 3), patience)
      .toEqual(before.slice(0, 3));
    for (const at of [0, 2]) await box(at).click();
    await visit.button('Remove …').click();
    await visit.button('Remove 2 entries').click();
    await expect.poll(async () => (await addresses())[0], patience).toBe(before[1]);
    await visit.sees(number(held - 2));
    await visit.toast('2 authlist entries removed').getByRole('button', { name: 'Undo' }).click();
    await expect
      .poll(async () => (await addresses()).slice(0, 3), patience)
      .toEqual(before.slice(0, 3));
  });

  test('addresses are pasted: faults by line first, then all are added, with notes', async () => {
    await visit.button('Add several …').click();
    await visit.page.reload();
    const dialog = visit.dialog('Add several addresses');
    await visit
      .field('Addresses')
      .fill('# offices\n203.0.113.71 # Berlin\n10.0.0.300\n203.0.113.72\n');
    await dialog.getByRole('button', { name: 'Check the lines' }).click();
    await dialog.getByText('Line 3').waitFor();
    await expectAccessible(visit, 'pasted addresses');
    await visit.field('Addresses').fill('203.0.113.71 # Berlin\n203.0.113.72\n203.0.113.71');
    await visit.field('Note').fill('all offices');
    await dialog.getByRole('button', { name: 'Check the lines' }).click();
    await dialog.getByText('2 addresses to add; skipped: 1 repeated.').waitFor();
    await dialog.getByRole('button', { name: 'Add 2 addresses' }).click();
    await visit.toast('2 addresses listed').waitFor();
    await visit.field('Search').fill('203.0.113.7');
    await visit.row('203.0.113.71').getByText('Berlin').waitFor();
    await visit.row('203.0.113.72').getByText('all offices').waitFor();
    await visit.row('203.0.113.72').getByRole('cell', { name: everything }).last().waitFor();
  });

  test('a note is changed, and what is shown is exported as CSV and JSON', async () => {
    await visit.button('Change 203.0.113.71').click();
    await visit.field('Note').fill('Berlin, "second" floor');
    await visit.button('Save the change').click();
    await visit.row('203.0.113.71').getByText('Berlin, "second" floor').waitFor();
    const saved = async (format: string) => {
      const [file] = await Promise.all([
        visit.page.waitForEvent('download'),
        visit.exportAs(format),
      ]);
      const path = join(folder, format);
      await file.saveAs(path);
      return readFileSync(path, 'utf8');
    };
    const lines = (await saved('CSV')).split('\r\n');
    expect(lines[0]).toBe('\ufeffaddress,user,note,expires,last_used,added_by,added_at');
    expect(lines.filter((line) => line.includes('"Berlin, ""second"" floor"')).length).toBe(1);
    const entries = JSON.parse(await saved('JSON')) as Array<{ ip: string }>;
    expect(entries.map(({ ip }) => ip).sort()).toEqual((await addresses()).sort());
  });

  test('an export of many pages shows how far it is, and is stopped without a file', async () => {
    await visit.field('Search').fill('');
    await visit.sees(`The first 100 of ${number(held + 2)} entries.`);
    let [requests, files] = [0, 0];
    visit.page.on('download', () => files++);
    // The first page of the export passes, the second one is not answered.
    await visit.page.route(/authlist\?.*limit=1000/, (route) =>
      requests++ === 0 ? route.continue() : undefined,
    );
    await visit.exportAs('CSV');
    await visit.sees(`1,000 of ${number(held + 2)} read`);
    await visit.button('Stop the export').click();
    await visit.button('Stop the export').waitFor({ state: 'detached' });
    const csv = visit.button('Export');
    await expect.poll(() => csv.getAttribute('aria-busy')).toBe(null);
    expect([requests, files]).toEqual([2, 0]);
    await visit.page.unroute(/authlist\?.*limit=1000/);
  });

  test('it fits a phone, and an operator sees the same list with its state in the address', async () => {
    await expectFitsPhone(visit, 'the authlist');
    // Hundreds of rows are no hundred screens: an address and its buttons, and two lines of facts.
    await visit.page.setViewportSize({ width: 390, height: 844 });
    const row = await visit.page.locator('tbody tr').first().boundingBox();
    expect(row?.height).toBeLessThan(110);
    const operator = await t.visitAsOperator();
    await operator.go('/operator/accounts/acme/authlist?search=203.0.113.7&sort=ip');
    await operator.row('203.0.113.71').getByText('Berlin, "second" floor').waitFor();
    await expectAccessible(operator, 'the authlist of an operator');
    expect(operator.problems).toEqual([]);
    await operator.end();
    expect(visit.problems).toEqual([]);
  });
});
