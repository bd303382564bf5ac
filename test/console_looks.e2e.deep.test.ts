// Every page and dialog of the console: for readers of both themes, on a phone, by keyboard, and
// within its content policy.
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, everything } from './console/console.ts';
import { expectAccessible, expectFitsPhone, faultsByAxe, tabTo } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

/** Pages with what opens their dialogs. */
const pages: Array<
  [path: string, heading: string, dialogs: Array<(visit: Visit) => Promise<unknown>>]
> = [
  ['/', 'Overview', []],
  [
    '/servers',
    'Servers',
    [
      (visit) =>
        visit
          .button(/^Remove \S+ from the contract$/)
          .first()
          .click(),
    ],
  ],
  ['/servers/aar1', 'Aarhus (aar1)', [(visit) => visit.button(/^Add \d/).click()]],
  ['/usage', 'Usage', []],
  [
    '/authlist',
    'IP authlist',
    [
      (visit) => visit.button('Add an address').click(),
      (visit) =>
        visit
          .button(/^Change /)
          .first()
          .click(),
      (visit) =>
        visit
          .button(/^Remove \d/)
          .first()
          .click(),
      (visit) => visit.button('Remove all …').click(),
    ],
  ],
  [
    '/dns',
    'Custom DNS',
    [
      (visit) => visit.button('Add an entry').click(),
      (visit) => visit.button('Remove all …').click(),
    ],
  ],
  [
    '/users',
    'Users and tokens',
    [
      (visit) => visit.button('Add a user').click(),
      (visit) => visit.button('New token for proxy').click(),
      ...['Change', 'Invite to sign in', 'Invalidate all tokens', 'Reset the sign-in'].map(
        (action) => async (visit: Visit) => {
          await visit.button(`More for ${everything}`).click();
          await visit.page.getByRole('menuitem', { name: action }).click();
        },
      ),
    ],
  ],
  [
    '/tokens',
    'API tokens',
    [
      (visit) => visit.button('New API token').click(),
      (visit) =>
        visit
          .button(/^View /)
          .first()
          .click(),
      (visit) =>
        visit
          .button(/^Revoke /)
          .first()
          .click(),
    ],
  ],
  ['/activity', 'Activity', []],
  [
    '/sign-in',
    'Your sign-in',
    [
      (visit) => visit.button('Change the password').click(),
      (visit) => visit.button('Set it up').click(),
    ],
  ],
  ['/nowhere', 'Page not found', []],
];

