// The tasks of people, from page to page: each takes the fewest steps.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { paths } from '../../console/src/paths.ts';
import { expectAccessible } from '../console/looking.ts';
import { deepTest, drawn } from '../deep_test.ts';
import { FakeConsole } from './fake_console.ts';

const refusal = {
  verdict: 'challenge',
  status: 407,
  reason: 'unknown_address',
  message: 'this address is not on an IP authlist',
};

describe('a flow of the console', () => {
  let t: FakeConsole;
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(() => t.startOver());

  test('from a refused connection to an entry for its address takes one button', async () => {
    t.fake.answer('POST /console/servers/{server}/explain', { body: refusal });
    await t.open(`${paths.test}?server=fra1&from=203.0.113.9`);
    await t.press(['Test']);
    await t.press(['Add 203.0.113.9']);
    expect(await t.visit.field('Address').inputValue()).toBe('203.0.113.9');
    t.fake.answer(({ name, example }) =>
      name === 'GET /console/authlist'
        ? { body: (example as object[]).map((entry) => ({ ...entry, ip: '203.0.113.9' })) }
        : undefined,
    );
    await t.press(['Add the address']);
    expect(t.fake.writes.at(-1)).toMatchObject({
      operation: 'POST /console/authlist',
      body: { ip: '203.0.113.9' },
    });
    await t.visit.sees(/203\.0\.113\.9 is now listed for/);
    expect(await t.visit.button('Add 203.0.113.9').count()).toBe(0);
    expect(t.takeFaults()).toEqual([]);
  });

  test('the connection test begins with the last refused connection of the own address', async () => {
    await t.open(paths.test);
    await t.visit.sees('Filled in from your last refused connection');
    expect(await t.visit.field('Connection from').inputValue()).toBe('203.0.113.7');
    expect(await t.visit.field('Port').inputValue()).toBe('10004');
    // An address that is not listed had no token.
    expect(await t.visit.field('User').count()).toBe(0);
    t.setFields({ reason: 'expired_token' });
    await t.open(paths.test);
    expect(await t.visit.field('User').inputValue()).toBe('alice');
    t.startOver();
    // A link that describes a connection keeps it.
    await t.open(`${paths.test}?server=fra1&from=203.0.113.9`);
    await t.visit.sees('From a shell');
    expect(await t.visit.field('Connection from').inputValue()).toBe('203.0.113.9');
    expect(
      await t.visit.page.getByText('Filled in from your last refused connection').count(),
    ).toBe(0);
    expect(t.takeFaults()).toEqual([]);
  });

  test('"Test it" signs in as the refused connection did: by token, or by an address that is listed for its user', async () => {
    for (const [reason, listed_for, by] of [
      ['old_token_version', 'alice', 'token'],
      ['inactive_user', null, 'token'],
      ['inactive_user', 'alice', 'address'],
      ['unknown_address', null, 'address'],
    ] as const) {
      t.setRows('refusals', { reason, listed_for, user: 'alice' });
      for (const path of [paths.refusals, paths.operator.account('acme', 'refusals')]) {
        await t.open(path);
        await t.visit.button('Test it 203.0.113.7').last().click();
        await t.visit.heading('Connection test').waitFor();
        const { searchParams } = new URL(t.visit.page.url().replace('#', ''));
        const user = by === 'token' ? 'alice' : null;
        expect([searchParams.get('by'), searchParams.get('user')]).toEqual([by, user]);
      }
    }
    expect(t.takeFaults()).toEqual([]);
  });

  test('a refused connection offers no remedy for what is so already, and says its limit', async () => {
    const table = t.visit.page.getByRole('table', { name: 'Refused connections' }).last();
    const inAccount = paths.operator.account('acme', 'refusals');
    for (const [fields, text, button, pages] of [
      [{}, 'Address not on the IP authlist', 'Add 203.0.113.7', [paths.refusals, inAccount]],
      [{ listed_for: 'bob', is_fixed: true }, 'Listed for bob', undefined, [paths.refusals]],
      [{ reason: 'inactive_user', is_fixed: true }, 'Active again.', undefined, [inAccount]],
      [
        { reason: 'too_many_connections', limit: 25, is_fixed: null },
        ...(['Limit: 25 at once.', 'Change limits 203.0.113.7'] as const),
        [paths.refusals, inAccount, paths.operator.refusals],
      ],
      [
        { reason: 'user_expired', limit: 1_830_297_600, is_fixed: true },
        ...([/Extended to .*2028/, undefined, [paths.refusals]] as const),
      ],
      [
        { reason: 'over_limit', limit: 2e12 },
        ...([/Limit: 2 TB in a billing period\. Your provider/, 'Usage 203.0.113.7'] as const),
        [paths.refusals],
      ],
      [
        { reason: 'over_limit', limit: 2e12 },
        ...(['Limit: 2 TB in a billing period.', 'Open the contract 203.0.113.7'] as const),
        [inAccount, paths.operator.refusals],
      ],
    ] as const) {
      t.setRows('refusals', fields);
      for (const path of pages) {
        await t.open(path);
        await table.getByText(text).waitFor();
        const names = () =>
          table.evaluate((of: { querySelectorAll(selector: string): Iterable<never> }) =>
            Array.from(
              of.querySelectorAll('button'),
              (button: { ariaLabel: string }) => button.ariaLabel,
            ),
          );
        const others = button === undefined ? [] : [button];
        await expect.poll(names).toEqual([...others, 'Test it 203.0.113.7']);
      }
    }
    t.setRows('refusals', { listed_for: 'bob', is_fixed: true });
    await t.open(paths.refusals);
    await table.getByRole('link', { name: 'bob' }).click();
    await t.visit.heading('IP authlist').waitFor();
    expect(t.visit.page.url()).toContain('search=203.0.113.7');
    t.setRows('refusals', { reason: 'too_many_connections', limit: 25 });
    await t.open(paths.user('alice'));
    await t.press(['Change limits 203.0.113.7']);
    await t.visit.field('Connections at once').waitFor();
    t.setRows('refusals', { reason: 'expired_token' });
    await t.open(paths.user('alice'));
    await table.getByText('The token has expired').waitFor();
    expect(await t.visit.button(/^Open the user/).count()).toBe(0);
    expect(t.takeFaults()).toEqual([]);
  });

  test('sums of the open connections lead to those behind them, and silent nodes are named', async () => {
    const figures = { connections: 12, since: 1_798_761_600, last_byte_at: 1_798_761_600 };
    const sum = { groups: 1, up: 1e6, down: 2e6, ...figures };
    const total = { groups: 1, connections: 12, up: 1e6, down: 2e6 };
    const missing = [{ server: 'fra1', node: 'fra1-b', reason: 'offline' }];
    t.fake.answer(({ name, example }, { query }) => {
      if (!/^GET \/(admin|console)\/connections$/.test(name)) return undefined;
      const { sums: _, ...groups } = example as Record<string, unknown>;
      if (query.by === undefined) return { body: { ...groups, total, missing } };
      const sums = [{ account: 'acme', user: 'alice', ...sum }];
      return { body: { connections: [], sums, rest: { ...total, groups: 0 }, total, missing } };
    });
    for (const [path, operation, account] of [
      [paths.operator.connections, 'GET /admin/connections', { account: 'acme' }],
      [paths.connections, 'GET /console/connections', {}],
    ] as const) {
      await t.open(path);
      await t.visit.sees('12 connections, 2 MB down, 1 MB up.');
      await t.visit.sees(/Not included: .*\(offline\)\./);
      await t.visit.select('By user');
      const table = t.visit.page.getByRole('table', { name: 'Open connections by user' });
      await table.getByRole('link', { name: 'alice' }).click();
      await t.visit.page.getByRole('table', { name: 'Open connections', exact: true }).waitFor();
      await t.tried();
      const read = await t.fake.next((request) => request.operation === operation);
      expect(read.query).toEqual({ ...account, user: 'alice', limit: '100' });
      await t.visit.field('Exit IP').fill('198.51.100.7');
      const ofExit = await t.fake.next(
        (request) => request.operation === operation && request.query.exit_ip !== undefined,
      );
      expect(ofExit.query).toEqual({ ...read.query, exit_ip: '198.51.100.7' });
      await t.press(['Pause updates']);
      await t.visit.button('Resume updates').waitFor();
    }
    expect(t.takeFaults()).toEqual([]);
  });

  test('connections are ended for a row, and what lets their user in is taken away first', async () => {
    const missing = [{ server: 'fra1', node: 'fra1-b', reason: 'offline' }];
    let ended = 12;
    t.fake.answer(({ name, example }) => {
      if (/^POST .*connections\/end$/.test(name)) {
        return { body: { ...(example as object), ended, missing } };
      }
      if (!/^GET .*\/connections$/.test(name)) return undefined;
      const { sums: _, connections, ...others } = example as { sums: []; connections: object[] };
      const group = { ...connections[0], account: 'acme', user: 'bob', address: '203.0.113.7' };
      return { body: { ...others, connections: [{ ...group, authlist_entry: 7 }] } };
    });
    for (const [path, ends, base, account] of [
      [paths.operator.connections, '/admin', '/admin/accounts/{account}', { account: 'acme' }],
      [paths.connections, '/console', '/console', {}],
    ] as const) {
      await t.load(path);
      await t.visit.page.getByRole('button', { name: /^End the connections of bob/ }).click();
      const dialog = t.visit.page.getByRole('dialog', { name: 'End connections' });
      await dialog.getByText('can connect again right away').waitFor();
      await dialog.getByLabel('Remove 203.0.113.7 from the authlist').check();
      await dialog.getByLabel('Invalidate all tokens and VPN passwords of bob').check();
      await dialog.getByLabel('Make bob inactive').waitFor();
      await dialog.getByRole('button', { name: 'End connections' }).click();
      await t.visit.sees(/12 connections ended\. Not reached: .*\(offline\)\./);
      // Answers of nodes from before still have them.
      const row = t.visit.page.getByRole('table', { name: 'Open connections' }).getByText('bob');
      expect(await row.count()).toBe(0);
      await t.does('readAgain()');
      expect(await row.count()).toBe(0);
      const writes = t.fake.writes.slice(-3);
      expect(writes.map(({ operation }) => operation)).toEqual([
        `DELETE ${base}/authlist/{id}`,
        `POST ${base}/users/{user}/token_version`,
        `POST ${ends}/connections/end`,
      ]);
      expect(writes.at(-1)?.body).toMatchObject({
        ...account,
        user: 'bob',
        address: '203.0.113.7',
      });
    }
    // Not reached, they are open still.
    ended = 0;
    await t.load(paths.connections);
    await t.visit.page.getByRole('button', { name: /^End the connections of bob/ }).click();
    await t.press(['End connections']);
    await t.visit.sees(/0 connections ended\. Not reached/);
    const table = t.visit.page.getByRole('table', { name: 'Open connections' });
    expect(await table.getByText('bob').count()).toBe(1);
    expect(t.takeFaults()).toEqual([]);
  });

  test('who used an exit is asked by those who may; a use that may be another one says so', async () => {
    const use = { account: 'acme', user: 'alice', address: '203.0.113.9', service: 'proxy' };
    const times = {
      since: 1_795_701_700,
      until: null,
      ...{ server: 'fra1', node: 'fra1-a', has_exit: true },
    };
    const missing = { reason: 'not_logged', has_exit: true } as const;
    let mayAsk = false;
    t.fake.answer(({ name, example }) => {
      if (name === 'GET /admin/status') {
        return { body: { ...(example as object), may_find_connections: mayAsk } };
      }
      if (name !== 'POST /admin/connections/find') return undefined;
      const uses = [
        { ...use, ...times, exit_ports: { first: 40_211, last: 40_211 }, unknown: [] },
        { ...use, ...times, user: 'bob', unknown: ['port'] },
      ];
      const others = ['fra1-b', 'ams1-a'].map((node) => ({
        ...{ node, server: node.slice(0, 4), ...missing, has_exit: node === 'fra1-b' },
      }));
      return { body: { server: null, uses, more: 3, missing: others } };
    });
    const link = t.visit.page.getByRole('link', { name: 'Who used an exit' });
    await t.load(paths.operator.exit_uses);
    await t.visit.sees('Your operator token doesn’t have this permission');
    expect(await link.count()).toBe(0);
    mayAsk = true;
    await t.load(paths.operator.exit_uses);
    await link.waitFor();
    await t.visit.field('Exit IP').fill('198.51.100.7');
    await t.visit.field('Time').fill('2026-11-26 14:02');
    await t.visit.field('Port at the exit (optional)').fill('40211');
    await t.visit.field('Reason').fill('Report 4711');
    await t.visit.button('Ask the nodes').click();
    const table = t.visit.page.getByRole('table', { name: 'Uses of the exit' });
    await table.getByRole('link', { name: 'bob' }).waitFor();
    await t.visit.sees(/2 uses found\. 3 more uses not listed/);
    await t.visit.sees('No data from: fra1-b, ams1-a (no log of that time).');
    await t.visit.sees('No server of this network has this exit IP now.');
    const local = await t.visit.page.evaluate("new Date('2026-11-26T14:02').getTime() / 1000");
    const { body } = await t.fake.next(({ operation }) => operation.startsWith('POST '));
    expect(body).toEqual({
      ...{ exit_ip: '198.51.100.7', at: local, margin_seconds: 60, port: 40_211 },
      reason: 'Report 4711',
    });
    // The answer is that to the form as it stands.
    await t.visit.field('Exit IP').fill('198.51.100.8');
    await table.waitFor({ state: 'detached' });
    expect(t.takeFaults()).toEqual([]);
  });

  test('servers that cannot be added to a new account leave its token in view, and another try', async () => {
    t.fake.answer('POST /admin/accounts/{account}/servers/add', { status: 409 });
    await t.open(paths.operator.accounts);
    await t.press(['Create an account']);
    await t.visit.field('Name').fill('fresh');
    await t.visit.field('Plan').fill('Team');
    await t.visit.field('Limit in a billing period').fill('1');
    await t.visit.page.getByRole('checkbox', { name: /fra1/ }).check();
    await t.press(['Create the account']);
    await t.visit.sees('The account has no servers yet');
    await t.visit.sees('This is the account’s first API token.');
    t.recover();
    await t.press(['Try again']);
    await t.visit.sees('1 server on the contract.');
    expect(t.fake.writes.at(-1)).toMatchObject({
      operation: 'POST /admin/accounts/{account}/servers/add',
      body: { servers: ['fra1'] },
    });
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest(
    'from a custom DNS entry to its test fills in the server, the port and the page',
    async () => {
      await t.open(paths.dns);
      await t.visit
        .button(/^Test /)
        .first()
        .click();
      await t.visit.sees('From a shell');
      await t.press(['Test']);
      const { operation, params, body } = t.fake.writes.at(-1) ?? {};
      expect({ operation, params, body }).toEqual({
        operation: 'POST /console/servers/{server}/explain',
        params: { server: 'fra1' },
        body: {
          ...{ host: 'fra1.exitward.example', method: 'CONNECT', destination_port: 443 },
          ...{ port: 11_004, check_exit: true },
        },
      });
      const commands = await t.visit.page.locator('main pre').allInnerTexts();
      expect(commands.map((line) => /:(\d+)$/.exec(line.trim())?.[1])).toEqual(['11004', '10004']);
      expect(t.takeFaults()).toEqual([]);
    },
  );

  deepTest('a change of the connection takes the decision away', async () => {
    await t.open(paths.server('fra1', 'test'));
    await t.press(['Test']);
    await t.visit.sees('The connection counts as alice');
    await t.visit.field('Page').fill('https://other.example/');
    await expect
      .poll(() => t.visit.page.getByText('The connection counts as alice').count())
      .toBe(0);
    expect(t.visit.page.url()).toContain('page=https%3A%2F%2Fother.example%2F');
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest(
    'an operator who tests a connection is led to the account and to what lists the address',
    async () => {
      await t.open(paths.operator.server('fra1'));
      await t.visit.link('Test').click();
      await t.visit.field('Connection from').fill('203.0.113.7');
      await t.visit.field('Port').selectOption({ index: 1 });
      await t.press(['Test']);
      await t.visit.link('acme').waitFor();
      await t.visit.link('Who lists 203.0.113.7').click();
      await t.visit.heading('Addresses').waitFor();
      expect(await t.visit.field('Address or network').inputValue()).toBe('203.0.113.7');
      expect(t.takeFaults()).toEqual([]);
    },
  );

  deepTest('an address that no account lists leads an operator to a test from it', async () => {
    t.fake.answer('GET /admin/addresses', {
      body: { network: '203.0.113.9', authlist: [], overrides: [], exits: [], more: [] },
    });
    await t.open(`${paths.operator.addresses}?ip=203.0.113.9`);
    await t.visit.link('Test a connection from 203.0.113.9').click();
    await t.visit.heading('Connection test').waitFor();
    expect(await t.visit.field('Connection from').inputValue()).toBe('203.0.113.9');
    expect(t.takeFaults()).toEqual([]);
  });

  test('the page of the authlist says whether the own address is on it, and adds it', async () => {
    t.fake.answer('GET /console/address', { body: { ip: '203.0.113.9', entry: null } });
    await t.open(paths.authlist);
    await t.visit.sees('Your address, 203.0.113.9, is not on the IP authlist.');
    await t.press(['Add 203.0.113.9']);
    expect(await t.visit.field('Address').inputValue()).toBe('203.0.113.9');
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('a change of many expiries warns of the entries that it shortens', async () => {
    await t.open(paths.authlist);
    await t.press(['Select all rows shown', 'Change expiry …']);
    const warning = t.visit.page.getByText('would expire sooner than they do now');
    await t.visit.field('Expires').selectOption({ label: 'In 1 hour' });
    await warning.waitFor();
    await t.visit.field('Expires').selectOption({ label: 'At a date and time …' });
    await t.visit.field('Date and time').fill('2100-01-01 00:00');
    await expect.poll(() => warning.count()).toBe(0);
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('the problems of a node are above its charts', async () => {
    await t.open(paths.operator.node(1));
    await t.visit.heading('Over time').waitFor();
    const titles = await t.visit.page.locator('main h2').allInnerTexts();
    expect(titles.slice(0, 2)).toEqual(['Status', 'Problems']);
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest(
    'a name in the list of users leads to the page of the user, for operators too',
    async () => {
      for (const list of [paths.users, paths.operator.account('acme', 'users')]) {
        await t.open(list);
        await t.visit.link('alice').click();
        await t.visit.heading('alice').waitFor();
        await t.visit.sees('Connections from these addresses count as alice.');
        await t.press(['Change']);
        await t.visit.dialog('Change alice').waitFor();
        await t.visit.page.keyboard.press('Escape');
        await t.visit.link('All users').click();
        await t.visit.link('alice').waitFor();
      }
      expect(t.takeFaults()).toEqual([]);
    },
  );

  describe('the palette acts on a record:', () => {
    const acts = async (from: string, typed: string, name: string) => {
      await t.open(from);
      await t.visit.page.keyboard.press('Control+k');
      const dialog = t.visit.page.getByRole('dialog');
      await dialog.getByRole('combobox').fill(typed);
      await t.visit.page.getByRole('option', { name, selected: true }).waitFor();
      await t.visit.page.keyboard.press('Enter');
    };
    afterEach(() => expect(t.takeFaults()).toEqual([]));

    test('"test fra1" opens the test through that server, in both consoles', async () => {
      for (const [from, to] of [
        [paths.overview, paths.test],
        [paths.operator.overview, paths.operator.test],
      ] as const) {
        await acts(from, 'test fra1', 'Test fra1');
        await t.visit.heading('Connection test').waitFor();
        expect(t.visit.page.url()).toContain(`#${to}?server=fra1`);
      }
    });

    deepTest('"add 203.0.113.9" opens the form for that address', async () => {
      await acts(paths.overview, 'add 203.0.113.9', 'Add 203.0.113.9 to the authlist');
      await t.visit.dialog('Add an address').waitFor();
      expect(await t.visit.field('Address').inputValue()).toBe('203.0.113.9');
    });

    test('"suspend acme" opens the question, and is not offered for a suspended account', async () => {
      await acts(paths.operator.overview, 'suspend acme', 'Suspend acme');
      await t.press(['Suspend acme']);
      expect(t.fake.writes.at(-1)).toMatchObject({ body: { suspended: true } });
      t.setFields({ suspended: true });
      await acts(paths.operator.overview, 'resume acme', 'Resume acme');
      await t.visit.dialog('Resume acme?').waitFor();
    });

    deepTest('"look up 203.0.113.7" opens what lists the address', async () => {
      await acts(paths.operator.overview, 'look up 203.0.113.7', 'Look up 203.0.113.7');
      await t.visit.heading('Addresses').waitFor();
      await t.visit.row('alice').first().waitFor();
    });
  });

  test('of 50 pasted addresses with 3 mistakes, the other 47 are added, and the 3 stay', async () => {
    const wrong = [3, 17, 40];
    const lines = Array.from({ length: 50 }, (_, at) =>
      wrong.includes(at + 1) ? `mistake ${at + 1}` : `203.0.113.${at + 1}`,
    );
    t.fake.answer('POST /console/authlist/add', {
      body: {
        added: 47,
        lines: lines.map((ip, at) => {
          const line = at + 1;
          return wrong.includes(line)
            ? { line, ip, outcome: 'fault', code: 'invalid_field', message: 'isn’t an IP address' }
            : { line, ip, outcome: 'new', id: line };
        }),
      },
    });
    const addresses = t.visit.field('Addresses');
    await t.open(`${paths.authlist}?dialog=add-many`);
    await addresses.fill(lines.join('\n'));
    await t.visit.page.keyboard.press('Escape');
    await t.load(`${paths.authlist}?dialog=add-many`);
    expect(await addresses.inputValue()).toBe(lines.join('\n'));
    await t.press(['Check the lines']);
    await t.visit.sees('3 of 50 lines have problems. 47 addresses to add.');
    const marked = t.visit.page.locator('.numbered li.fault');
    expect(await marked.allInnerTexts()).toEqual(['3', '17', '40']);
    await t.press(['Line 17']);
    const selected = 'const { value, selectionStart, selectionEnd } = document.activeElement;';
    expect(
      await t.does(`(() => { ${selected} return value.slice(selectionStart, selectionEnd); })()`),
    ).toBe('mistake 17');
    await t.press(['Add the other 47']);
    await t.visit.toast('47 addresses listed').waitFor();
    const good = lines.filter((line) => !line.startsWith('mistake')).join('\n');
    expect(t.fake.writes.at(-1)).toMatchObject({ body: { addresses: good } });
    expect(await addresses.inputValue()).toBe('mistake 3\nmistake 17\nmistake 40');
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest(
    'the city of a new server suggests its country and position, and leaves what a person has entered',
    async () => {
      await t.open(paths.operator.servers);
      await t.press(['Add a server']);
      const dialog = t.visit.dialog('Add a server');
      const field = (label: string) => dialog.getByLabel(label, { exact: true });
      const place = () =>
        Promise.all(['Country', 'Latitude', 'Longitude'].map((name) => field(name).inputValue()));
      await field('City').fill('zurich');
      await dialog.getByText('The position of Zürich, Switzerland.').waitFor();
      expect(await place()).toEqual(['CH', '47.38', '8.55']);
      await field('City').fill('Frankfurt');
      expect(await place()).toEqual(['DE', '50.1', '8.68']);
      await field('City').fill('Frankfurt Nowhere');
      expect(await place()).toEqual(['', '', '']);
      await field('Country').fill('CR');
      await field('City').fill('San José');
      expect(await place()).toEqual(['CR', '9.94', '-84.08']);
      await field('Latitude').fill('9.5');
      await field('City').fill('Zürich');
      expect(await place()).toEqual(['CR', '9.5', '-84.08']);
      expect(t.takeFaults()).toEqual([]);
    },
  );

  describe('on a phone', () => {
    beforeEach(() => t.visit.page.setViewportSize({ width: 390, height: 844 }));
    afterAll(() => t.visit.page.setViewportSize({ width: 1280, height: 900 }));

    test.each(
      drawn([
        ['/authlist?state=idle&ends=7d', 'Filters (2)', 'State'],
        ['/servers?service=proxy', 'Filters (1)', 'Service'],
        ['/usage?server=fra1', 'Filters (1)', 'Server'],
        ['/activity', 'Filters', 'From'],
        ['/operator/servers?country=DE&nodes=live', 'Filters (2)', 'Nodes'],
        ['/operator/nodes', 'Filters', 'State'],
        ['/operator/audit?account=acme', 'Filters (1)', 'Account'],
      ]),
    )(
      '%s: the filters are behind a button that counts the active ones',
      async (path, name, label) => {
        await t.open(path);
        const field = t.visit.page.locator('main').getByLabel(label, { exact: true }).first();
        await field.waitFor({ state: 'hidden' });
        await t.visit.button(name).click();
        await field.waitFor();
        await expectAccessible(t.visit, `the filters of ${path}`);
        await t.visit.button(name).click();
        await field.waitFor({ state: 'hidden' });
        expect(t.takeFaults()).toEqual([]);
      },
    );

    deepTest.each(['', '/exits', '/usage', '/test'])(
      'a server of eight exit IPs with every service is under 2,000 pixels: %s',
      async (tab) => {
        t.fake.answer(({ name, example }) => {
          if (name !== 'GET /console/servers/{server}') return undefined;
          const server = example as { ips: Array<{ vpn: object[]; ports: object[] }> };
          const [exit] = server.ips;
          const vpns = ['vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'];
          const ports = ['proxy', 'proxy', 'proxy-https'].map((service, n) => {
            const port = 10_004 + n * 1000;
            return { service, port, override_port: port + 500 };
          });
          const ips = Array.from({ length: 8 }, (_, n) => ({
            ...{ ...exit, ip: `198.51.100.${n + 1}`, ports },
            vpn: vpns.map((service) => ({ ...exit?.vpn[0], service })),
          }));
          return { body: { ...server, services: ['proxy', 'proxy-https', ...vpns], ips } };
        });
        await t.open(`/servers/fra1${tab}`);
        await t.visit.settled();
        const height = await t.visit.page.evaluate('document.documentElement.scrollHeight');
        expect(height).toBeLessThan(2000);
        expect(t.takeFaults()).toEqual([]);
      },
    );
  });
});
