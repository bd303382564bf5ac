// Users and accounts as lists for work: sorted and filtered by the server, in the address; many of
// them changed at once, with a way back.
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, confirmPassword, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };

describe('long lists of users and accounts', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  let operator: Visit;
  beforeAll(async () => {
    t = await Console.start();
    t.fillNetwork({ servers: 10, nodes: 1, accounts: 300, records: 300 });
    await t.passwordFor(everything);
    visit = await t.visitAs(everything, '/users');
    operator = await t.visitAsOperator();
  });
  afterAll(() => t?.stop());

  const names = (at: Visit) =>
    at.page
      .locator('main tbody th')
      .allInnerTexts()
      .then((all) => all.map((text) => text.split(' ')[0]));
  const select = (at: Visit, name: string) =>
    at.page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
  const head = (at: Visit, name: string) => at.page.getByRole('columnheader', { name });
  const users = async (query: string) =>
    (await t.operator.get(`/accounts/acme/users?limit=1000&${query}`)).body as Array<{
      name: string;
      flags: Record<string, boolean>;
    }>;

  test('a head of users sorts all of them, also those of no page that was read', async () => {
    await visit.sees(/The first 100 of \d+ users/);
    await head(visit, 'User').getByRole('button').click();
    const sorted = (await users('sort=name')).map(({ name }) => name);
    await expect.poll(() => names(visit), patience).toEqual(sorted.slice(0, 100));
    expect(await head(visit, 'User').getAttribute('aria-sort')).toBe('ascending');
    await head(visit, 'User').getByRole('button').click();
    await expect.poll(() => names(visit), patience).toEqual(sorted.toReversed().slice(0, 100));
    await visit.button('Show more').click();
    await expect.poll(() => names(visit), patience).toEqual(sorted.toReversed().slice(0, 200));
    expect(visit.page.url()).toContain('/#/users?sort=-name');
  });

  test('filters of users are in the address; what is shown is exported', async () => {
    await visit.go('/users');
    await visit.field('With permission').selectOption('admin');
    await visit.field('Search').fill('billing');
    await visit.sees('2 found in');
    expect((await names(visit)).sort()).toEqual(['billing-admin', everything]);
    expect(visit.page.url()).toContain('/#/users?flag=admin&search=billing');
    const [download] = await Promise.all([
      visit.page.waitForEvent('download'),
      visit.exportAs('CSV'),
    ]);
    const lines = (await text(await download.createReadStream())).trim().split('\r\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['user', 'billing-admin', everything]);
  });

  test('many users are made inactive, and that is undone', async () => {
    await visit.go('/users?search=proxy');
    for (const name of ['proxy', 'proxy-billing']) await select(visit, name);
    await visit.button('Make inactive …').click();
    await visit.button('Make 2 users inactive').click();
    const toast = visit.toast('2 users made inactive');
    await toast.waitFor();
    const inactive = async () =>
      (await users('state=inactive&search=proxy')).map(({ name }) => name);
    expect(await inactive()).toEqual(['proxy', 'proxy-billing']);
    await visit.row('proxy-billing').getByText('inactive').first().waitFor();
    await toast.getByRole('button', { name: 'Undo' }).click();
    await visit.toast('2 users: change undone.').waitFor();
    expect(await inactive()).toEqual([]);
  });

  test('a permission is given to many; that of an admin asks for the password', async () => {
    for (const name of ['proxy', 'proxy-billing']) await select(visit, name);
    await visit.button('Permission …').click();
    await visit.field('Permission').selectOption('admin');
    await confirmPassword(visit, 'Change 2 users');
    const toast = visit.toast('admin given to 2 users');
    await toast.waitFor();
    const admins = async () =>
      (await users('flag=admin&search=proxy')).map(({ name }) => name).sort();
    expect(await admins()).toEqual(['proxy', 'proxy-admin', 'proxy-billing', everything].sort());
    await toast.getByRole('button', { name: 'Undo' }).click();
    await visit.toast('2 users: change undone.').waitFor();
    expect(await admins()).toEqual(['proxy-admin', everything]);
  });

  test('the last admin is not taken away among others, and nothing is changed', async () => {
    await visit.go('/users?flag=admin');
    await visit.page.getByRole('checkbox', { name: 'Select all rows shown' }).check();
    await visit.button('Make inactive …').click();
    await visit.button(/^Make \d+ users inactive$/).click();
    await visit.page
      .getByRole('dialog')
      .getByText(/last active user with the admin flag/)
      .waitFor();
    expect((await users('flag=admin&state=active')).length).toBeGreaterThan(3);
    await visit.page.keyboard.press('Escape');
  });

  test('accounts are sorted by usage and filtered by their state', async () => {
    await operator.go('/operator/accounts');
    await operator.sees(/The first 100 of \d+ accounts/);
    await head(operator, 'This period').getByRole('button').click();
    await head(operator, 'This period').getByRole('button').click();
    await expect.poll(async () => (await names(operator))[0], patience).toBe('globex');
    expect(await head(operator, 'This period').getAttribute('aria-sort')).toBe('descending');
    await operator.field('State').selectOption('ending');
    await operator.sees(/^\d+ found in \d+ accounts\.$/);
    expect(operator.page.url()).toContain('?sort=-usage&state=ending');
    const { body } = await t.operator.get('/accounts?limit=1000&state=ending');
    expect((await names(operator)).sort()).toEqual(
      body.map(({ name }: { name: string }) => name).sort(),
    );
  });

  test('many accounts are suspended, and that is undone; their contracts are extended', async () => {
    await operator.go('/operator/accounts?search=customer-1');
    for (const name of ['customer-1', 'customer-10']) await select(operator, name);
    const suspended = async () =>
      (await t.operator.get('/accounts?limit=1000&state=suspended')).body.length;
    const before = await suspended();
    await operator.button('Suspend …').click();
    await operator.button('Suspend 2 accounts').click();
    const toast = operator.toast('2 accounts suspended');
    await toast.waitFor();
    expect(await suspended()).toBe(before + 2);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await operator.toast('2 accounts: change undone.').waitFor();
    expect(await suspended()).toBe(before);
    for (const name of ['customer-1', 'customer-10']) await select(operator, name);
    await operator.button('Change expiry …').click();
    await operator.field('Contract ends').fill('2032-01-01T00:00');
    await operator.button('Change 2 accounts').click();
    await operator.toast('The contracts of 2 accounts end').waitFor();
    const { body } = await t.operator.get('/accounts?limit=5&sort=expiry&order=desc');
    expect(
      body
        .slice(0, 2)
        .map(({ name }: { name: string }) => name)
        .sort(),
    ).toEqual([...['customer-1', 'customer-10']]);
  });

  test('in a long list of users a form suggests those whose names hold what is typed', async () => {
    await visit.go('/authlist');
    await visit.button('Add an address').click();
    await visit.field('Address').fill('198.51.100.77');
    const field = visit.page.locator('dialog input[name=user]');
    await field.fill('proxy-bill');
    const suggested = visit.page.locator('datalist option[value="proxy-billing"]');
    await suggested.first().waitFor({ state: 'attached' });
    await field.fill('proxy-billing');
    await visit.button('Add the address').click();
    await visit.toast('198.51.100.77 is listed for proxy-billing').waitFor();
    await visit.go('/authlist?user=proxy-billing');
    await visit.row('198.51.100.77').waitFor();
    expect([...visit.problems, ...operator.problems]).toEqual([]);
  });
});