describe('the looks of the console', { timeout: 360_000 }, () => {
  let t: Console;
  let visit: Visit;
  beforeAll(async () => {
    t = await Console.start();
    await t.passwordFor(everything);
    visit = await t.visitAs(everything);
  });
  afterAll(() => t?.stop());

  test.each(pages)(
    'the page %s is accessible in both themes, also with its dialogs open',
    async (path, heading, dialogs) => {
      await visit.go(path);
      await visit.heading(heading).waitFor();
      await visit.settled();
      await expectAccessible(visit, path);
      for (const open of dialogs) {
        await open(visit);
        const dialog = visit.page.getByRole('dialog');
        await dialog.waitFor();
        const title = (await dialog.getByRole('heading').first().textContent()) ?? '';
        await visit.settled();
        await expectAccessible(visit, `${path}: ${title}`);
        await expectFitsPhone(visit, `${path}: ${title}`);
        await visit.page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      }
    },
  );

  test('no page is wider than a phone', async () => {
    for (const [path] of pages) {
      await visit.go(path);
      await expectFitsPhone(visit, path);
    }
  });

  test('pages for those who are not signed in are accessible, and fit a phone', async () => {
    const other = await t.visit();
    for (const [path, heading] of [
      ['/', 'Sign in'],
      [await t.invite('proxy'), 'Set your password'],
      ['/#/enter/ewl_used-up', 'Sign in'],
    ] as const) {
      await other.open(path);
      await other.heading(heading).waitFor();
      await other.settled();
      await expectAccessible(other, heading);
      await expectFitsPhone(other, heading);
    }
    expect(other.problems).toEqual([]);
    await other.end();
  });

  test('a phone’s menu opens, leads to a page and closes; Escape closes it, too', async () => {
    const phone = await t.visitAs(everything, '/', { viewport: { width: 390, height: 844 } });
    const { keyboard } = phone.page;
    const menu = phone.button('Menu');
    const place = phone.page.getByRole('navigation').getByRole('link', { name: 'Custom DNS' });
    expect(await place.isVisible()).toBe(false);
    await menu.click();
    await place.waitFor();
    expect(await menu.getAttribute('aria-expanded')).toBe('true');
    await expectAccessible(phone, 'the menu of a phone');
    await keyboard.press('Escape');
    await place.waitFor({ state: 'hidden' });
    expect(await isFocused(menu)).toBe(true);
    await menu.click();
    await place.click();
    await phone.heading('Custom DNS').waitFor();
    await place.waitFor({ state: 'hidden' });
    expect(phone.problems).toEqual([]);
    await phone.end();
  });

  const isFocused = async (locator: Locator) =>
    (await locator.and(locator.page().locator(':focus')).count()) === 1;

  test('everything is reached by keyboard: an address is added and removed without a mouse', async () => {
    const { keyboard } = visit.page;
    await visit.open('/#/authlist');
    await visit.heading('IP authlist').waitFor();
    await visit.settled();
    await keyboard.press('Tab');
    await tabTo(visit, 'Add an address');
    const opener = visit.button('Add an address');
    await keyboard.press('Enter');
    const dialog = visit.dialog('Add an address');
    await expect.poll(() => isFocused(visit.field('Address'))).toBe(true);
    // The focus stays within, however often Tab is pressed.
    for (let presses = 0; presses < 12; presses++) {
      await keyboard.press('Tab');
      const isOutside = await visit.page.evaluate(
        "document.hasFocus() && document.activeElement !== document.body && !document.activeElement.closest('dialog')",
      );
      expect(isOutside).toBe(false);
    }
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await isFocused(opener)).toBe(true);

    await keyboard.press('Enter');
    await expect.poll(() => isFocused(visit.field('Address'))).toBe(true);
    await keyboard.type('198.51.100.9');
    await keyboard.press('Enter');
    await visit.row('198.51.100.9').waitFor();
    await expect.poll(() => isFocused(opener)).toBe(true);
    await tabTo(visit, 'Remove 198.51.100.9');
    await keyboard.press('Enter');
    await visit.dialog('Remove 198.51.100.9?').waitFor();
    await tabTo(visit, 'Remove entry');
    await keyboard.press('Enter');
    await visit.row('198.51.100.9').waitFor({ state: 'detached' });
    // The row had the focus, and is gone: the page's name has it, and the next Tab leads on.
    const heading = visit.heading('IP authlist');
    await expect.poll(() => isFocused(heading)).toBe(true);
    // The message of the adding, which can no longer be taken back, has gone, too.
    expect(await visit.button('Undo').count()).toBe(1);
    await tabTo(visit, 'Undo');
    await keyboard.press('Enter');
    await visit.row('198.51.100.9').waitFor();
    await expect.poll(() => isFocused(heading)).toBe(true);
  });

  test('the first Tab offers to skip the menu, and a page that is entered takes the focus', async () => {
    await visit.open('/#/users');
    await visit.heading('Users and tokens').waitFor();
    await visit.page.keyboard.press('Tab');
    const skip = visit.button('Skip to content');
    expect(await isFocused(skip)).toBe(true);
    await visit.page.keyboard.press('Enter');
    expect(await isFocused(visit.heading('Users and tokens'))).toBe(true);
    await visit.link('Activity').click();
    await visit.heading('Activity').waitFor();
    await expect.poll(() => isFocused(visit.heading('Activity'))).toBe(true);
    expect(await visit.page.title()).toBe('Activity · Exitward');
  });

  test('light or dark is as the system has it, unless the reader chooses, and stays so', async () => {
    const background = () =>
      visit.page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    await visit.page.emulateMedia({ colorScheme: 'dark' });
    const dark = await background();
    await visit.page.emulateMedia({ colorScheme: 'light' });
    const light = await background();
    expect(light).not.toBe(dark);
    await visit.button('Theme: system').click();
    await visit.button('Theme: light').click();
    await visit.button('Theme: dark').waitFor();
    expect(await background()).toBe(dark);
    await visit.open('/');
    await visit.heading('Overview').waitFor();
    expect(await background()).toBe(dark);
    await visit.button('Theme: dark').click();
    expect(await background()).toBe(light);
  });

  test('all text is in one typeface of the server’s own, with three weights at most', async () => {
    const weights = new Set<string>();
    for (const [path] of pages) {
      await visit.go(path);
      await visit.settled();
      const fonts = (await visit.page.evaluate(`document.fonts.ready.then((fonts) => ({
        isLoaded: [...fonts].some(({ family, status }) => family === 'Geist' && status === 'loaded'),
        families: [...new Set([...document.querySelectorAll('body *')].map((element) => getComputedStyle(element).fontFamily.split(',')[0]))],
        weights: [...new Set([...document.querySelectorAll('body *')].map((element) => getComputedStyle(element).fontWeight))],
      }))`)) as { isLoaded: boolean; families: string[]; weights: string[] };
      expect(fonts.isLoaded, path).toBe(true);
      expect(['Geist', 'ui-monospace']).toEqual(expect.arrayContaining(fonts.families));
      for (const weight of fonts.weights) weights.add(weight);
    }
    expect(weights.size, [...weights].join(', ')).toBeLessThanOrEqual(3);
  });

  test('on paper there is the page alone, in light colours', async () => {
    await visit.go('/users');
    await visit.settled();
    const { page } = visit;
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await visit.button('Add a user').isVisible()).toBe(false);
    expect(await visit.row('proxy-billing-admin').isVisible()).toBe(true);
    const colours = 'const { backgroundColor, color } = getComputedStyle(document.documentElement)';
    expect(await page.evaluate(`(() => { ${colours}; return backgroundColor })()`)).toBe(
      'rgb(255, 255, 255)',
    );
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
  });

  test('the control: what axe is there to find is found', async () => {
    await visit.go('/');
    await visit.page.evaluate(`(() => {
      const add = (name, properties) => Object.assign(document.querySelector('main').appendChild(document.createElement(name)), properties);
      add('img', { src: '/icon.svg' });
      add('p', { textContent: 'Hard to read' }).style.color = 'light-dark(#ddd, #333)';
    })()`);
    const faults = await faultsByAxe(visit);
    expect(faults.map((fault) => fault.replace(/:.*/s, '')).sort()).toEqual([
      'color-contrast, dark',
      'color-contrast, light',
      'image-alt, light',
    ]);
    await visit.open('/');
  });

  test('no page asked another host, or broke the content policy', () => {
    expect(visit.problems).toEqual([]);
  });

  test('the control: a script, a style and an image of elsewhere are refused, and reported', async () => {
    const other = await t.visit();
    await other.open('/');
    await other.heading('Sign in').waitFor();
    await other.page.evaluate(`(() => {
      const add = (name, properties) => document.body.append(Object.assign(document.createElement(name), properties));
      add('img', { src: 'http://127.0.0.1:9/a.png' });
      add('style', { textContent: 'body { display: none }' });
      try { add('script', { textContent: 'window.ran = true' }); } catch {}
      try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); } catch {}
    })()`);
    for (const directive of ['img-src', 'style-src', 'require-trusted-types-for']) {
      await expect.poll(() => other.problems.join('\n')).toContain(directive);
    }
    expect(await other.page.evaluate('window.ran')).toBeUndefined();
    await other.end();
  });
});
