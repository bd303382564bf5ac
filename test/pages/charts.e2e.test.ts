// The charts of both consoles: they show the selected time range, say what is under the
// pointer and the arrow keys, and have a table of the same numbers.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectAccessible, expectFitsPhone } from '../console/looking.ts';
import { deepTest, drawn } from '../deep_test.ts';
import { charted, sampleNow } from './charted.ts';
import { emptyExample, type FakeRequest } from './fake_api.ts';
import { FakeConsole } from './fake_console.ts';

const day = 86_400;

describe('charts', { timeout: 120_000 }, () => {
  let t: FakeConsole;
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(async () => t?.stop());
  beforeEach(() => {
    t.recover();
    t.fake.answer(charted());
  });

  const page = () => t.visit.page;
  const chart = (title: string) => page().getByRole('slider', { name: title, exact: true });
  const tooltip = () => page().locator('.chart-tooltip');
  const crosshairs = () => page().locator('.chart-crosshair');
  const textOf = (title: string) => chart(title).getAttribute('aria-valuetext');
  const spanOf = ({ query }: FakeRequest) => Number(query.to) - Number(query.from);
  const histories = () =>
    t.fake.requests.filter(({ operation }) => operation === 'GET /admin/history');
  const isOf = (seconds: number) => (request: FakeRequest) =>
    request.operation === 'GET /admin/history' && spanOf(request) === seconds;

  test('the pointer shows a tooltip next to it, and a line in each chart of the page', async () => {
    await t.open('/operator?span=week');
    await chart('Throughput').hover({ position: { x: 300, y: 60 } });
    const bucket = (await textOf('Throughput')) ?? '';
    expect(bucket).toMatch(/^\w+, \d+ Dec 2026, \d\d:00–\d\d:00: Down .*bit\/s \(.* to .*\), Up /);
    await expect.poll(() => tooltip().textContent()).toContain(bucket.replace(/: Down.*/, ''));
    expect(await tooltip().count()).toBe(1);
    const sliders = await page().getByRole('slider').count();
    expect(await crosshairs().count()).toBe(sliders);
    expect(await textOf('Open connections')).toContain(bucket.replace(/: Down.*/, ''));
    const [box, at] = [await tooltip().boundingBox(), await chart('Throughput').boundingBox()];
    const distance = (box?.x ?? 0) - (at?.x ?? 0) - 300;
    expect(distance).toBeGreaterThan(0);
    expect(distance).toBeLessThan(40);
    await page().mouse.move(0, 0);
    await expect.poll(() => crosshairs().count()).toBe(0);
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('the arrow keys move from bucket to bucket, and Escape ends that', async () => {
    await t.open('/usage?span=week');
    const usage = chart('Usage over time');
    await usage.focus();
    const press = async (key: string) => {
      await page().keyboard.press(key);
      return await textOf('Usage over time');
    };
    expect(await press('End')).toMatch(/^Sat, 2 Jan 2027: .* in all: Down .*, Up /);
    expect(await press('ArrowLeft')).toMatch(/^Fri, 1 Jan 2027: /);
    expect(await press('Home')).toMatch(/^Sun, 27 Dec 2026: /);
    expect(await press('ArrowRight')).toMatch(/^Mon, 28 Dec 2026: /);
    expect(await tooltip().textContent()).toContain('Mon, 28 Dec 2026');
    expect(await press('Escape')).toMatch(/^Down: .* Up: /);
    expect(await tooltip().count()).toBe(0);
  });

  test('a table has the same numbers, and stays open when the page is loaded again', async () => {
    await t.open('/operator/usage?split=account');
    await page().getByText('Show as table').click();
    const table = page().getByRole('table', { name: 'Usage over time, UTC' });
    const [first] = await table.locator('tbody tr').all();
    const cells = (await first?.locator('td').allTextContents()) ?? [];
    const time = (await first?.locator('th').textContent()) ?? '';
    await chart('Usage over time').focus();
    await page().keyboard.press('End');
    while (!(await textOf('Usage over time'))?.startsWith(time))
      await page().keyboard.press('ArrowLeft');
    const words = (await textOf('Usage over time')) ?? '';
    for (const cell of cells) expect(words).toContain(cell);
    await t.load('/operator/usage?split=account&numbers=Usage+over+time');
    await table.waitFor();
  });

  deepTest('what is not known is a gap, not 0', async () => {
    const gap = (at: number) => at > sampleNow - 20 * 3600 && at < sampleNow - 10 * 3600;
    t.fake.answer(charted(gap));
    await t.open('/operator');
    const lines = chart('Throughput').locator('.chart-line').first();
    expect((await lines.getAttribute('d'))?.match(/M/g)).toHaveLength(2);
    await chart('Throughput').focus();
    for (const key of ['Home', 'PageUp', 'PageUp', 'PageUp']) await page().keyboard.press(key);
    expect(await textOf('Throughput')).toMatch(/: unknown$/);
  });

  deepTest(
    'a chart without marks has its axis, and says in words that there is nothing',
    async () => {
      const nothing = { up: 0, down: 0, total: 0 };
      t.fake.answer((of) => {
        const empty = emptyExample(of) as object;
        if (of.name === 'GET /admin/history') return { body: empty };
        return of.name === 'GET /console/usage' ? { body: { ...empty, ...nothing } } : undefined;
      });
      await t.open('/usage?span=month');
      const usage = chart('Usage over time');
      expect(await usage.textContent()).toContain('No traffic in this time range.');
      expect(await usage.locator('.chart-time').allTextContents()).toEqual([
        '7 Dec',
        '14 Dec',
        '21 Dec',
        '28 Dec',
      ]);
      await t.open('/operator');
      await t.visit.sees('No measurements in this time range.');
    },
  );

  test('a range of one’s own is the axis, is asked for, and is in the address', async () => {
    await t.open('/operator');
    await t.visit.field('Time range').selectOption('Custom range');
    await t.visit.field('First day').fill('2026-12-24');
    await t.visit.field('Last day').fill('2026-12-23');
    await t.visit.sees('The first day is after the last.');
    await t.visit.field('Last day').fill('2026-12-26');
    const request = await t.fake.next(isOf(3 * day));
    expect(new Date(Number(request?.query.from) * 1000).toISOString()).toBe(
      '2026-12-24T00:00:00.000Z',
    );
    await expect
      .poll(() => chart('Throughput').locator('.chart-time').first().textContent())
      .toBe('24 Dec');
    expect(page().url()).toMatch(/span=own&first=2026-12-24&last=2026-12-26/);
  });

  deepTest.each([
    ['/operator', 'Throughput'],
    ['/operator/usage', 'Usage over time'],
    ['/usage', 'Usage over time'],
  ])('%s compares with the period before, in a line and in words', async (path, title) => {
    await t.open(`${path}?span=week`);
    const dashed = chart(title).locator('.chart-line.dashed');
    await chart(title).waitFor();
    expect(await dashed.count()).toBe(0);
    await page().getByLabel('Compare with the previous period').check();
    await expect.poll(() => dashed.count()).toBeGreaterThan(0);
    await t.visit.sees(/\d% (more|less) than in the previous period|as in the previous period/);
    expect(page().url()).toContain('compare=yes');
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('a narrower chart asks for wider steps', async () => {
    const steps: number[] = [];
    for (const width of [1600, 390]) {
      await page().setViewportSize({ width, height: 800 });
      await t.load('/operator?span=month');
      await chart('Throughput').waitFor();
      steps.push(Number(histories().find(isOf(30 * day))?.query.step));
    }
    await page().setViewportSize({ width: 1280, height: 800 });
    expect(steps[1]).toBeGreaterThan(steps[0] ?? 0);
  });

  test.each(
    drawn(['/operator?span=month&compare=yes', '/operator/usage?split=server', '/usage', '/']),
  )('%s is accessible in both themes, with its tooltip, and fits a phone', async (path) => {
    await t.open(path);
    await page()
      .locator('.chart-box')
      .first()
      .hover({ position: { x: 200, y: 60 } });
    await tooltip().waitFor();
    await expectAccessible(t.visit, path);
    await expectFitsPhone(t.visit, path);
  });
});
