// The console's overview, servers and usage: what they say is what the interface says, and what
// they offer works.
import { text } from 'node:stream/consumers';
import type { Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Console, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };

describe('servers and usage in the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything);
  });
  afterAll(() => t?.stop());

  const table = (name: string | RegExp) => visit.page.getByRole('table', { name });
  const body = (name: string | RegExp) => table(name).locator('tbody tr');

  test('the overview shows the period’s usage, its forecast, and what needs attention', async () => {
    const period = visit.page.getByRole('region', { name: 'This billing period' });
    await period.getByText(/^On track for/).waitFor();
    const meter = period.getByRole('meter');
    const { body: contract } = await t.operator.get('/accounts/acme');
    const share = contract.period.usage / contract.limit_bytes;
    expect(Number(await meter.getAttribute('aria-valuenow'))).toBe(Math.round(100 * share));
    await period.getByRole('slider', { name: 'Usage by day' }).waitFor();
    const attention = visit.page.getByRole('region', { name: 'Needs attention' });
    // A user who came by a link has no password yet.
    await attention.getByText('You have no password yet').waitFor();
    await visit.page
      .getByRole('region', { name: 'Contract' })
      .getByText('Business', { exact: true })
      .waitFor();
  });

  test('servers are listed as the contract has them, and the filters narrow list and map', async () => {
    await visit.go('/servers?map=shown');
    const own = (await t.api.get('/contract/servers')).body as Array<{ server: string }>;
    await visit.page.getByText(`On the contract (${own.length})`, { exact: true }).waitFor();
    const names = async () => (await body('Servers').getByRole('link').allTextContents()).sort();
    expect(await names()).toEqual(own.map(({ server }) => server).sort());
    const marks = visit.page.getByRole('group', { name: /World map/ }).getByRole('button');
    expect(await marks.count()).toBeGreaterThan(5);

    await visit.field('Search').fill('aarhus');
    await expect.poll(names, patience).toEqual(['aar1']);
    await visit.button('Clear the filters').click();
    await visit.field('Country').selectOption({ label: 'Denmark' });
    await expect.poll(async () => (await names()).length, patience).toBeLessThan(own.length);
    expect(await names()).toContain('aar1');
    await visit.button('Clear the filters').click();
    await visit.field('Search').fill('nothing is called that');
    await visit.sees('No server matches');
    await visit.button('Clear the filters').first().click();
    await expect.poll(async () => (await names()).length, patience).toBe(own.length);
  });

  test('a server of the network is added at one press and removed by name; each can be undone', async () => {
    await visit.select(/^Others \(\d+\)$/);
    const add = visit.button(/^Add \S+ to the contract$/).first();
    const name = ((await add.getAttribute('aria-label')) ?? '').split(' ')[1] as string;
    const isOn = async () =>
      (await t.api.get(`/contract/servers?server=${name}`)).body.length === 1;
    await add.click();
    await visit.toast(`${name} added to the contract`).waitFor();
    expect(await isOn()).toBe(true);
    await visit
      .toast(`${name} added to the contract`)
      .getByRole('button', { name: 'Undo' })
      .click();
    await visit.toast(`${name} was removed from the contract again`).waitFor();
    expect(await isOn()).toBe(false);

    await visit.button(`Add ${name} to the contract`).click();
    await visit.select(/^On the contract/);
    await visit.button(`Remove ${name} from the contract`).click();
    const dialog = visit.dialog(`Remove ${name} from the contract?`);
    await dialog.getByText('end at once').waitFor();
    await dialog.getByRole('button', { name: `Remove ${name}` }).click();
    await visit.row(name).waitFor({ state: 'detached' });
    expect(await isOn()).toBe(false);
    await visit
      .toast(`${name} removed from the contract`)
      .last()
      .getByRole('button', { name: 'Undo' })
      .click();
    await visit.row(name).waitFor();
    expect(await isOn()).toBe(true);
    await t.operator.delete(`/accounts/acme/servers/${name}`);
  });

  test('the list is sorted by its heads and filtered by a mark of the map, all in the address', async () => {
    await visit.page.setViewportSize({ width: 1440, height: 900 });
    await visit.go('/servers');
    const names = () => body('Servers').getByRole('link').allTextContents();
    const own = (await t.api.get('/contract/servers?detail=usage')).body as Array<{
      server: string;
      usage: { last_30_days: number };
    }>;
    await body('Servers').nth(4).waitFor();
    const fifth = await body('Servers').nth(4).boundingBox();
    expect((fifth?.y ?? 900) + (fifth?.height ?? 0)).toBeLessThan(900);
    expect(fifth?.height).toBeLessThanOrEqual(36);

    const head = visit.page.getByRole('columnheader', { name: '30 days' });
    for (const order of ['ascending', 'descending']) {
      await head.getByRole('button').click();
      await expect.poll(() => head.getAttribute('aria-sort'), patience).toBe(order);
    }
    expect(visit.page.url()).toContain('sort=-last_30_days');
    const sums = new Map(own.map(({ server, usage }) => [server, usage.last_30_days]));
    await expect
      .poll(async () => (await names()).map((name) => sums.get(name)), patience)
      .toEqual([...sums.values()].sort((a, b) => b - a));

    await visit.button('Show map').click();
    const mark = visit.page.getByRole('button', { name: /^akl1: Auckland, New Zealand/ });
    await mark.click();
    await expect.poll(names, patience).toEqual(['akl1']);
    expect(decodeURIComponent(visit.page.url())).toContain('places=NZ+Auckland');
    await visit.button('Hide map').click();
    await mark.waitFor({ state: 'detached' });
    await visit.page.reload();
    await expect.poll(names, patience).toEqual(['akl1']);
    await visit.button('Show all places').click();
    await expect.poll(async () => (await names()).length, patience).toBe(own.length);

    const downloaded = visit.page.waitForEvent('download');
    await visit.exportAs('CSV');
    const [header, ...rows] = (await text(await (await downloaded).createReadStream()))
      .trimEnd()
      .split('\r\n');
    expect(header).toMatch(/^server,hostname,title,city,country/);
    expect(rows.map((row) => row.split(',')[0])).toEqual(await names());
  });

  test('several servers are added and removed at once, and each can be undone', async () => {
    await visit.go('/servers?view=others');
    // Until the rows of this view are here, those of the one before are shown.
    const add = visit.button(/^Add \S+ to the contract$/);
    await add.nth(2).waitFor();
    const names: string[] = [];
    for (const at of [0, 1, 2]) {
      const [, name = ''] = ((await add.nth(at).getAttribute('aria-label')) ?? '').split(' ');
      names.push(name);
      await visit.page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
    }
    const ofContract = async () =>
      ((await t.api.get('/contract/servers')).body as Array<{ server: string }>)
        .map(({ server }) => server)
        .filter((name) => names.includes(name));
    await visit.button('Add 3 servers to the contract').click();
    await visit.toast('3 servers added to the contract').waitFor();
    expect(await ofContract()).toEqual(names);

    await visit.select(/^On the contract/);
    for (const name of names) {
      await visit.page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
    }
    await visit.button('Remove 3 servers …').click();
    const dialog = visit.dialog('Remove 3 servers from the contract?');
    await dialog.getByRole('button', { name: 'Remove 3 servers' }).click();
    const removed = visit.toast('3 servers removed from the contract.');
    await removed.waitFor();
    expect(await ofContract()).toEqual([]);
    await removed.getByRole('button', { name: 'Undo' }).click();
    await visit.toast('3 servers added to the contract again').waitFor();
    expect(await ofContract()).toEqual(names);
    await t.operator.post('/accounts/acme/servers/remove', { servers: names });
    await visit.go('/servers');
  });

  test('the settings of a server work as they are copied, with a token made beside them', async () => {
    const { origin } = t.facts.proxy;
    await visit.link('aar1').click();
    await visit.heading(/\(aar1\)$/).waitFor();
    await visit.sees('1 of 1 online');
    await visit.field('Page to open').fill(`${origin}/`);
    await visit.select('By token');
    await visit.field('User').selectOption('proxy');
    await visit.button('Create a token').click();
    await visit.sees('The token for proxy works until');
    const settings = visit.page
      .getByRole('region', { name: 'Settings to copy' })
      .locator('pre')
      .last();
    const line = async () => (await settings.textContent()) ?? '';
    expect(await line()).toMatch(/^curl .*-x http:\/\/localhost:\d+ -U '?proxy:ewt_/);
    expect(await t.curl(await line())).toContain("This is the demo's origin.");

    // By address: refused until the address is listed, which the page offers.
    await visit.select('By address');
    expect(await t.curl(`${await line()} -s -o /dev/null -w '%{http_code}'`)).toBe('407');
    await visit.button('Add 127.0.0.1').click();
    await expect.poll(() => visit.field('Address').inputValue(), patience).toBe('127.0.0.1');
    await visit.button('Add the address').click();
    await visit.sees('no password is needed');
    await expect
      .poll(async () => t.curl(`${await line()} -s -o /dev/null -w '%{http_code}'`), patience)
      .toBe('200');

    for (const [program, words] of [
      ['Shell', 'export https_proxy='],
      ['PowerShell', '$env:https_proxy'],
      ['Playwright', 'chromium.launch'],
      ['Selenium', '--proxy-server='],
      ['Chrome', 'google-chrome'],
      ['Firefox', 'network.proxy.http_port'],
      ['PAC file', 'FindProxyForURL'],
    ] as const) {
      await visit.select(program);
      await expect.poll(line, patience).toContain(words);
    }
  });

  test('what is copied is what is shown', async () => {
    await visit.link('Exits').click();
    const place = visit.button(/^Copy localhost:\d+$/).first();
    const name = (await place.getAttribute('aria-label')) ?? '';
    await expect.poll(() => visit.copied(place), patience).toBe(name.replace('Copy ', ''));
    await visit.link('Use it').click();
    const settings = visit.page
      .getByRole('region', { name: 'Settings to copy' })
      .locator('pre')
      .last();
    await expect
      .poll(() => visit.copied(visit.button('Copy the settings for curl')), patience)
      .toBe(await settings.textContent());
    await visit.sees('Copied the settings for curl.');
  });

  test('a server says why it rejects a connection, and sends a request through the exit', async () => {
    await visit.link('Test').click();
    const card = visit.page.getByRole('region', { name: 'Test a connection' });
    const outcome = card.getByRole('status').first();
    const ask = async () => {
      await card.getByRole('button', { name: 'Test' }).click();
      await expect.poll(() => outcome.textContent(), patience).not.toBe('');
      return outcome.textContent();
    };
    await visit.field('Page').fill(`${t.facts.proxy.origin}/`);
    expect(await ask()).toMatch(
      /^AllowedThe connection counts as \S+: its address is on the IP authlist\./,
    );
    expect(await outcome.textContent()).toMatch(/took \d+ ms and arrived from there\.\s*$/);
    await visit.field('Connection from').fill('192.0.2.99');
    expect(await ask()).toMatch(/This address is not on an IP authlist.*Add 192\.0\.2\.99$/);
    await visit.select('By token');
    await visit.field('User').selectOption('former');
    expect(await ask()).toMatch(/^DeniedThe user is inactive\. The connection counts as former\./);
    await visit.field('Connection from').fill('somewhere');
    await card.getByRole('button', { name: 'Test' }).click();
    expect(await visit.faultOf('Connection from')).toMatch(/address/);
  });

  test('the proxy list is copied as it is shown, and its lines work', async () => {
    await visit.go('/servers');
    await visit.button('Proxy list').click();
    const dialog = visit.dialog('Proxy list');
    const country = dialog.getByLabel('Country');
    await country.selectOption({ label: 'Denmark' });
    const line = async () => (await dialog.locator('pre').textContent())?.split('\n')[0] ?? '';
    await expect.poll(line, patience).toMatch(/^localhost:\d+$/);
    const url = `http://${await line()}`;
    expect(await t.curl(`curl -s -x ${url} ${t.facts.proxy.origin}/`)).toContain(
      "This is the demo's origin.",
    );
    await visit.select('CSV');
    await expect.poll(line, patience).toMatch(/^host,port,service,user,token,exit_ip/);
    // Cairo offers no proxy over TLS.
    await country.selectOption({ label: 'Egypt' });
    await dialog.getByLabel('Service').selectOption({ label: 'HTTPS proxy (over TLS)' });
    await dialog.getByText('No proxy matches').waitFor();
    await visit.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('a server with an @ in its name is opened from the list', async () => {
    const name = 'edge@home';
    const place = { city: 'Riga', country: 'LV', latitude: 57, longitude: 24 };
    const server = { name, hostname: 'edge.example.com', title: 'Edge', services: ['proxy'] };
    const made = await t.operator.post('/servers', { ...server, ...place });
    expect(made.status).toBe(201);
    await visit.go('/servers');
    await visit.select(/^Others/);
    await visit.link(name).click();
    await visit.heading(`Edge (${name})`).waitFor();
    expect((await t.operator.delete(`/servers/${encodeURIComponent(name)}`)).status).toBe(204);
  });

  test('usage by day, server and user is downloaded as CSV whose sums are those of the page', async () => {
    await visit.go('/usage');
    // The newest: usage may still come in, and the page reads again.
    let shown: Promise<{ total: number; down: number; up: number }> | undefined;
    const take = (response: Response) => {
      if (/usage\?.*(by=day.*from=|from=.*by=day)/.test(response.url())) shown = response.json();
    };
    visit.page.on('response', take);
    await visit.field('Time range').selectOption('30 days');
    for (const [name, columns] of [
      ['by day', ['day', 'down_bytes', 'up_bytes', 'total_bytes']],
      ['by server', ['server', 'up_bytes', 'down_bytes', 'total_bytes']],
      ['by user', ['user', 'up_bytes', 'down_bytes', 'total_bytes']],
    ] as const) {
      // Each table has an answer of its own, and until it comes the one of the days before.
      await vi.waitFor(async () => {
        const downloaded = visit.page.waitForEvent('download');
        await visit.button(`Export ${name} as CSV`).click();
        const file = await downloaded;
        expect(file.suggestedFilename()).toMatch(/^usage-acme-\d{4}-\d\d-\d\d-.*\.csv$/);
        const [header, ...rows] = (await text(await file.createReadStream()))
          .trimEnd()
          .split('\r\n')
          .map((line) => line.split(','));
        expect(header).toEqual(columns);
        const sum = (column: string) =>
          rows.reduce((all, row) => all + Number(row[columns.indexOf(column as never)]), 0);
        const sums = [sum('total_bytes'), sum('down_bytes'), sum('up_bytes')];
        const { total, down, up } = (await shown) ?? {};
        expect(sums, name).toEqual([total, down, up]);
      }, patience);
    }
    visit.page.off('response', take);
  });

  test('usage is narrowed to a server and a user, by day or by their own dates', async () => {
    const shown = () =>
      visit.page.locator('.stat').filter({ hasText: 'Total' }).locator('dd').first().textContent();
    const all = await shown();
    await table(/^Usage by server/)
      .getByRole('button')
      .first()
      .click();
    await expect.poll(shown, patience).not.toBe(all);
    await visit.field('Server').selectOption('');
    await expect.poll(shown, patience).toBe(all);
    await visit.field('Time range').selectOption('Custom range');
    await visit.field('First day').fill('2026-01-02');
    await visit.field('Last day').fill('2026-01-01');
    await visit.sees('The first day is after the last.');
    await visit.field('Time range').selectOption('30 days');
    await expect.poll(shown, patience).toBe(all);
    await visit.page.getByText('Show as table: Usage over time').click();
    await expect.poll(() => body('Usage over time, UTC').count(), patience).toBeGreaterThan(28);
  });

  test('usage of an earlier billing period, and of a day by hour, are shown', async () => {
    await visit.go('/usage');
    const contract = await t.operator.get('/accounts/acme/contract');
    const [before] = contract.body.earlier_periods as Array<{ start: number; end: number }>;
    const first = new Date((before?.start ?? 0) * 1000).toISOString().slice(0, 10);
    const report = visit.page.waitForResponse(/usage\?.*to=/);
    await visit.field('Time range').selectOption(`period:${first}`);
    expect(await (await report).json()).toMatchObject({ to: before?.end });
    await visit.page.getByRole('slider', { name: 'Usage over time' }).waitFor();
    expect(await visit.page.getByLabel('Each bar').count()).toBe(0);

    await visit.go('/usage?span=week&numbers=Usage+over+time');
    await visit.field('Each bar').selectOption('An hour');
    await visit.page.getByRole('slider', { name: 'Usage over time' }).waitFor();
    const hours = body('Usage over time, UTC');
    await expect.poll(() => hours.count(), patience).toBeGreaterThan(6 * 24);
    await visit.page.reload();
    await expect.poll(() => hours.count(), patience).toBeGreaterThan(6 * 24);
    await visit.field('Each bar').selectOption('A day');
  });

  test('the proxy list of many servers is read page by page when it is wanted', async () => {
    const before = (await t.api.get('/contract/servers')).body.length;
    t.fillNetwork({ servers: 150, nodes: 1, accounts: 1, records: 1 });
    await visit.go('/servers');
    await visit.page.getByText(`On the contract (${before + 150})`, { exact: true }).waitFor();
    const pages: string[] = [];
    visit.page.on('request', (request) => {
      if (/\/console\/servers\?/.test(request.url())) pages.push(request.url());
    });
    await visit.button('Proxy list').click();
    const dialog = visit.dialog('Proxy list');
    await dialog.getByLabel('Include proxies that don’t work right now').check();
    await dialog.getByText(/^The first of \d+ servers\.$/).waitFor();
    const read = pages.length;
    const downloaded = visit.page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Download' }).click();
    const lines = (await text(await (await downloaded).createReadStream())).trimEnd().split('\n');
    expect(lines.filter((line) => line.includes('.large.exitward.example:'))).toHaveLength(150);
    expect(pages.length).toBe(read + 1);
    await dialog.getByText(`${lines.length} proxies.`).waitFor();
    await visit.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('none of it asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });
});
