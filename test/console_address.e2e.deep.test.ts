// The address is the state of a view: reload, back and a link to a colleague give the same one, on
// each page of the console.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { account, Console, everything } from './console/console.ts';
import type { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };

/**
 * The view as people see it: its fields, its rows, the open dialog, and the place on the page. A
 * form's proposal of a time begins now.
 */
const look = ({ page }: Visit): Promise<unknown> =>
  page.evaluate(`({
    fields: [...document.querySelectorAll('main :is(input:not([aria-hidden]), select)')].map((element) =>
      [element.labels[0]?.innerText, element.type === 'radio' || element.type === 'checkbox' ? element.checked : element.value].join(': ').replace(/\\d\\d:\\d\\d$/, 'a time')),
    rows: [...document.querySelectorAll('main tbody th')].map((element) => element.innerText),
    dialog: document.querySelector('dialog h2')?.innerText,
    scroll: Math.round(scrollY),
  })`);

const stateOf = ({ page }: Visit) => new URL(page.url()).hash.split('?')[1] ?? '';

/** Fields by their labels with what they are set to; a label alone is a button. */
type Steps = Array<[label: string, value?: string]>;

async function set(visit: Visit, steps: Steps): Promise<void> {
  for (const [label, value] of steps) {
    if (value === undefined) await visit.button(label).first().click();
    else {
      const field = visit.field(label).first();
      await field.waitFor();
      const isSelect = (await field.and(visit.page.locator('select')).count()) > 0;
      if (isSelect) await field.selectOption(value);
      else await field.fill(value);
    }
  }
}

/** The view when it stands still: a long list follows the scrolling a moment later. */
async function steadyLook(visit: Visit): Promise<unknown> {
  let seen = await look(visit);
  const isSame = async () => {
    const earlier = seen;
    await visit.page.waitForTimeout(200);
    seen = await look(visit);
    return JSON.stringify(seen) === JSON.stringify(earlier);
  };
  await expect.poll(isSame, patience).toBe(true);
  return seen;
}

async function expectKept(visit: Visit, path: string): Promise<void> {
  await visit.settled();
  const isDialog = (await visit.page.getByRole('dialog').count()) > 0;
  if (!isDialog) await visit.page.evaluate('scrollTo(0, 120)');
  // The place is kept a moment after the scrolling.
  await expect
    .poll(
      () => visit.page.evaluate('(history.state?.scroll ?? 0) === Math.round(scrollY)'),
      patience,
    )
    .toBe(true);
  const before = await steadyLook(visit);
  const address = visit.page.url();
  const same = () => expect.poll(() => look(visit), { ...patience, message: path }).toEqual(before);
  await visit.page.reload();
  await same();
  // Away, as by a bookmark, and back.
  await visit.page.evaluate(`location.hash = '#/nowhere'`);
  await visit.heading('Page not found').waitFor();
  await visit.page.goBack();
  await same();
  await visit.open(address.replace(visit.origin, ''));
  await expect.poll(() => look(visit), patience).toEqual({ ...(before as object), scroll: 0 });
}

/** The steps on the page lead to this state, which the address has, and keeps. */
async function expectAddressed(visit: Visit, path: string, state: string, steps: Steps) {
  await visit.go(path);
  await set(visit, steps);
  await expect
    .poll(() => [...new URLSearchParams(stateOf(visit))].sort(), patience)
    .toEqual([...new URLSearchParams(state)].sort());
  await expectKept(visit, path);
  await visit.page.keyboard.press('Escape');
}

