// The operator's part of the console, on the operators' own listener.
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import type { Visit } from './console/visit.ts';
import { throughProxy } from './demo_process.ts';

const patience = { timeout: 100_000 };

describe('the operator’s console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAsOperator();
  });
  afterAll(() => t?.stop());

  test('a token that the server does not know is refused beside its field', async () => {
    const other = await t.visitAtOperators();
    await other.open('/');
    await other.heading('Run the network').waitFor();
    await expectAccessible(other, 'the operator’s sign-in');
    await expectFitsPhone(other, 'the operator’s sign-in');
    for (const wrong of ['ewo_nobodys', 'no token at all']) {
      await other.field('Operator token').fill(wrong);
      await other.button('Sign in').click();
      expect(await other.faultOf('Operator token')).toContain('doesn’t recognize');
    }
    expect(other.problems).toEqual([]);
    await other.end();
  });

  test('the token is no cookie, and is gone with the page unless it was to be kept for the tab', async () => {
    const other = await t.visitAsOperator();
    expect(await other.context.cookies()).toEqual([]);
    const storage =
      '[JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })].join()';
    expect(await other.page.evaluate(storage)).not.toContain(t.facts.admin_token);
    await other.page.reload();
    await other.field('Operator token').fill(t.facts.admin_token);
    await other.field('Stay signed in until this tab is closed').check();
    await other.button('Sign in').click();
    await other.heading('Overview').waitFor();
    await other.page.reload();
    await other.heading('Overview').waitFor();
    await other.button('Sign out').click();
    await other.heading('Run the network').waitFor();
    expect(await other.page.evaluate(storage)).not.toContain(t.facts.admin_token);
    await other.end();
  });

  test('the operators’ listener offers no way into an account, the account holders’ none into the network', async () => {
    const other = await t.visit();
    await other.open('/#/operator');
    await other.heading('Sign in').waitFor();
    expect(await other.link('I run this network').count()).toBe(0);
    await other.end();
    expect(await visit.link(/account’s console/).count()).toBe(0);
  });

  test('the overview and the pages of a server and a node draw the history, of the span in the address', async () => {
    const { body: servers } = await t.operator.get(`/accounts/${account}/servers`);
    const { server } = servers.at(-1);
    const node = await t.node(server);
    const at = Math.floor(Date.now() / 1000) - 600;
    const row = { account: 1, user: 1, at, up: 1000, down: 9000 };
    await node.send('POST', '/usage', { boot: 'one', seq: 1, rows: [row] });
    await node.send('POST', '/rejections', { boot: 'one', reasons: { bad_token: 7 } });
    const history = visit.page.locator('.card', {
      has: visit.page.getByRole('heading', { name: 'Over time' }),
    });
    await visit.go('/operator');
    await history.getByRole('slider', { name: 'Throughput' }).waitFor();
    await history.getByLabel('Time range').selectOption('month');
    await visit.page.waitForURL(/span=month/);
    await visit.go(`/operator/nodes/${node.id}`);
    await history.getByText('10 kB', { exact: true }).waitFor();
    await history.getByText('7 bad token').waitFor();
    await expectAccessible(visit, 'a node over time');
    await expectFitsPhone(visit, 'a node over time');
    await visit.go(`/operator/servers/${server}`);
    await history.getByText('7 bad token').waitFor();
    await visit.go('/operator/usage');
    await visit.page.getByRole('slider', { name: 'Usage over time' }).waitFor();
    await t.operator.delete(`/nodes/${node.id}`);
  });

  test('where geo-IP providers see the exit IPs is listed by how wrong that is, and the geofeed is downloaded', async () => {
    const { body: wrong } = await t.operator.get('/geo?status=crit&limit=1');
    await visit.go('/operator/geo');
    await visit.page.getByText('It isn’t published.').waitFor();
    await visit.page.getByRole('rowheader', { name: wrong[0].ip }).first().waitFor();
    const poor = visit.page.locator('.badge', { hasText: 'Over 250 km off' });
    expect(await poor.count()).toBe(0);
    await visit.field('Seen').selectOption('warn');
    await visit.page.waitForURL(/status=warn/);
    await poor.first().waitFor();
    const [file] = await Promise.all([
      visit.page.waitForEvent('download'),
      visit.button('Download the geofeed').click(),
    ]);
    expect(await text(await file.createReadStream())).toBe(
      (await t.operator.get('/geofeed.csv')).text,
    );
  });

  test('it is seen to be the operator’s at a glance, and says which operator is signed in', async () => {
    const frame = visit.page.locator('.frame');
    const name = (await t.operator.get('/status')).body.operator;
    await frame.getByText(name, { exact: true }).waitFor();
    await frame.locator('.side .audience').waitFor();
    const accent = (of: Visit) =>
      of.page.evaluate(`getComputedStyle(document.querySelector('nav a[aria-current]')).color`);
    const people = await t.visitAs('admin');
    expect(await accent(visit)).not.toBe(await accent(people));
    await people.end();
  });

  test('servers in one place of the map are a ring with their states, and how many are in which', async () => {
    await visit.go('/operator');
    const mark = visit.button(/^\d+ here: \d+ × .*no node/).first();
    const [, many] = /^(\d+) here/.exec((await mark.getAttribute('aria-label')) ?? '') ?? [];
    expect(await mark.locator('.ring text').textContent()).toBe(many);
    expect(await mark.locator('.part.neutral').count()).toBe(1);
    expect(await visit.page.locator('.place .mark.good.ring').count()).toBe(0);
  });

  test('a node has a page of its own, which the list leads to; one that is gone is shown as such', async () => {
    await visit.go('/operator/nodes');
    await visit.link('aar1-a').click();
    await visit.heading('aar1-a of aar1').waitFor();
    const stat = visit.page.locator('.stat').filter({ hasText: 'Open connections' });
    await stat.getByText(/^\d+$/).waitFor();
    for (const path of ['/operator/nodes/99', '/operator/nodes/none']) {
      await visit.go(path);
      await visit.sees('Node not found');
    }
  });

  test('an address is looked up on a page, whose state is the address; a row leads to the entry', async () => {
    const { user, ip } = (await t.operator.get('/accounts/acme/authlist')).body[0];
    await visit.go('/operator/addresses?ip=nonsense');
    await visit.sees('This isn’t a complete address or network.');
    await visit.field('Address or network').fill('198.51.100.250');
    await visit.sees('No account lists 198.51.100.250.');
    await visit.go(`/operator/addresses?ip=${ip}`);
    await visit.row(ip).getByText(user, { exact: true }).waitFor();
    await expectAccessible(visit, 'who lists an address');
    await expectFitsPhone(visit, 'who lists an address');
    await visit.row(ip).getByRole('link', { name: 'acme' }).click();
    await visit.heading('acme').first().waitFor();
    expect(await visit.field('Search').inputValue()).toBe(ip);
  });

  test('the usage of accounts is sorted by its heads and searched, in the address', async () => {
    const names = () => visit.page.locator('main tbody th').allInnerTexts();
    const head = (name: string) => visit.page.getByRole('columnheader', { name, exact: true });
    await visit.go('/operator/usage');
    await expect.poll(async () => (await names()).length).toBeGreaterThan(1);
    expect(await head('State').getAttribute('aria-sort')).toBe('descending');
    await head('Account').getByRole('button').click();
    expect(await head('Account').getAttribute('aria-sort')).toBe('ascending');
    const all = await names();
    expect(all).toEqual(all.toSorted());
    await visit.field('Search').fill('GLOB');
    await expect.poll(names).toEqual(all.filter((name) => name.includes('glob')));
    expect(visit.page.url()).toMatch(/sort=account.*search=GLOB|search=GLOB.*sort=account/);
    await expectAccessible(visit, 'the usage of accounts');
    await expectFitsPhone(visit, 'the usage of accounts');
  });

  test('port schemes are listed with their ports; one is added, changed and removed, and faults are shown at their field', async () => {
    const [scheme] = (await t.operator.get('/port_schemes')).body;
    await visit.go('/operator/port-schemes');
    await visit.row(scheme.name).getByText(`from ${scheme.bases[0].base}`).waitFor();
    await visit.button('Add a port scheme').click();
    await visit.field('Name').fill(scheme.name);
    await visit.field('Ports').fill('40000 socks');
    await visit.button('Add the scheme').click();
    expect(await visit.faultOf('Ports')).toContain('“40000 socks” isn’t a port with its service');
    await visit.field('Ports').fill('40000 proxy\n42000 proxy-https');
    await visit.button('Add the scheme').click();
    expect(await visit.faultOf('Name')).toContain('exists already');
    await visit.field('Name').fill('forty');
    await visit.button('Add the scheme').click();
    await visit
      .row('forty')
      .getByText('HTTP proxy from 40000, HTTPS proxy (over TLS) from 42000')
      .waitFor();
    await visit.row('forty').getByText('none').waitFor();
    await visit.button(`Change ${scheme.name}`).click();
    await visit.field('Ports').fill('50000 proxy');
    await visit.button('Save').click();
    expect(await visit.faultOf('Ports')).toMatch(/is used by the accounts acme, .*; it must stay/);
    await visit.page.keyboard.press('Escape');
    await visit.button('Change forty').click();
    await visit.field('Ports').fill('41000 proxy');
    await visit.button('Save').click();
    await visit.row('forty').getByText('HTTP proxy from 41000').waitFor();
    await visit.button('Remove forty').click();
    await visit
      .dialog('Remove the port scheme forty?')
      .getByRole('button', { name: 'Remove forty' })
      .click();
    await visit.row('forty').waitFor({ state: 'detached' });
    expect(await visit.button('Remove default').getAttribute('aria-disabled')).toBe('true');
  });

  test('servers are sorted by the heads of their columns and searched by the server, all in the address, a line for each', async () => {
    await visit.go('/operator/servers');
    const table = visit.page.getByRole('table', { name: 'Servers of the network' });
    const names = () => table.getByRole('rowheader').allInnerTexts();
    const head = table.getByRole('columnheader', { name: 'Server' });
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    const before = await names();
    await head.getByRole('button').click();
    await visit.page.waitForURL(/sort=-name/);
    await expect.poll(names, patience).toEqual(before.toReversed());
    const heights = `[...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)`;
    const highest = Math.max(...((await visit.page.evaluate(heights)) as number[]));
    expect(highest).toBeLessThanOrEqual(36);
    const { exit_ips } = (await t.operator.get('/servers/fra1')).body;
    await visit.field('Search').fill(exit_ips[0].ip);
    await expect.poll(names, patience).toEqual(['fra1']);
    await visit.page.reload();
    await visit.field('Operator token').fill(t.facts.admin_token);
    await visit.button('Sign in').click();
    await expect.poll(names, patience).toEqual(['fra1']);
  });

  test('a mark of the map leads to the servers of its places, also above the list', async () => {
    await visit.go('/operator');
    await visit
      .button(/^\d+ here: /)
      .first()
      .click();
    await visit.heading('Servers').waitFor();
    expect(visit.page.url()).toContain('places=');
    const count = visit.page.getByText(/^\d+ found in \d+ servers/);
    await count.waitFor();
    const few = await visit.page.getByRole('rowheader').count();
    expect(few).toBeGreaterThan(1);
    await visit.button('Show map').click();
    await visit.page.locator('.place.selected').first().waitFor();
    await expectAccessible(visit, 'the servers with their map');
    await expectFitsPhone(visit, 'the servers with their map');
    await visit.button(/^Only /).click();
    await count.waitFor({ state: 'detached' });
    await visit.button('Hide map').click();
  });

  test('selected servers get other services at once, and are removed unless one is on a contract', async () => {
    const place = { title: 'Spare', city: 'Spare', country: 'DE', latitude: 1, longitude: 1 };
    for (const name of ['spare1', 'spare2']) {
      const body = { name, hostname: `${name}.example`, services: ['proxy'], ...place };
      expect((await t.operator.post('/servers', body)).status).toBe(201);
    }
    await visit.go('/operator/servers?search=spare');
    // The rows of the search before go once those of this one are there.
    await expect.poll(() => visit.page.getByRole('rowheader').count()).toBe(2);
    await visit.field('Select all rows shown').check();
    await visit.button('Set services …').click();
    await visit.field('IKEv2 VPN').check();
    await expectAccessible(visit, 'the services of many servers');
    await visit.button('Set them on 2 servers').click();
    await visit.toast('2 servers now: HTTP proxy, IKEv2 VPN.').waitFor();
    await visit.row('spare2').getByText('HTTP, VPN').waitFor();
    const [used] = (await t.operator.get(`/accounts/${account}/servers`)).body;
    const gone = async () => (await t.operator.get('/servers/spare1')).status;
    await visit.go('/operator/servers');
    for (const name of ['spare1', used.server]) await visit.field(`Select ${name}`).check();
    await visit.button('Remove …').click();
    await visit.button('Remove 2 servers').click();
    await visit.sees(new RegExp(`${used.server} is on \\d+ contract`));
    expect(await gone()).toBe(200);
    await visit.page.keyboard.press('Escape');
    await visit.field(`Select ${used.server}`).uncheck();
    await visit.field('Select spare2').check();
    await visit.button('Remove …').click();
    await visit.button('Remove 2 servers').click();
    await visit.toast('2 servers removed from the network.').waitFor();
    expect(await gone()).toBe(404);
  });

  test.each([
    ['/operator', 'Overview', []],
    ['/operator/accounts', 'Accounts', ['Create an account']],
    ['/operator/accounts/acme', 'acme', ['Suspend …', 'Change']],
    ['/operator/accounts/acme/servers', 'acme', []],
    ['/operator/accounts/acme/users', 'acme', ['Add a user']],
    ['/operator/accounts/acme/tokens', 'acme', ['New API token']],
    ['/operator/accounts/acme/authlist', 'acme', ['Add an address']],
    ['/operator/accounts/acme/dns', 'acme', ['Add an entry']],
    ['/operator/accounts/acme/usage', 'acme', []],
    ['/operator/accounts/acme/audit', 'acme', []],
    ['/operator/servers', 'Servers', ['Add a server', 'Import an inventory …']],
    ['/operator/servers/aar1', 'aar1', ['Remove …', 'Change']],
    ['/operator/nodes', 'Nodes', ['Invite a node', 'Revoke aar1-a']],
    ['/operator/nodes/1', 'aar1-a of aar1', ['Drain', 'Revoke']],
    ['/operator/port-schemes', 'Port schemes', ['Add a port scheme']],
    ['/operator/addresses', 'Addresses', []],
    ['/operator/test', 'Connection test', []],
    ['/operator/refusals', 'Refused lately', []],
    ['/operator/exit-uses', 'Who used an exit', []],
    ['/operator/geo', 'Geo-IP', []],
    ['/operator/usage', 'Usage', []],
    ['/operator/audit', 'Audit log', []],
    ['/operator/tokens', 'Operator tokens', ['Create a token']],
    ['/operator/control-plane', 'Control plane', ['Start maintenance …']],
  ])(
    'the page %s is accessible in both themes and fits a phone, also with its dialogs open',
    async (path, heading, openers) => {
      await visit.go(path);
      await visit.heading(heading).first().waitFor();
      await visit.settled();
      await expectAccessible(visit, path);
      await expectFitsPhone(visit, path);
      for (const opener of openers) {
        await visit.button(opener).first().click();
        const dialog = visit.page.getByRole('dialog');
        await dialog.waitFor();
        await visit.settled();
        await expectAccessible(visit, `${path}: ${opener}`);
        await expectFitsPhone(visit, `${path}: ${opener}`);
        await visit.page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      }
    },
  );

  test('an account is created, and its first API token, shown once, opens it', async () => {
    await visit.go('/operator/accounts');
    await visit.button('Create an account').click();
    const dialog = visit.dialog('Create an account');
    await dialog.getByLabel('Name', { exact: true }).fill(account);
    await visit.field('Plan').fill('Trial');
    await visit.field('Limit in a billing period').fill('5');
    const create = dialog.getByRole('button', { name: 'Create the account' });
    await create.click();
    await dialog
      .getByText(/already|exists|taken/i)
      .first()
      .waitFor();
    await dialog.getByLabel('Name', { exact: true }).fill('initech');
    await create.click();
    const created = visit.dialog('initech was created');
    const token = (await created.locator('pre').first().textContent()) ?? '';
    await created.getByRole('button', { name: 'Done' }).click();
    await visit.heading('initech').waitFor();
    expect(visit.page.url()).toContain('/#/operator/accounts/initech');
    const authorization = `Basic ${btoa(`:${token}`)}`;
    const answer = await fetch(`${t.facts.base_url}/v0/contract`, { headers: { authorization } });
    expect(answer.status).toBe(200);
    const { body } = await t.operator.get('/accounts/initech');
    expect(body).toMatchObject({ plan: 'Trial', on_limit: 'refuse', suspended: false });
  });

  test('a user of the new account is added and invited; the link leads to the account holders’ console', async () => {
    await visit.go('/operator/accounts/initech/users');
    await visit.button('Add a user').first().click();
    await visit.field('Name').fill('peter');
    await visit.field('admin').check();
    await visit.button('Add the user').click();
    const dialog = visit.page.getByRole('dialog');
    await dialog.locator('form button[type=submit]').click();
    const link = dialog.locator('pre').first();
    const text = (await link.textContent()) ?? '';
    expect(text.startsWith(`${t.facts.base_url}/#/invite/ewl_`)).toBe(true);
    const peter = await t.visit();
    await peter.open(text.replace(t.facts.base_url, ''));
    await peter.field('New password').fill('a cover sheet for each report');
    await peter.button('Set password and sign in').click();
    await peter.sees('peter of initech');
    expect(peter.problems).toEqual([]);
    await peter.end();
    await visit.page.keyboard.press('Escape');
  });

  test('a person is erased: the record and the audit log of the account go on under a pseudonym', async () => {
    const users = '/accounts/initech/users';
    expect((await t.operator.post(users, { name: 'milton' })).status).toBe(201);
    await visit.go('/operator/accounts/initech/users');
    await visit.button('More for milton').click();
    await visit.page.getByRole('menuitem', { name: 'Erase the person' }).click();
    const dialog = visit.dialog('Erase milton');
    await dialog.getByText('Earlier backups contain the names').waitFor();
    await expectAccessible(visit, 'the erasure of a person');
    await dialog.getByRole('button', { name: 'Erase milton for good' }).click();
    await visit.toast(/now named erased-\d+/).waitFor();
    await visit.row(/erased-\d+/).waitFor();
    await visit.go('/operator/accounts/initech/audit');
    await visit.page
      .getByText(/erased-\d+/)
      .first()
      .waitFor();
    expect(await visit.page.getByText('milton').count()).toBe(0);
    expect((await t.operator.get(`${users}/milton`)).status).toBe(404);
  });

  test('a suspended account is refused at the proxy within seconds, and let in again', async () => {
    const user = await t.api.post('/users/token', { user: 'proxy' });
    const page = () =>
      throughProxy(t.facts.proxy, `${t.facts.proxy.origin}/`, `proxy:${user.body.token}`);
    expect((await page()).status).toBe(200);
    await visit.go(`/operator/accounts/${account}`);
    await visit.button('Suspend …').click();
    await visit.button(`Suspend ${account}`).click();
    await visit.sees('The contract is suspended: nodes refuse every connection');
    await expect.poll(async () => (await page()).status, patience).not.toBe(200);
    await visit.button('Resume …').click();
    await visit.button(`Resume ${account}`).click();
    await expect.poll(async () => (await page()).status, patience).toBe(200);
  });

  test('a node is drained, gets the event, and takes connections again', async () => {
    const user = await t.api.post('/users/token', { user: 'proxy' });
    const page = () =>
      throughProxy(t.facts.proxy, `${t.facts.proxy.origin}/`, `proxy:${user.body.token}`);
    await visit.go('/operator/nodes');
    const row = visit.row('aar1-a');
    await row.getByText('online', { exact: true }).waitFor();
    await visit.button('Drain aar1-a').click();
    await visit.dialog('Drain aar1-a of aar1?').getByText('no other node').waitFor();
    await visit
      .dialog('Drain aar1-a of aar1?')
      .getByRole('button', { name: 'Drain aar1-a' })
      .click();
    await row.getByText(/^drained/).waitFor(patience);
    await expect.poll(async () => (await page()).status, patience).toBe(503);
    expect((await page()).reason).toBe('drained');
    await expectAccessible(visit, 'a drained node');
    await visit.go('/operator');
    await visit.sees('1 node is drained and accepts no new connections: aar1-a on aar1');
    await visit.go('/operator/nodes');
    await visit.button('Undrain aar1-a').click();
    await visit.dialog('Undrain aar1-a of aar1?').getByRole('button', { name: 'Undrain' }).click();
    await row.getByText('online', { exact: true }).waitFor(patience);
    await expect.poll(async () => (await page()).status, patience).toBe(200);
  });

  test('a node is invited by a line to run on its machine, and the invitation can be taken back', async () => {
    await visit.go('/operator/nodes');
    await visit.row('aar1-a').getByText('online', { exact: true }).waitFor();
    await visit.button('Invite a node').click();
    await visit.field('Server').fill('aar1');
    await visit.button('Create code').click();
    const dialog = visit.dialog('Invite a node to aar1');
    const line = dialog.locator('pre').last();
    expect(await line.textContent()).toMatch(
      new RegExp(
        `^curl .* ${t.facts.base_url}/node/install\\.sh && .* && echo ewi_\\w+ \\| sh exitward-install\\.sh ${t.facts.base_url}$`,
      ),
    );
    await dialog.getByRole('button', { name: 'Done' }).click();
    await visit.button('Cancel the invitation for aar1').click();
    await visit.button('Cancel invitation').click();
    await visit.sees('There is none.');
  });

  test('usage beyond what a machine can carry is held on the page of its node, until it is accepted or discarded', async () => {
    await t.operator.put('/accounts/globex/servers/aar1', {});
    const node = await t.node('aar1', 'greedy');
    const used = async () => (await t.operator.get('/accounts/globex')).body.period.usage as number;
    const before = await used();
    for (const seq of [1, 2]) {
      const at = Math.floor(Date.now() / 1000);
      const rows = [{ account: 2, user: 1, at, up: seq * 5 * 10 ** 14, down: 0 }];
      const response = await node.send('POST', '/usage', { boot: 'b', seq, rows });
      expect(await response.json()).toMatchObject({ held: true });
    }
    expect(await used()).toBe(before);
    await visit.go('/operator/nodes');
    await visit.heading('Held usage').waitFor();
    await visit.sees('2 batches of usage');
    await visit.settled();
    await expectAccessible(visit, 'held usage');
    await expectFitsPhone(visit, 'held usage');
    await visit.button('Discard 1 PB of greedy').click();
    await visit.dialog('Discard 1 PB of greedy?').getByText('The audit log keeps').waitFor();
    await visit.button('Discard it').click();
    await visit.row('1 PB').waitFor({ state: 'detached' });
    await visit.go('/operator/servers/aar1');
    await visit.button('Accept 500 TB of greedy').click();
    await visit.dialog('Accept 500 TB of greedy?').getByText('It counts for globex').waitFor();
    await visit.button('Bill it').click();
    await visit.heading('Held usage').waitFor({ state: 'detached' });
    expect((await used()) - before).toBe(5 * 10 ** 14);
    await t.operator.delete(`/nodes/${node.id}`);
    await t.operator.delete('/accounts/globex/servers/aar1');
  });

  test('a fault of a node is seen with its cause and since when, and no more when it is fixed', async () => {
    const exit = '/servers/aar1/exits/203.0.113.177';
    await visit.go('/operator/nodes');
    const row = visit.row('aar1-a');
    await row.getByText('online', { exact: true }).waitFor();
    expect(await row.getByText('203.0.113.177').count()).toBe(0);
    // An address that the machine does not have; its agent says so.
    expect((await t.operator.put(exit, { port_base: 77 })).status).toBeLessThan(300);
    await row.getByText('203.0.113.177').waitFor(patience);
    await expectAccessible(visit, 'the nodes, one with a fault');
    await expectFitsPhone(visit, 'the nodes, one with a fault');
    await visit.link('aar1-a').click();
    const fault = visit.page
      .getByRole('table', { name: 'Problems of the node' })
      .getByRole('row')
      .filter({ hasText: '203.0.113.177' });
    await fault.getByText(/seconds? ago|minutes? ago|just now/).waitFor();
    await expectAccessible(visit, 'a node with a fault');
    await expectFitsPhone(visit, 'a node with a fault');
    await t.operator.delete(exit);
    await fault.waitFor({ ...patience, state: 'detached' });
  });

  test('a node says what it would do with a connection, and why', async () => {
    await visit.go('/operator/servers/aar1');
    await visit.link('Test').click();
    await visit.field('Connection from').fill('192.0.2.10');
    await visit.field('Port').selectOption(String(t.facts.proxy.port));
    await visit.button('Test').click();
    await visit.sees('unknown_address');
  });

  test('maintenance stops the account API, is explained in words, and ends', async () => {
    const contract = async () => (await t.api.get('/contract')).status;
    await visit.go('/operator/control-plane');
    await visit.button('Start maintenance …').click();
    await visit.dialog('Start maintenance?').getByText('503').waitFor();
    await visit.button('Start maintenance').click();
    await visit.sees('returns 503 for every request');
    expect(await contract()).toBe(503);
    await visit.button('End maintenance …').click();
    await visit.button('End maintenance').click();
    await visit.sees('The account API is in service.');
    expect(await contract()).toBe(200);
  });

  test('the audit log shows what was done, and by whom', async () => {
    await visit.go('/operator/audit');
    for (const sentence of [
      'ended maintenance.',
      'suspended the contract',
      'created the account initech, plan Trial.',
      'created an invitation for peter',
    ]) {
      await visit.page.getByText(sentence).first().waitFor();
    }
    // And by itself, what others do now.
    const entry = { ip: '198.51.100.8', user: 'proxy', expiry: Math.floor(Date.now() / 1000) + 60 };
    await t.api.post('/contract/ip-authlist', entry);
    await visit.sees(/added 198\.51\.100\.8 to the authlist for proxy/);
  });

  test('an address that the account has not verified is verified by the operator', async () => {
    const entry = {
      ip: '198.51.100.9',
      user: 'proxy',
      expiry: Math.floor(Date.now() / 1000) + 900,
    };
    await t.api.post('/contract/ip-authlist', entry);
    await visit.go('/operator/accounts/acme/authlist');
    await visit.button('Verify 198.51.100.9').click();
    await visit.toast('198.51.100.9 verified').waitFor();
  });

  test('an address or a network is looked up: who lists it, what resolves to it, which server has it as an exit', async () => {
    const [server] = (await t.operator.get('/servers')).body;
    const { exit_ips } = (await t.operator.get(`/servers/${server.name}`)).body;
    const { ip } = exit_ips[0];
    const expiry = Math.floor(Date.now() / 1000) + 900;
    for (const path of ['authlist', 'overrides']) {
      const own =
        path === 'authlist' ? { user: 'proxy' } : { server: 'aar1', hostname: 'x.example' };
      const body = { ip, expiry, ...own };
      const { status } = await t.operator.post(`/accounts/acme/${path}`, body);
      expect(status).toBe(201);
    }
    const network = /:/.test(ip)
      ? `${ip.split(':').slice(0, 2).join(':')}::/32`
      : ip.replace(/\d+$/, '0/24');
    for (const text of [ip, network]) {
      await visit.go(`/operator/addresses?ip=${encodeURIComponent(text)}`);
      const row = (title: string) =>
        visit.page.getByRole('region', { name: title }).getByRole('row').filter({ hasText: ip });
      await row('On authlists').filter({ hasText: 'proxy' }).waitFor();
      await row('In custom DNS').filter({ hasText: 'x.example' }).waitFor();
      await row('Exit IPs').filter({ hasText: server.name }).waitFor();
    }
    await visit.field('Address or network').fill('10.0.0.0/7');
    await visit.sees(/expected a prefix of at least \/8/);
    expect(visit.page.url()).toContain('ip=10.0.0.0');
  });

  test('who uses a token that is revoked is signed out without a reload', async () => {
    const { body } = await t.operator.post('/tokens', { name: 'day-shift' });
    const other = await t.visitAtOperators();
    await other.open('/');
    await other.field('Operator token').fill(body.admin_token);
    await other.button('Sign in').click();
    await other.heading('Overview').waitFor();
    await visit.go('/operator/tokens');
    await visit.button('Revoke day-shift').first().click();
    await visit
      .dialog('Revoke the token of day-shift?')
      .getByRole('button', { name: 'Revoke day-shift' })
      .click();
    // At the latest when the stream is asked whether it may go on.
    await other.heading('Run the network').waitFor({ timeout: 30_000 });
    await other.end();
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });
});
