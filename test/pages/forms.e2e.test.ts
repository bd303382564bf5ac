// Every form of both consoles, found by pressing all that can be pressed: what it refuses, sends,
// and says of failure and success.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { operations } from '../../console/src/openapi.ts';
import { paths } from '../../console/src/paths.ts';
import { deepTest, drawn, isDrawnOf } from '../deep_test.ts';
import { addresses, FakeConsole } from './fake_console.ts';
import { FormTrial, isWrite } from './form_trial.ts';
import { faultsOfUndo, nameOf, undoes } from './undo.ts';

const selectAll = 'Select all rows shown';
const ofAccount = new RegExp(`^${paths.operator.account('acme')}(?=/)`);

/** The names of what is pressed, one after another, until there is a form. */
type Way = string[];

/** Operators do this by an operation of their own. */
const isApart = (way: Way) => /^(View|Invite) /.test(way.at(-1) ?? '');

/** The fields that the second rows of lists have and the first ones do not. */
const secondRows = {
  authlist: { id: 2, expiry: 1_830_384_000 },
  overrides: { id: 2, expiry: 1_830_384_000 },
  users: { id: 2, active: false, flags: { proxy: false, billing: true, admin: false } },
  network: { server: 'lon1' },
  accounts: { name: 'globex', suspended: true, expiry: 1_830_384_000 },
};

const noLimits = {
  ...{ limit_bytes: null, on_limit: 'refuse', max_connections: null, max_addresses: null },
  ...{ address_seconds: 300, active_until: null, services: null, servers: null },
};

/** Buttons that bring no form. */
const noForms = /^(Calendar|Clear|Copy|Download|Export|Fold|Show)/;

