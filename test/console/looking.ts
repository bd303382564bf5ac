// How a page of the console is looked at: by axe in both themes, on a phone, and by keyboard alone.
import axe from 'axe-core';
import { expect } from 'vitest';
import type { Visit } from './visit.ts';

/** A place that breaks a rule of axe. */
interface Found {
  id: string;
  html: string;
  failureSummary: string;
}

const of = (type: 'tag' | 'rule', values: string[]) => ({ runOnly: { type, values } });
/** Only colours differ between the themes. */
const themes = [
  ['light', of('tag', ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])],
  ['dark', of('rule', ['color-contrast', 'link-in-text-block'])],
] as const;

/**
 * Marks the rows and places in menus of which there are two already, except their words: what holds
 * of those holds of all. It takes axe most of its time to look at a hundred alike.
 */
const markAlike = `(() => {
  const seen = new Map();
  for (const row of document.querySelectorAll('tbody tr, nav li')) {
    const kind = row.outerHTML.replace(/>[^<]+/g, '>').replace(/ (?!class|role|disabled|checked)[\\w-]+="[^"]*"/g, '');
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    row.toggleAttribute('data-alike', seen.get(kind) > 2);
  }
})()`;

/**
 * The faults that axe finds in the page as it is now, in light and dark, or in one of them. Rows of
 * an earlier question are pale, until the answer is there.
 */
export async function faultsByAxe({ page }: Visit, only?: 'light' | 'dark'): Promise<string[]> {
  const pale = page.locator('.paged-table[aria-busy="true"], .usage.stale');
  await expect.poll(() => pale.count(), { message: 'pale rows' }).toBe(0);
  const faults: string[] = [];
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source);
  await page.evaluate(markAlike);
  for (const [colorScheme, rules] of themes.filter(([name]) => !only || name === only)) {
    await page.emulateMedia({ colorScheme });
    // The faults alone leave the page: to take along all that axe has passed costs several times
    // its own work.
    const options = JSON.stringify({ ...rules, resultTypes: ['violations'] });
    const violations =
      (await page.evaluate(`axe.run({ exclude: '[data-alike]' }, ${options}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => ({ id, html, failureSummary }))))`)) as Found[];
    for (const { id, html, failureSummary } of violations) {
      faults.push(`${id}, ${colorScheme}: ${html.slice(0, 200)}\n${failureSummary}`);
    }
  }
  return faults;
}

export async function expectAccessible(visit: Visit, what: string): Promise<void> {
  expect(await faultsByAxe(visit), what).toEqual([]);
}

/** On a phone nothing makes the page wider than it is. */
export async function expectFitsPhone(visit: Visit, what: string): Promise<void> {
  const before = visit.page.viewportSize();
  await visit.page.setViewportSize({ width: 360, height: 780 });
  const tooWide = () =>
    visit.page.evaluate(`(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    return [...document.querySelectorAll('main *')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
      .slice(0, 5)
      .map((element) => element.outerHTML.slice(0, 120));
  })()`);
  // A chart is drawn again once it has its new width.
  await expect.poll(tooWide, { message: `${what} on a phone` }).toEqual([]);
  if (before) await visit.page.setViewportSize(before);
}

/** Presses Tab until this has the focus, which must be seen. */
export async function tabTo(visit: Visit, name: string): Promise<void> {
  for (let presses = 0; presses < 150; presses++) {
    await visit.page.keyboard.press('Tab');
    const focused = (await visit.page.evaluate(`(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return { name: element.getAttribute('aria-label') ?? element.innerText?.trim() ?? '', isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' };
    })()`)) as { name: string; isSeen: boolean };
    if (focused.name !== name) continue;
    expect(focused, `the focus on ${name}`).toMatchObject({ isSeen: true });
    return;
  }
  throw new Error(`Tab does not reach "${name}".`);
}
