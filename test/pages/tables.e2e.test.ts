// The tables of both consoles at each width: columns leave in their order, none is cut off, and
// what a person selects stays.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectAccessible } from '../console/looking.ts';
import { FakeConsole } from './fake_console.ts';

describe('a table', () => {
  let t: FakeConsole;
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(async () => {
    await resize(1280);
    t.startOver();
  });

  async function resize(width: number): Promise<void> {
    await t.visit.page.setViewportSize({ width, height: 900 });
    await t.visit.page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
    );
  }

  const headings = async () =>
    (
      await t.visit.page.locator('main thead th:not(.check-cell, .row-actions)').allInnerTexts()
    ).map((text) => text.replace(/\s*[↑↓]$/, ''));

  /** Columns whose head isn't over their cells, and cells that lie over others. */
  const misplaced = () =>
    t.visit.page.evaluate(`(() => {
      const faults = [];
      const box = (element) => element.getBoundingClientRect();
      for (const row of document.querySelectorAll('main .table.compact tbody tr')) {
        const heads = [...row.closest('table').querySelectorAll('thead th')];
        for (const [at, cell] of [...row.children].entries()) {
          const [head, own] = [box(heads[at]), box(cell)];
          if (Math.abs(head.left - own.left) > 1 || Math.abs(head.right - own.right) > 1) faults.push('not under its head: ' + cell.innerText);
          if (at > 0 && box(row.children[at - 1]).right > own.left + 1) faults.push('over the next: ' + cell.innerText);
        }
      }
      return faults;
    })()`);

  const path = '/operator/accounts/acme/authlist';

  test('has fewer columns the narrower it is, in the order of their ranks', async () => {
    t.setFields({ proof: 'unproven' });
    await t.open(path);
    const seen: string[][] = [];
    for (const width of [1920, 1440, 1024, 768]) {
      await resize(width);
      seen.push(await headings());
      expect(await misplaced(), `at ${width}`).toEqual([]);
    }
    const all = [
      'Address',
      'User',
      'Expires',
      'Last used',
      'Verified',
      'Note',
      'Added',
      'Added by',
    ];
    expect(seen).toEqual([
      all,
      all.slice(0, -1),
      ['Address', 'User', 'Expires', 'Last used', 'Note'],
      ['Address', 'User', 'Expires', 'Last used'],
    ]);
  });

  test('has the actions of a row in a menu where it is narrow', async () => {
    await t.open(path);
    await t.visit.button('Remove 203.0.113.7').waitFor();
    await resize(768);
    await t.visit.button('Remove 203.0.113.7').waitFor({ state: 'detached' });
    await t.visit.button('More for 203.0.113.7').click();
    await t.visit.page.getByRole('menuitem', { name: 'Remove' }).click();
    await t.visit.dialog(/^Remove/).waitFor();
  });

  test('shows the columns that a person selected, also after a reload, and can be scrolled then', async () => {
    await t.load(path);
    await resize(1024);
    expect(await headings()).not.toContain('Id');
    await t.visit.button('Columns').click();
    await expectAccessible(t.visit, 'the menu of columns');
    const item = (name: string) =>
      t.visit.page.getByRole('menuitemcheckbox', { name, exact: true });
    await item('Id').click();
    await item('User').click();
    await t.visit.page.keyboard.press('Escape');
    const chosen = ['Address', 'Expires', 'Last used', 'Note', 'Id'];
    await expect.poll(headings).toEqual(chosen);
    expect(t.visit.page.url()).toContain('columns=Id%2C-User');
    await t.visit.page.reload();
    await expect.poll(headings).toEqual(chosen);
  });

  test('on a phone has cards without the headings', async () => {
    await t.open(path);
    await resize(390);
    const facts = t.visit.page.locator('main tbody tr').first().locator('td');
    const words = await facts.evaluateAll(
      // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are unknown here.
      (cells: any[]) => cells.map((cell) => cell.dataset.word ?? ''),
    );
    expect(words).toContain('expires');
    expect(words.join(' ')).not.toMatch(/[A-Z]/);
  });
});
