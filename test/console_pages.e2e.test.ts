// Every page of both consoles, of a large account in a large network: at three widths, in both themes, in few bytes.
import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paths } from '../console/src/paths.ts';
import { addressesOfAccount, addressesOfOperator } from './console/addresses.ts';
import { account, Console, everything } from './console/console.ts';
import { layoutFaults } from './console/layout.ts';
import { expectAccessible } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const size = { servers: 2247, nodes: 39, accounts: 300, records: 300 };
const entries = 99_999;
const most_bytes = 100_000;

/** Pages that still read a whole list, and take more than `most_bytes`. Whoever mends one takes it out: a page that is here without need fails, too. */
const readsWholeLists: string[] = [];

const server = 'us-0001';

describe('the pages of a large network', { timeout: 240_000 }, () => {
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
    await operator.field(/keep it/i).check();
    await operator.button('Sign in').click();
    await operator.heading('Overview').waitFor();
  }, 120_000);
  afterAll(async () => {
    await visit?.end();
    await operator?.end();
    await t?.stop();
  });

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
      const body = await (await request.response())?.body().catch(() => undefined);
      // The browser does not keep what is very long.
      const bytes = body?.length ?? (await request.sizes()).responseBodySize;
      read.push({ url, bytes });
      waiting.delete(request);
    };
    const fail = (request: Request) => void waiting.delete(request);
    at.page.on('request', begin).on('requestfinished', end).on('requestfailed', fail);
    await at.open(`/#${path}`);
    await at.page.getByRole('heading', { level: 1 }).waitFor();
    await at.settled();
    // One read can bring another.
    for (let quiet = 0; quiet < 3; quiet += 1) {
      if (waiting.size > 0) quiet = 0;
      await at.page.waitForTimeout(50);
    }
    at.page.off('request', begin).off('requestfinished', end).off('requestfailed', fail);
    return read;
  }

  async function expectGood(at: Visit, path: string): Promise<void> {
    const of = await readBy(at, path);
    const bytes = of.reduce((sum, one) => sum + one.bytes, 0);
    const isLong = bytes > most_bytes;
    expect
      .soft(
        isLong,
        `${path} read ${bytes} bytes: ${of.map((one) => `${one.url} ${one.bytes}`).join(', ')}`,
      )
      .toBe(readsWholeLists.includes(path));
    expect.soft(await layoutFaults(at), path).toEqual([]);
    await expectAccessible(at, path);
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
      const found = (await parts
        .getByRole('link')
        .evaluateAll((links) =>
          links.map((link) => (link as never as Element).getAttribute('href')),
        )) as string[];
      expect(found.length).toBeGreaterThan(5);
      for (const href of found) await expectGood(operator, href.replace('#', ''));
    },
  );
});