describe('the forms of the console', () => {
  let t: FakeConsole;
  /** The forms that were tried from end to end; in other places their success is enough. */
  const tried = new Set<string>();
  /** The ways that were gone, of an account's parts in either console. */
  const gone = new Set<string>();
  /** The operations that were taken back. */
  const undone = new Set<string>();
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(() => t.startOver());

  const namesOf = async (selector: string) =>
    (await t.namesOf(selector)).filter((name) => !noForms.test(name));

  /** Every way to a form on this page. */
  async function waysOn(path: string): Promise<Way[]> {
    await t.open(path);
    const ways: Way[] = [];
    if (await new FormTrial(t).key()) ways.push([]);
    const buttons = await namesOf(
      'main button:not(.sort-button, [role^=menuitem], form *, [aria-haspopup])',
    );
    ways.push(...buttons.map((name) => [name]));
    for (const menu of await namesOf('main [aria-haspopup=menu]:not(thead *)')) {
      await t.press([menu]);
      ways.push(...(await namesOf('[role=menuitem]')).map((item) => [menu, item]));
    }
    const [all] = await namesOf('th.check-cell input');
    if (all !== undefined) {
      await t.press([all]);
      ways.push(...(await namesOf('.selection-bar button')).map((name) => [all, name]));
    }
    return ways;
  }

  async function faultsOf(path: string, ways: Way[]): Promise<string[]> {
    const faults: string[] = [];
    // To find the ways, menus were opened and rows selected.
    if (ways.length > 0) await t.open(path);
    for (const way of ways) {
      if (!(await isAt(path))) await t.open(path);
      const pressed = () => t.press(way);
      // For a submission some of what is pressed is pressed while reads fail.
      const isFailing = isDrawnOf(3, [path, ...way].join(' > '));
      const silent = isFailing ? await t.silentReads(pressed) : [];
      if (!isFailing) await pressed();
      // One form may bring the next.
      for (const here = new Set<string>(); ; ) {
        const trial = new FormTrial(t);
        const key = await trial.key();
        if (key === undefined || here.has(key)) break;
        const [, fields = ''] = key.split(': ');
        const isNextStep =
          fields !== '' && [...here].some((heading) => heading.endsWith(`: ${fields}`));
        here.add(key);
        // For a submission some forms are tried from end to end; the others by their success.
        const isShort = tried.has(key) || !isDrawnOf(3, key);
        if (here.size === 1 && fields !== '' && !isShort) {
          await trial.changesNothing();
          if ((await trial.key()) !== key) {
            await t.open(path);
            await t.press(way);
          }
        }
        if (isNextStep) await trial.confirm(key);
        else await trial.run(key, isShort);
        tried.add(key);
        trial.faults.push(...(await faultsOfUndoing()));
        faults.push(...trial.faults.map((fault) => `${[path, ...way, key].join(' > ')}: ${fault}`));
      }
      silent.push(...(await faultsOfUndoing()));
      faults.push(
        ...[...silent, ...t.takeFaults()].map((fault) => `${[path, ...way].join(' > ')}: ${fault}`),
      );
    }
    return faults;
  }

  /**
   * The ways that were not gone before, and some of those that were: operators see the same parts
   * of an account as its people.
   */
  const newWaysOn = async (path: string) =>
    (await waysOn(path)).filter((way) => {
      const key = [path.replace(ofAccount, ''), ...way].join(' > ');
      return !gone.has(key) ? gone.add(key) : isApart(way) || isDrawnOf(8, key);
    });

  /** Takes back what was done, where the page offers that: what it then sends wrongly. */
  async function faultsOfUndoing(): Promise<string[]> {
    const act = t.fake.writes.at(-1);
    if (!(await t.does('undo()')) || !act) return [];
    undone.add(nameOf(act));
    const undo = t.fake.writes.at(-1);
    return faultsOfUndo(act, undo === act ? undefined : undo, t.fake.answers);
  }

  /** Whether the page is there as it was opened. */
  const isAt = async (path: string) =>
    t.visit.page.url().endsWith(`#${path}`) && (await t.visit.page.locator('dialog').count()) === 0;

  test.each(addresses)('of %s', async (path) => {
    expect(await faultsOf(path, await newWaysOn(path))).toEqual([]);
  });

  test.each([
    ['/servers', { on_contract: false, own: undefined }],
    ['/dns', { list: 'overrides' }],
    ['/sign-in', { current: false }],
    ['/operator/port-schemes', { accounts: 0, servers: 0, name: 'other' }],
    ['/operator/accounts/acme/servers', { on_contract: false, own: undefined, limit_bytes: 7e6 }],
    ['/operator/accounts/acme/authlist', { proof: 'unproven' }],
    ['/', { entry: null }],
  ])('of %s, where the records are others: %o', async (path, fields) => {
    t.setFields(fields);
    expect(await faultsOf(path, await newWaysOn(path))).toEqual([]);
  });

  test('of /authlist, where many lines can be added', async () => {
    t.setFields({ added: 1 }, 'POST');
    expect(await faultsOf('/authlist', [['Add several …']])).toEqual([]);
  });

  // A change of several rows is undone for each of them.
  test.each(
    drawn(['/authlist', '/dns', '/servers', '/operator/accounts', '/operator/accounts/acme/users']),
  )('of %s, for two rows that differ', async (path) => {
    t.addRows(secondRows);
    const ways = (await waysOn(path)).filter(([first]) => first === selectAll);
    expect(ways.length).toBeGreaterThan(0);
    expect(await faultsOf(path, ways)).toEqual([]);
  });

  test.each([paths.overview, paths.invite('ewi_fake')])(
    'of %s, where nobody is signed in',
    async (path) => {
      t.signOut();
      expect(await faultsOf(path, await waysOn(path))).toEqual([]);
    },
  );

  test('are not all that sends: a sign-in link is used up by its button, not by being opened', async () => {
    t.signOut();
    await t.open(paths.enter('ewl_fake'));
    expect(t.fake.requests.some(isWrite)).toBe(false);
    await t.visit.button('Sign in').click();
    expect((await t.fake.next(isWrite))?.operation).toBe('POST /console/session/link');
    await t.visit.heading('Overview').waitFor();
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('of people without the admin flag list addresses for themselves alone', async () => {
    t.setFields({ admin: false });
    await t.open('/authlist');
    expect(await t.namesOf('main button')).not.toContain('Remove all …');
    await t.press(['Add an address']);
    expect(await t.visit.field('User').getAttribute('readonly')).not.toBeNull();
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest(
    'that renew the VPN key say what ends, and are only for servers with a VPN',
    async () => {
      t.setFields({ services: ['proxy'] });
      await t.open(paths.operator.server('fra1'));
      expect(await t.namesOf('main button')).not.toContain('Renew VPN key …');
      t.setFields({ services: ['proxy', 'vpn-l2tp'] });
      await t.open(paths.operator.server('fra1'));
      await t.press(['Renew VPN key …']);
      const dialog = t.visit.dialog(/^Renew the VPN key of fra1/);
      await dialog
        .getByText('all VPN passwords and shared keys of fra1, and the tunnels')
        .waitFor();
      await dialog.getByText('Each user has to download a new VPN profile').waitFor();
      await dialog.getByRole('button', { name: 'Renew VPN key' }).click();
      await t.visit.toast('Users need new VPN profiles').waitFor();
      const { operation } = t.fake.requests.filter(isWrite).at(-1) ?? {};
      expect(operation).toBe('POST /admin/servers/{server}/vpn_key');
      expect(t.takeFaults()).toEqual([]);
    },
  );

  test('that limit several users change one limit of each, and the undo gives back what each had', async () => {
    t.addRows({ users: { ...secondRows.users, limits: noLimits } });
    await t.open('/operator/accounts/acme/users');
    await t.press([selectAll, 'Limits …']);
    await t.visit.field('Limit').selectOption('max_connections');
    await t.visit.field('Connections at once').fill('7');
    await t.visit.button('Change 2 users').click();
    const sent = async () => (await t.fake.next(isWrite))?.body;
    const limitedTo = (...limits: Array<number | null>) => ({
      users: limits.map((max_connections, at) => ({ id: at + 1, limits: { max_connections } })),
    });
    expect(await sent()).toEqual(limitedTo(7, 7));
    await t.visit.dialog(/./).waitFor({ state: 'detached' });
    expect(await t.does('undo()')).toBe(true);
    // The document's example has 100.
    expect(t.fake.writes.at(-1)?.body).toEqual(limitedTo(100, null));
    expect(t.takeFaults()).toEqual([]);
  });

  test('that add a user set limits only where they are asked for', async () => {
    await t.open('/users');
    await t.press(['Add a user']);
    await t.visit.field('Name').fill('bob');
    await t.visit.field('Set limits').check();
    await t.visit.field('Connections at once').fill('7');
    await t.visit.button('Add the user').click();
    const { body } = (await t.fake.next(isWrite)) ?? {};
    expect(body).toMatchObject({ name: 'bob', limits: { max_connections: 7 } });
    expect(Object.keys((body as { limits: object }).limits)).toEqual(['max_connections']);
  });

  test('that remove more than twenty entries ask for a typed word', async () => {
    t.addRows({ authlist: {} }, 21);
    await t.open('/authlist');
    await t.press(['Remove all …']);
    const remove = async (word: string) => {
      await t.visit.field(/^To confirm/).fill(word);
      await t.visit.button('Remove 22 entries').click();
    };
    await remove('21');
    expect(await t.visit.faultOf('To confirm, type acme (the account) or 22 (the number)')).toBe(
      'Expected: acme, or 22.',
    );
    expect(t.fake.requests.some(isWrite)).toBe(false);
    await remove('22');
    expect((await t.fake.next(isWrite))?.operation).toBe('DELETE /console/authlist');
    expect(t.takeFaults()).toEqual([]);
  });

  // The record's time has seconds, which its field does not show.
  test.each(
    drawn([
      ['/operator/accounts/acme?dialog=change', ''],
      ['/authlist?dialog=change:1', 'Expires'],
      ['/dns?dialog=change:1', 'Expires'],
    ]),
  )('at %s keep the seconds of a date that is shown and not touched', async (path, choice) => {
    t.setFields({ expiry: 1_893_456_037 });
    await t.open(path);
    if (choice) await t.visit.field(choice).selectOption('exact');
    await t.visit.button(/^Save/).click();
    await t.visit.dialog(/./).waitFor({ state: 'detached' });
    expect(t.fake.requests.filter(isWrite)).toEqual([]);
  });

  deepTest(
    'of many accounts keep the seconds of the latest end, if nobody touches it',
    async () => {
      t.setFields({ expiry: 1_893_456_037 });
      await t.open(paths.operator.accounts);
      await t.press([selectAll, 'Change expiry …']);
      await t.visit.button(/^Change 1 account/).click();
      await t.visit.toast('Nothing to change').waitFor();
      expect(t.fake.requests.filter(isWrite)).toEqual([]);
    },
  );

  describe('that would cut a customer off', () => {
    const save = () => t.visit.button('Save');
    const isRed = async () => (await save().getAttribute('class'))?.includes('danger');

    test('say so, and their button is red: a contract', async () => {
      t.setFields({ usage: 7e9, limit_bytes: 9e9, expiry: 1_893_456_037 });
      await t.open('/operator/accounts/acme?dialog=change');
      expect(await isRed()).toBe(false);
      await t.visit.field('Limit in a billing period').fill('7');
      await t.visit.dialog(/./).getByText('7 GB of this limit is already used.').waitFor();
      expect(await isRed()).toBe(true);
      await t.visit.field('Over the limit').selectOption('allow');
      await expect.poll(isRed).toBe(false);
      await t.visit.field('Contract ends').fill('2020-01-01 10:00');
      await t.visit.dialog(/./).getByText('This date has passed.').waitFor();
      expect(await isRed()).toBe(true);
    });

    deepTest('say so, and their button is red: the own limit of a server', async () => {
      t.setFields({ current: 7e9, limit_bytes: 9e9, detailed_billing: true, on_limit: 'refuse' });
      await t.open('/operator/accounts/acme/servers');
      await t.press(['Own limit of fra1']);
      await t.visit.field('Own limit').fill('6');
      await t.visit.dialog(/./).getByText('7 GB of this limit is already used.').waitFor();
      expect(await isRed()).toBe(true);
    });
  });

  test('are taken back in each way that the console has', () => {
    expect([...undone].sort()).toEqual(Object.keys(undoes).sort());
  });

  test('send all that the console can ask for', () => {
    const folder = new URL('../../console/src/', import.meta.url);
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && name !== 'openapi.ts')
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    const writes = Object.entries(operations)
      .filter(([, { method }]) => method !== 'GET')
      .filter(([id]) =>
        [id, id.replace(/^console_/, '')].some((name) => sources.includes(`'${name}'`)),
      )
      .map(([, { method, path }]) => `${method} ${path}`);
    const sent = new Set(t.fake.sent);
    // Signing out is no form, views are of a list that was filtered, and servers are selected in
    // a list: flows and tables do it.
    const elsewhere = (write: string) =>
      /^DELETE .*\/session$|\/views(\/|$)|\/servers\/add$/.test(write);
    expect(writes.filter((write) => !sent.has(write) && !elsewhere(write))).toEqual([]);
  });
});
