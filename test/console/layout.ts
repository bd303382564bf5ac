// Faults of a page's layout that the browser can see: at three widths, in both themes, without
// loading it again.
import type { Visit } from './visit.ts';

const widths = [
  { width: 390, height: 844 },
  { width: 1024, height: 768 },
  { width: 1440, height: 900 },
];
/** CSS pixels, each way: the smallest target of WCAG 2.2, AA. */
const smallestTarget = 24;
/** Of a table on a desk: its entries are one line each. */
const tallestRow = 37;
/** Resolves when what follows the size of the window has followed. */
const followed =
  'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))';

/**
 * Runs in the page. Of all that can be seen: nothing makes the document wider than the window,
 * controls and heads hold their own text, nothing is cut off by an ancestor that does not scroll,
 * and no control lies over another.
 */
const findFaults = (isPhone: boolean) => `(() => {
  const faults = [];
  const name = (element) => {
    const text = (element.getAttribute('aria-label') ?? element.innerText ?? '').trim().slice(0, 40);
    const classes = element.getAttribute('class');
    return element.localName + (classes ? '.' + classes.split(' ').join('.') : '') + ' "' + text + '"';
  };
  const add = (what, element) => faults.push(what + ': ' + name(element));
  const style = new Map();
  const of = (element) => style.get(element) ?? style.set(element, getComputedStyle(element)).get(element);
  // Chosen by its label, or read out alone.
  const isSeen = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((element) => isSeen(element) && element.getBoundingClientRect().right > innerWidth + 1);
    faults.push('the document is ' + document.documentElement.scrollWidth + ' wide: ' + wide.slice(-3).map(name).join(', '));
  }
  const h1 = document.querySelector('h1');
  if (!h1 || !isSeen(h1) || h1.getBoundingClientRect().bottom > innerHeight) faults.push('the h1 is not in sight');

  const controls = [...document.querySelectorAll('button, a[href], input, select, textarea, summary')].filter(isSeen);
  const heads = [...document.querySelectorAll('th, h1, h2, h3, dt, .badge')].filter(isSeen);
  const isEllipsis = (element) => of(element).textOverflow === 'ellipsis';
  for (const element of [...controls, ...heads]) {
    const isText = ['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName);
    // A mark on a map is as large as its ring.
    if (!isText && !element.matches('.visually-hidden, .place') && !isEllipsis(element) && of(element).display !== 'inline' && element.scrollWidth > element.clientWidth + 1) add('text runs over its edge', element);
    const own = element.getBoundingClientRect();
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      const { overflowX, position } = of(at);
      if (overflowX === 'auto' || overflowX === 'scroll') break;
      if (overflowX === 'visible' || isEllipsis(at)) { if (position === 'fixed') break; continue; }
      const edge = at.getBoundingClientRect();
      if (own.right > edge.right + 1 || own.left < edge.left - 1) add('cut off by ' + name(at), element);
      break;
    }
  }
  const boxes = controls
    // Marks on a map are round, and larger where a finger points.
    .filter((element) => of(element).display !== 'inline' && !element.matches('.place'))
    .map((element) => ({ element, box: element.getBoundingClientRect() }))
    .sort((a, b) => a.box.top - b.box.top);
  for (const [at, { element, box }] of boxes.entries()) {
    for (let next = at + 1; next < boxes.length && boxes[next].box.top < box.bottom - 2; next++) {
      const other = boxes[next];
      if (element.contains(other.element) || other.element.contains(element)) continue;
      if (other.box.left < box.right - 2 && other.box.right > box.left + 2) {
        // Bars that stay in sight lie over what scrolls away beneath them.
        const at = document.elementFromPoint((Math.max(box.left, other.box.left) + Math.min(box.right, other.box.right)) / 2, (other.box.top + Math.min(box.bottom, other.box.bottom)) / 2);
        if (at && (element.contains(at) || other.element.contains(at))) add('lies over ' + name(other.element), element);
      }
    }
    if (${isPhone} && Math.min(box.width, box.height) < ${smallestTarget} && !element.labels?.length) {
      add('too small for a finger (' + Math.round(box.width) + ' × ' + Math.round(box.height) + ')', element);
    }
  }
  if (!${isPhone}) {
    for (const element of document.querySelectorAll('.table.compact tbody tr')) {
      const { height } = element.getBoundingClientRect();
      if (isSeen(element) && height > ${tallestRow}) { add('a row is ' + Math.round(height) + ' high', element); break; }
    }
  }
  return [...new Set(faults)].slice(0, 12);
})()`;

/**
 * The faults of the page as it is, each with the width and theme; it ends at the size that it had.
 */
export async function layoutFaults({ page }: Visit): Promise<string[]> {
  const before = page.viewportSize();
  const faults = new Set<string>();
  for (const size of widths) {
    await page.setViewportSize(size);
    await page.evaluate(followed);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const shown = (await page.evaluate(findFaults(size.width < 600))) as string[];
      for (const fault of shown) faults.add(`${size.width}, ${colorScheme}: ${fault}`);
    }
  }
  if (before) await page.setViewportSize(before);
  return [...faults];
}
