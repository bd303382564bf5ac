// Every page of both consoles, of a large account in a large network: at three widths, in both
// themes, in few bytes.
import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paths } from '../console/src/paths.ts';
import { addressesOfAccount, addressesOfOperator } from './console/addresses.ts';
import { account, Console, everything } from './console/console.ts';
import { layoutFaults } from './console/layout.ts';
import { faultsByAxe } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const size = { servers: 2247, nodes: 39, accounts: 300, records: 300 };
const entries = 99_999;
const maxBytes = 100_000;
/** The browser may have forgotten a body, and not say so. */
const answeringMs = 10_000;
/** Every request of a page is over by then. */
const readingMs = 120_000;

const server = 'us-0001';

describe('the pages of a large network', { timeout: 600_000 }, () => {
  let t: Console;
  let visit: Visit;
  let operator: Visit;
  beforeAll(async () => {
    t = await Console.start();
    t.fillAuthlist(entries);
    t.fillNetwork(size);
    visit = await t.visitAs(everything, paths.signIn);
    operator = await t.visitAtOperators();
    await operator.open('/');
    await operator.field('Operator token').fill(t.facts.admin_token);
    await operator.field('Stay signed in until this tab is closed').check();
    await operator.button('Sign in').click();
    await operator.heading('Overview').waitFor();
  });
  afterAll(() => t?.stop());

  async function bytesOf(request: Request): Promise<number> {
    const body = await (await request.response())?.body().catch(() => undefined);
    // The browser does not keep what is very long.
    return body?.length ?? (await request.sizes()).responseBodySize;
  }

  /** Opens the page, and says what its first view read of the API. */
  async function readBy(at: Visit, path: string): Promise<Array<{ url: string; bytes: number }>> {
    const read: Array<{ url: string; bytes: number }> = [];
    const waiting = new Set<Request>();
    const urlOf = (request: Request) => {
      const { pathname, search } = new URL(request.url());
      // The stream of events has no end.
      return /^\/(console|admin)\/(?!.*events$)/.test(pathname) ? pathname + search : undefined;
    };
    const begin = (request: Request) => void (urlOf(request) && waiting.add(request));
    const end = async (request: Request) => {
      const url = urlOf(request);
      if (!url) return;
      try {
        const bytes = await Promise.race([bytesOf(request), at.page.waitForTimeout(answeringMs)]);
        read.push({ url, bytes: bytes ?? 0 });
      } finally {
        waiting.delete(request);
      }
    };
    const fail = (request: Request) => void waiting.delete(request);
    // Whether requests of the page before end is not said.
    await at.page.goto('about:blank');
    at.page.on('request', begin).on('requestfinished', end).on('requestfailed', fail);
    await at.open(`/#${path}`);
    await at.page.getByRole('heading', { level: 1 }).waitFor();
    await at.settled();
    // One read can bring another.
    const began = performance.now();
    for (let quiet = 0; quiet < 3 && performance.now() - began < readingMs; quiet += 1) {
      if (waiting.size > 0) quiet = 0;
      await at.page.waitForTimeout(50);
    }
    expect.soft([...waiting].map(urlOf), path).toEqual([]);
    at.page.off('request', begin).off('requestfinished', end).off('requestfailed', fail);
    return read;
  }

  async function expectGood(at: Visit, path: string): Promise<void> {
    const reads = await readBy(at, path);
    const bytes = reads.reduce((sum, read) => sum + read.bytes, 0);
    const summary = `${path}: ${JSON.stringify(reads)}`;
    expect.soft(reads.length, path).toBeGreaterThan(0);
    expect.soft(bytes, summary).toBeLessThanOrEqual(maxBytes);
    expect.soft(await layoutFaults(at), path).toEqual([]);
    expect.soft(await faultsByAxe(at), path).toEqual([]);
    expect.soft(at.problems.splice(0), path).toEqual([]);
  }

  test.each(addressesOfAccount(server))(
    'an account’s page %s is whole at each width, in both themes, in few bytes',
    (path) => expectGood(visit, path),
  );

  test.each(addressesOfOperator(server))(
    'the operator’s page %s is whole at each width, in both themes, in few bytes',
    (path) => expectGood(operator, path),
  );

  test.each([account, 'customer-1'])(
    'each part of the account %s is, as operators see it',
    async (name) => {
      await operator.open(`/#${paths.operator.account(name)}`);
      const parts = operator.page.getByRole('navigation', { name: `Parts of ${name}` });
      await parts.waitFor();
      const links = await parts.getByRole('link').all();
      const targets = await Promise.all(links.map((link) => link.getAttribute('href')));
      expect(targets.length).toBeGreaterThan(5);
      for (const href of targets) await expectGood(operator, (href ?? '').replace('#', ''));
    },
  );

  test('the control: what is too wide, cut off, covered, too small or nameless is found', async () => {
    await operator.go(paths.operator.tokens);
    await operator.page.evaluate(`(() => {
      const box = document.querySelector('main').appendChild(document.createElement('div'));
      box.style.cssText = 'position: relative; inline-size: 100px; block-size: 60px; overflow: hidden';
      for (const [text, style] of [
        ['cut', 'left: 80px; width: 60px; height: 30px'],
        ['covered', 'left: 0; width: 60px; height: 30px'],
        ['covering', 'left: 10px; width: 60px; height: 30px'],
        ['small', 'left: 0; top: 40px; width: 10px; height: 10px; padding: 0; font-size: 1px'],
      ]) {
        const button = box.appendChild(document.createElement('button'));
        button.textContent = text;
        button.style.cssText = 'position: absolute; ' + style;
      }
      document.querySelector('main').appendChild(document.createElement('div')).style.cssText = 'inline-size: 2000px; block-size: 1px';
    })()`);
    const faults = (await layoutFaults(operator)).join('\n');
    for (const fault of [
      'the document is',
      'cut off by',
      'lies over',
      'too small for a finger',
      '1440, dark',
    ]) {
      expect(faults).toContain(fault);
    }
    // A row of many alike that is not like them.
    await operator.go(paths.operator.servers);
    await operator.page.locator('tbody tr').nth(80).waitFor();
    await operator.page.evaluate(
      `document.querySelectorAll('tbody tr')[80].lastElementChild.append(document.createElement('button'))`,
    );
    expect((await faultsByAxe(operator)).join('\n')).toMatch(/^button-name, light/);
  });
});
