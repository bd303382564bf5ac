// Every list of both consoles: to sort, to filter and to go on to the next page asks the API for
// just that.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deepTest, isDrawnOf } from '../deep_test.ts';
import type { FakeRequest } from './fake_api.ts';
import { addresses, FakeConsole, isDrawn } from './fake_console.ts';

const tried = addresses.filter((path) => isDrawn(path) && isDrawnOf(2, path));

describe('the lists of the console', () => {
  let t: FakeConsole;
  let controls = 0;
  let readings = 1;
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(() => t.startOver());

  /** The last request of this kind that the page makes by this. */
  async function requestOf(does: () => Promise<unknown>, is: (of: FakeRequest) => boolean) {
    t.fake.requests.length = 0;
    await does();
    controls += 1;
    await t.does('settled()');
    return t.fake.requests.findLast(is);
  }

  /** The requests of each order and filter of the page, where they are wrong. */
  async function faultsOfControls(): Promise<string[]> {
    const faults: string[] = [];
    const { page } = t.visit;
    // An order that the page began with was read already.
    const usual = page.locator('main th[aria-sort] .sort-button:visible');
    const [first = ''] = await usual.allInnerTexts();
    for (const heading of await page.locator('main .sort-button:visible').all()) {
      const name = await heading.innerText();
      const request = await requestOf(
        () => heading.click(),
        ({ query }) => query.sort !== undefined,
      );
      if (!request && !page.url().includes('sort=') && name !== first) {
        faults.push(`sorts by ${name} without asking`);
      }
      const column = page.locator('th[aria-sort]').filter({ hasText: name });
      if ((await column.count()) === 0) faults.push(`does not mark ${name}`);
    }
    for (const select of await page.locator('main :is(.filters, .split) select').all()) {
      const [name, values] = await select.evaluate(
        // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are unknown here.
        (select: any) =>
          [select.name, [...select.options].map(({ value }) => value)] as [string, string[]],
      );
      const value = values.at(-1) ?? '';
      if (value === '') continue;
      let isAsked: FakeRequest | undefined;
      const silent = await t.silentReads(async () => {
        isAsked = await requestOf(
          () => select.selectOption(value),
          ({ query }) => Object.values(query).includes(value) || query.ends_before !== undefined,
        );
      });
      faults.push(...silent);
      if (!isAsked && !(await hasAddress(value))) faults.push(`filters by ${name} without asking`);
    }
    const search = page.locator('main .filters input[name=search]');
    if ((await search.count()) > 0) {
      const isAsked = await requestOf(
        () => search.fill('zebra'),
        ({ query }) => query.search === 'zebra',
      );
      if (!isAsked && !(await hasAddress('zebra'))) faults.push('searches without asking');
    }
    // One at a time: moving to the next field commits the text.
    const fields = await page.locator('main input:is([type=search], [type=text])').all();
    const names = await Promise.all(fields.map((field) => field.getAttribute('name')));
    for (const name of names) {
      // By its name: with a longer list a select becomes such a field.
      const field = page.locator(`main input[name="${name}"]`);
      await field.fill('typed');
      await readAgain();
      if ((await field.inputValue()) !== 'typed') faults.push(`loses what is typed into ${name}`);
    }
    return faults;
  }

  /**
   * As after a change by another user: each list on the page is read again, and is longer than
   * before.
   */
  async function readAgain(): Promise<void> {
    readings += 1;
    t.fake.answer(({ method, example }) => {
      if (method !== 'GET' || !Array.isArray(example)) return undefined;
      return { body: Array.from({ length: readings }, () => example).flat() };
    });
    await t.does('readAgain()');
  }

  /** Lists that are read whole are filtered by the page itself: the address has it. */
  const hasAddress = async (value: string) =>
    [...new URLSearchParams(t.visit.page.url().split('?').at(-1)).values()].includes(value);

  test.each(tried)('of %s are sorted and filtered by the API', async (path) => {
    await t.open(path);
    expect([...(await faultsOfControls()), ...t.takeFaults()]).toEqual([]);
  });

  test('of usage say so when the days of several servers cannot be read', async () => {
    const day = 1_798_761_600;
    const counted = { hour: day, day, user: 'alice', up: 1, down: 2, total: 3 };
    t.setFields({ rows: ['fra1', 'lon1'].map((server) => ({ ...counted, server })) });
    await t.open('/usage');
    const silent = await t.silentReads(() => t.visit.field('Split by').selectOption('server'));
    expect([...silent, ...t.takeFaults()]).toEqual([]);
  });

  test.each(tried)('of %s go on to the next page of what was asked for', async (path) => {
    const pages = new Set<string>();
    t.fake.answer(({ name, method, path }, { query }) => {
      if (method !== 'GET' || query.limit === undefined || query.after) return undefined;
      pages.add(name);
      const next = new URLSearchParams({ ...query, after: 'fake' });
      const counts = { 'exitward-total': '2', 'exitward-found': '2' };
      return { headers: { link: `<${path}?${next}>; rel="next"`, ...counts } };
    });
    await t.open(path);
    for (const more of await t.visit.button('Show more').all()) {
      const request = await requestOf(
        () => more.click(),
        ({ query }) => query.after !== undefined,
      );
      expect(request?.query.limit).toMatch(/^\d+$/);
      expect(pages).toContain(request?.operation);
    }
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('are many', () => expect(controls).toBeGreaterThan(60));
});
