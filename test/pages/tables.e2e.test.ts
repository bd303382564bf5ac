// The tables of both consoles at each width: columns leave in their order, none is cut off, and
// what a person selects stays.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectAccessible } from '../console/looking.ts';
import { deepTest } from '../deep_test.ts';
import { addresses, FakeConsole } from './fake_console.ts';

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
    const few = ['Address', 'User', 'Expires', 'Last used', 'Note'];
    const more = ['Address', 'User', 'Expires', 'Last used', 'Verified', 'Note', 'Added'];
    for (const [width, columns] of [
      [1920, [...more, 'Added by']],
      [1440, more],
      [1024, few],
      [768, few.slice(0, -1)],
    ] as const) {
      await resize(width);
      await expect.poll(headings).toEqual(columns);
      expect(await misplaced(), `at ${width}`).toEqual([]);
    }
  });

  test('has its search, filters, count and Export on one line above it, on a wide screen', async () => {
    await resize(1440);
    t.startOver();
    const faults: string[] = [];
    let bars = 0;
    for (const path of addresses) {
      await t.open(path);
      const ends = (await t.does(`[...document.querySelectorAll('main .list-head + .paged-table')]
        .map((list) => [list.previousElementSibling, list.firstElementChild])
        .map((parts) => parts.map((part) => Math.round(part.getBoundingClientRect().bottom)))`)) as Array<
        [filters: number, count: number]
      >;
      bars += ends.length;
      for (const [filters, count] of ends)
        if (Math.abs(filters - count) > 6) faults.push(`${path}: ${filters} and ${count}`);
      const lines = (await t.does(`[...document.querySelectorAll('main .list-head > .filters')]
        .map((bar) => Math.round(bar.getBoundingClientRect().height))`)) as number[];
      if (lines.some((height) => height > 80)) faults.push(`${path}: filters on two lines`);
      const loose = (await t.does(
        `document.querySelectorAll('main .filters + .paged-table, main .filters + .stack > .table-frame').length`,
      )) as number;
      if (loose > 0) faults.push(`${path}: filters without a bar`);
    }
    expect(faults).toEqual([]);
    expect(bars).toBeGreaterThan(15);
  });

  deepTest('has the actions of a row in a menu where it is narrow', async () => {
    await t.open(path);
    await t.visit.button('Remove 203.0.113.7').waitFor();
    await resize(768);
    await t.visit.button('Remove 203.0.113.7').waitFor({ state: 'detached' });
    await t.visit.button('More for 203.0.113.7').click();
    await t.visit.page.getByRole('menuitem', { name: 'Remove' }).click();
    await t.visit.dialog(/^Remove/).waitFor();
  });

  deepTest(
    'shows the columns that a person selected, also after a reload, and can be scrolled then',
    async () => {
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
      const expected = ['Address', 'Expires', 'Last used', 'Note', 'Id'];
      await expect.poll(headings).toEqual(expected);
      expect(t.visit.page.url()).toContain('columns=Id%2C-User');
      await t.visit.page.reload();
      await expect.poll(headings).toEqual(expected);
    },
  );

  deepTest('on a phone has cards without the headings', async () => {
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

  /** From here on the list has so many rows, and is read in pages. */
  function fill(operation: string, rows: number): void {
    t.fake.answer(({ name, path, example }, { query }) => {
      if (name !== operation || query.limit === undefined) return undefined;
      const [from, limit] = [Number(query.after ?? 0), Number(query.limit)];
      const [row] = example as object[];
      const all = Array.from({ length: rows }, (_, at) => ({ ...row, id: at + 1 }));
      const next = new URLSearchParams({ ...query, after: String(from + limit) });
      const headers: Record<string, string> = {
        'exitward-total': String(rows),
        'exitward-found': String(rows),
      };
      if (from + limit < rows) headers.link = `<${path}?${next}>; rel="next"`;
      return { headers, body: all.slice(from, from + limit) };
    });
  }
  const sent = (operation: string) =>
    t.fake.writes.filter((write) => write.operation === operation).map(({ body }) => body);

  test('selects all rows that match, also those that are not shown, and changes them in parts', async () => {
    fill('GET /console/authlist', 2345);
    await t.load('/authlist');
    await t.visit.field('Select all rows shown').check();
    await t.visit.sees('100 selected');
    await t.visit.button('Select all 2,345').click();
    await t.visit.sees('2,345 selected');
    await expectAccessible(t.visit, 'all rows selected');
    t.fake.answer('POST /console/authlist/remove', {
      body: { entries: 1000, removal_id: 7 },
    });
    await t.visit.button('Remove …').click();
    await t.visit.button('Remove 2,345 entries').click();
    await t.visit.toast('2,345 authlist entries removed').waitFor();
    const parts = sent('POST /console/authlist/remove') as Array<{ ids: number[] }>;
    expect(parts.map(({ ids }) => ids.length)).toEqual([1000, 1000, 345]);
    expect(new Set(parts.flatMap(({ ids }) => ids)).size).toBe(2345);
    expect(await t.visit.page.locator('tbody tr').count()).toBe(100);
  });

  deepTest('of nodes drains the selected ones in one request, and undoes that', async () => {
    fill('GET /admin/nodes', 3);
    await t.load('/operator/nodes');
    await t.visit.field('Select all rows shown').check();
    await t.visit.button('Drain …').click();
    await t.visit.button('Drain 3 nodes').click();
    await t.visit.toast('3 nodes drained').getByRole('button', { name: 'Undo' }).click();
    await t.visit.toast('3 nodes: change undone').waitFor();
    expect(sent('PATCH /admin/nodes')).toEqual([
      { nodes: [1, 2, 3], drained: true },
      { nodes: [1, 2, 3], drained: false },
    ]);
  });

  deepTest('of nodes is exported with all that matches, by the keyboard alone', async () => {
    fill('GET /admin/nodes', 1200);
    await t.load('/operator/nodes');
    const { page } = t.visit;
    await t.visit.button('Export').press('Enter');
    await page.getByRole('menuitem', { name: 'CSV' }).and(page.locator(':focus')).waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    expect(lines[0]).toMatch(/^.?id,node,server,online,.*connections,bytes_per_second/);
    expect(lines).toHaveLength(1201);
  });

  describe('with saved views', () => {
    let views: Array<Record<string, unknown>>;
    const bar = () => t.visit.page.getByRole('navigation', { name: 'Saved views' });
    const saveDialog = () => t.visit.dialog('Save this view');
    beforeEach(() => {
      views = [];
    });

    /** The operations of the fake on views do as those of the server. */
    function storeViews(): void {
      t.fake.answer(({ name }, { params, body }) => {
        if (/^GET \/(admin|console)\/views$/.test(name)) return { body: views };
        if (/^DELETE \/(admin|console)\/views/.test(name)) {
          views = views.filter(({ id }) => String(id) !== params.id);
        }
        if (!/^PUT \/(admin|console)\/views$/.test(name)) return undefined;
        const { replace, ...view } = body as Record<string, unknown>;
        const before = views.find((other) => other.name === view.name && other.page === view.page);
        if (before && !replace) {
          const message = 'name: you have it already.';
          return { status: 409, body: { message, code: 'name_taken', field: 'name' } };
        }
        if (before) Object.assign(before, view);
        else views.push({ id: views.length + 1, ...view });
        return { body: before ?? views.at(-1) };
      });
    }

    test('is seen again as a person saved it: filters, order and columns, also after a reload', async () => {
      storeViews();
      await t.load(`${path}?state=idle&sort=ip&columns=Id`);
      await t.visit.button('Save view …').click();
      await t.visit.field('Name').fill('Inactive users');
      await expectAccessible(t.visit, 'saving a view');
      await saveDialog().getByRole('button', { name: 'Save view' }).click();
      await bar().getByRole('link', { name: 'All' }).click();
      await expect.poll(() => t.visit.page.url()).not.toContain('state=');
      await t.visit.page.reload();
      await bar().getByRole('link', { name: 'Inactive users' }).click();
      await expect.poll(() => t.visit.page.url()).toMatch(/columns=Id.*sort=ip.*state=idle/);
      expect(await t.visit.field('State').inputValue()).toBe('idle');
      await expect.poll(headings).toContain('Id');
      await expectAccessible(t.visit, 'a saved view');
      await t.visit.button('Remove the view Inactive users').click();
      await t.visit.button('Save view …').waitFor();
      expect(await bar().getByRole('link').count()).toBe(0);
      await t.visit.toast('removed').getByRole('button', { name: 'Undo' }).click();
      await bar().getByRole('link', { name: 'Inactive users' }).waitFor();
    });

    test('of an account holder are in each of their tabs: saved, applied and removed', async () => {
      storeViews();
      await t.load('/authlist?state=idle');
      await t.visit.button('Save view …').click();
      await t.visit.field('Name').fill('Idle');
      await saveDialog().getByRole('button', { name: 'Save view' }).click();
      await bar().getByRole('link', { name: 'Idle' }).waitFor();
      expect(views).toMatchObject([{ page: '/authlist', name: 'Idle', query: 'state=idle' }]);
      const tab = await t.visit.context.newPage();
      await tab.goto(`${t.visit.origin}/#/authlist`);
      await tab.getByRole('link', { name: 'Idle', exact: true }).click();
      await expect.poll(() => tab.url()).toContain('state=idle');
      await tab.getByRole('button', { name: 'Remove the view Idle' }).click();
      await expect.poll(() => views).toEqual([]);
      await tab.close();
      await t.visit.page.reload();
      await t.visit.button('Save view …').waitFor();
      expect(await bar().getByRole('link').count()).toBe(0);
      expect(t.fake.writes.slice(-2).map(({ operation }) => operation)).toEqual([
        'PUT /console/views',
        'DELETE /console/views/{id}',
      ]);
    });

    deepTest(
      'asks before another view replaces one of its name, also one that another tab has saved, and undoes it',
      async () => {
        storeViews();
        await t.load(`${path}?state=idle`);
        views.push({ id: 1, page: path, name: 'Mine', query: 'state=used' });
        await t.visit.button('Save view …').click();
        await t.visit.field('Name').fill('Mine');
        await saveDialog().getByRole('button', { name: 'Save view' }).click();
        await saveDialog().getByText('You have a view with this name.').waitFor();
        expect(views).toMatchObject([{ query: 'state=used' }]);
        await saveDialog().getByRole('button', { name: 'Replace view' }).click();
        const toast = t.visit.toast('View “Mine” replaced.');
        await toast.waitFor();
        expect(views).toMatchObject([{ name: 'Mine', query: 'state=idle' }]);
        await toast.getByRole('button', { name: 'Undo' }).click();
        await t.visit.toast('change undone').waitFor();
        expect(views).toMatchObject([{ name: 'Mine', query: 'state=used' }]);
      },
    );

    deepTest('are moved once from the browser to the server, and none is lost', async () => {
      storeViews();
      views.push({ id: 1, page: path, name: 'Mine', query: 'state=used' });
      await t.load('/operator');
      const stored = [
        { name: 'Mine', search: 'state=idle' },
        { name: 'By address', search: 'sort=ip' },
      ];
      const key = JSON.stringify(`exitward-views operator ${path}`);
      const value = JSON.stringify(JSON.stringify(stored));
      await t.visit.page.evaluate(`localStorage.setItem(${key}, ${value})`);
      await t.load(path);
      await bar().getByRole('link', { name: 'By address' }).waitFor();
      const names = ['Mine', 'Mine (this browser)', 'By address'];
      expect(views.map(({ name, query }) => [name, query])).toEqual(
        ['state=used', 'state=idle', 'sort=ip'].map((query, at) => [names[at], query]),
      );
      await expect.poll(() => t.visit.page.evaluate(`localStorage.getItem(${key})`)).toBeNull();
      await t.load(path);
      await bar().getByRole('link', { name: 'By address' }).waitFor();
      expect(views).toHaveLength(3);
    });
  });
});
