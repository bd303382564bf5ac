// Tokens in the console, those of an account and those of operators: sorted, searched, and many
// revoked at once.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything } from './console/console.ts';
import { expectAccessible } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };

describe('tokens', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  let operator: Visit;
  beforeAll(async () => {
    t = await Console.start();
    for (const at of [1, 2, 3, 4, 5]) {
      const name = `job-${at}`;
      const now = Math.floor(Date.now() / 1000);
      const body = { name, expiry: now + (6 - at) * 86_400 };
      expect((await t.operator.post(`/accounts/${account}/tokens`, body)).status).toBe(201);
      expect((await t.operator.post('/tokens', { name })).status).toBe(201);
    }
    visit = await t.visitAs(everything);
    operator = await t.visitAsOperator();
  });
  afterAll(() => t?.stop());

  const consoles = [
    ['an account', () => visit, '/tokens', 'Name', 'API tokens'],
    ['operators', () => operator, '/operator/tokens', 'Operator', 'operator tokens'],
  ] as const;

  test.each(consoles)(
    'those of %s are sorted by their heads, searched, and kept in the address',
    async (_, at, path, first) => {
      const { page } = at();
      const names = () => page.locator('tbody th').allInnerTexts();
      const head = page.getByRole('columnheader', { name: first, exact: true });
      await at().go(`${path}?sort=-name&search=job-`);
      await expect.poll(names, patience).toEqual([5, 4, 3, 2, 1].map((number) => `job-${number}`));
      expect(await head.getAttribute('aria-sort')).toBe('descending');
      await head.getByRole('button').click();
      await expect.poll(async () => (await names())[0], patience).toBe('job-1');
      await at().field('State').selectOption('Never used');
      await at().field('Search').fill('job-3');
      await expect.poll(names, patience).toEqual(['job-3']);
      expect(page.url()).toContain('state=unused');
      const heights = (await page.evaluate(
        `[...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height)`,
      )) as number[];
      expect(Math.max(...heights)).toBeLessThanOrEqual(36);
    },
  );

  test.each(consoles)(
    'those of %s that are selected are revoked at once, by a button that says how many',
    async (_, at, path, __, many) => {
      const { page } = at();
      const names = () => page.locator('tbody th').allInnerTexts();
      await at().go(`${path}?sort=name&search=job-`);
      await expect.poll(async () => (await names()).length, patience).toBe(5);
      await page.getByRole('checkbox', { name: 'Select job-2' }).click();
      const last = page.getByRole('checkbox', { name: 'Select job-4' });
      await last.click({ modifiers: ['Shift'] });
      await at().sees('3 selected');
      await expectAccessible(at(), 'selected tokens');
      await at().button('Revoke …').click();
      await at().dialog(`Revoke 3 ${many}?`).waitFor();
      await at().button(`Revoke 3 ${many}`).click();
      await at().toast(`3 ${many} revoked.`).waitFor();
      await expect.poll(names, patience).toEqual(['job-1', 'job-5']);
    },
  );

  test('the overview shows which tokens end soon, and leads to them', async () => {
    await visit.go('/');
    const item = visit.page
      .getByRole('listitem')
      .filter({ hasText: 'API tokens end within 7 days' });
    await item.filter({ hasText: 'job-5 and job-1' }).getByRole('link').click();
    const names = () => visit.page.locator('tbody th').allInnerTexts();
    await expect.poll(async () => (await names()).sort(), patience).toEqual(['job-1', 'job-5']);
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect([...visit.problems, ...operator.problems]).toEqual([]);
  });
});