describe('the address of a page of an account', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAs(everything, '/', { viewport: { width: 1280, height: 420 } });
  });
  afterAll(() => t?.stop());

  test.each<[path: string, state: string, Steps]>([
    [
      '/usage',
      'span=month&split=server',
      [
        ['Time range', 'month'],
        ['Split by', 'server'],
      ],
    ],
    [
      '/servers',
      'search=e&country=CH&state=ok',
      [
        ['Search', 'e'],
        ['Country', 'CH'],
        ['Status', 'ok'],
      ],
    ],
    [
      '/users',
      'search=pro&state=active',
      [
        ['Search', 'pro'],
        ['State', 'active'],
      ],
    ],
    ['/users', 'dialog=add', [['Add a user']]],
    ['/tokens', 'dialog=create', [['New API token']]],
    ['/dns', 'state=active', [['State', 'active']]],
    ['/authlist', 'search=20', [['Search', '20']]],
  ])('of %s is %s, and reload, back and a link give the same view', (...view) =>
    expectAddressed(visit, ...view),
  );

  test('shows its view to a colleague who signs in first', async () => {
    await t.passwordFor('admin');
    const other = await t.visit();
    await other.open('/#/servers?view=all&search=aarhus');
    await other.field('Account').fill(account);
    await other.field('User').fill('admin');
    await other.field('Password').fill('a long password of admin');
    await other.button('Sign in').click();
    await expect.poll(() => other.field('Search').inputValue(), patience).toBe('aarhus');
    expect(await other.page.getByRole('radio', { name: /^All/ }).isChecked()).toBe(true);
    await other.end();
  });

  test('is kept for the way back from a server to the list', async () => {
    await visit.go('/servers?search=aarhus');
    await visit.link('aar1').click();
    await visit.heading(/\(aar1\)$/).waitFor();
    await visit.link('All servers').click();
    await expect.poll(() => visit.field('Search').inputValue(), patience).toBe('aarhus');
  });

  test('with nonsense in it is taken as one without', async () => {
    await visit.go('/usage?span=never&split=constructor&numbers=');
    await expect.poll(() => visit.field('Time range').inputValue(), patience).toBe('period');
    await visit.go(
      '/servers?view=__proto__&sort=x&state=toString&places=nobody&map=x&dialog=constructor',
    );
    await visit.sees('No server matches');
    await visit.go('/users?state=toString&dialog=change:');
    await visit.toast('no longer exists').waitFor();
    expect(visit.problems).toEqual([]);
  });

  test('a dialog of a record that goes away closes itself', async () => {
    await visit.go('/users?dialog=change:nobody-of-this-name');
    await visit.toast('nobody-of-this-name no longer exists.').waitFor();
    expect(stateOf(visit)).toBe('');
    await visit.go('/users?dialog=change:billing');
    await visit.dialog('Change billing').waitFor();
    await t.operator.post(`/accounts/${account}/users/billing/erase`, {});
    await visit.dialog('Change billing').waitFor({ state: 'detached' });
    expect(visit.problems).toEqual([]);
  });

  test('each thing that needs attention leads to the rows that it names', async () => {
    const now = Math.floor(Date.now() / 1000);
    const entry = (ip: string, seconds: number) =>
      t.api.post('/contract/ip-authlist', { ip, user: 'proxy', expiry: now + seconds });
    await entry('198.51.100.21', 3600);
    await entry('198.51.100.22', 7200);
    await entry('198.51.100.23', 40 * 86_400);
    // An entry that was added for less than a day and let no connection in is not missed.
    t.ageAuthlist();
    await entry('198.51.100.24', 3600);
    await t.operator.post(`/accounts/${account}/tokens`, { name: 'soon', expiry: now + 86_400 });
    await visit.go('/');
    const attention = visit.page.getByRole('region', { name: 'Needs attention' });
    const rows = () => visit.page.locator('main tbody th').allInnerTexts();
    const item = (text: string | RegExp) =>
      attention.getByRole('listitem').filter({ hasText: text }).getByRole('link');
    await item(/authlist entries end within 24 hours/).click();
    await visit.row('198.51.100.21').waitFor();
    const listed = await rows();
    expect(listed).toContain('198.51.100.22');
    expect(listed).not.toContain('198.51.100.23');
    expect(listed).not.toContain('198.51.100.24');
    await visit.page.goBack();
    await item('The API token soon ends').click();
    await expect.poll(rows, patience).toEqual(['soon']);
  });
});

describe('the address of a page of the operator', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    visit = await t.visitAtOperators({ viewport: { width: 1280, height: 420 } });
    await visit.open('/#/operator/nodes?search=aar1-a');
    await visit.field('Operator token').fill(t.facts.admin_token);
    await visit.field('Stay signed in until this tab is closed').check();
    await visit.button('Sign in').click();
  });
  afterAll(() => t?.stop());

  test('leads there behind the sign-in', async () => {
    await visit.heading('Nodes').first().waitFor();
    expect(await visit.field('Search').inputValue()).toBe('aar1-a');
  });

  test.each<[path: string, state: string, Steps]>([
    [
      '/operator/accounts',
      'search=a&state=over',
      [
        ['Search', 'a'],
        ['State', 'over'],
      ],
    ],
    ['/operator/accounts', 'dialog=create', [['Create an account']]],
    ['/operator/accounts/acme', 'dialog=change', [['Change']]],
    ['/operator/accounts/acme/users', 'state=active', [['State', 'active']]],
    ['/operator/accounts/acme/usage', 'span=week', [['Time range', 'week']]],
    [
      '/operator/servers',
      'search=e&nodes=neutral',
      [
        ['Search', 'e'],
        ['Nodes', 'neutral'],
      ],
    ],
    ['/operator/servers', 'dialog=add', [['Add a server']]],
    ['/operator/servers/aar1', 'dialog=invite', [['Invite a node']]],
    [
      '/operator/nodes',
      'search=dem&state=lagging',
      [
        ['Search', 'dem'],
        ['State', 'lagging'],
      ],
    ],
    ['/operator/tokens', 'dialog=create', [['Create a token']]],
  ])('of %s is %s, and reload, back and a link give the same view', (...view) =>
    expectAddressed(visit, ...view),
  );

  test('each thing that needs attention leads to the rows that it names', async () => {
    await visit.go('/operator');
    const bare = visit.page.getByRole('listitem').filter({ hasText: 'no node yet' });
    const [, many] = /(\d+) servers? ha/.exec(await bare.innerText()) ?? [];
    await bare.getByRole('link').click();
    await expect.poll(() => stateOf(visit), patience).toBe('nodes=neutral');
    await visit.sees(new RegExp(`^${many} found in \\d+ servers`));
  });

  test('nothing of it was an error', () => {
    expect(visit.problems).toEqual([]);
  });
});
