// Every page of both consoles, of a large account in a large network: at three widths, in both themes, in few bytes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paths } from '../console/src/paths.ts';
import { account, Console, everything } from './console/console.ts';
import { layoutFaults } from './console/layout.ts';
import { expectAccessible } from './console/looking.ts';
import type { Visit } from './console/visit.ts';

const size = { servers: 2247, nodes: 39, accounts: 300, records: 300 };
const entries = 99_999;
const most_bytes = 100_000;

/** Pages that still read a whole list, and take more than `most_bytes`. Whoever mends one takes it out: a page that is here without need fails, too. */
const readsWholeLists: string[] = [];

type Functions<T> = { [K in keyof T as T[K] extends string | object ? (T[K] extends (...args: never) => string ? K : never) : never]: string[] };

const { operator: ofOperator, ...ofAccount } = paths;
/** The pages with a name in their address, as addresses. One-time links are for people who are not signed in: their pages have a test of their own. */
const named = { server: [paths.server('us-0001')], invite: [], enter: [] } satisfies Functions<
  typeof ofAccount
>;
const namedOfOperator = {
  // Its parts are found in its menu.
  account: [],
  server: [ofOperator.server('us-0001')],
  node: [ofOperator.node(1)],
} satisfies Functions<typeof ofOperator>;

/** The addresses of a table of paths: a page that is added is among them, or has to be named. */
function addresses(table: object, functions: Record<string, string[]>): string[] {
  return Object.entries(table).flatMap(([name, path]) => {
    if (typeof path === 'string') return [path];
    const found = functions[name];
    if (!found) throw new Error(`The page "${name}" has no example of its address.`);
    return found;
  });
}

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

  /** Opens the page, and says how many bytes of the API its first view took. */
  async function bytesOf(at: Visit, path: string): Promise<number> {
    const reads: Array<Promise<number>> = [];
    const note = (response: Awaited<ReturnType<Visit['page']['waitForResponse']>>) => {
      const { pathname } = new URL(response.url());
      if (!/^\/(console|admin)\//.test(pathname) || pathname.endsWith('/events')) return;
      reads.push(response.body().then((body) => body.length, () => 0));
    };
    at.page.on('response', note);
    await at.open(`/#${path}`);
    await at.page.getByRole('heading', { level: 1 }).waitFor();
    await at.settled();
    await at.page.evaluate('document.fonts.ready.then(() => 1)');
    const sizes = await Promise.all(reads);
    at.page.off('response', note);
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  async function expectGood(at: Visit, path: string): Promise<void> {
    const bytes = await bytesOf(at, path);
    const isLong = bytes > most_bytes;
    expect.soft(isLong, `${path} read ${bytes} bytes`).toBe(readsWholeLists.includes(path));
    expect.soft(await layoutFaults(at), path).toEqual([]);
    await expectAccessible(at, path);
    expect.soft(at.problems.splice(0), path).toEqual([]);
  }

  test.each(addresses(ofAccount, named))(
    'an account’s page %s is whole at each width, in both themes, in few bytes',
    (path) => expectGood(visit, path),
  );

  test.each(addresses(ofOperator, namedOfOperator))(
    'the operator’s page %s is whole at each width, in both themes, in few bytes',
    (path) => expectGood(operator, path),
  );

  test.each([account, 'customer-1'])(
    'each part of the account %s is, as operators see it',
    async (name) => {
      await operator.open(`/#${ofOperator.account(name)}`);
      const parts = operator.page.getByRole('navigation', { name: `Parts of ${name}` });
      await parts.waitFor();
      const found = (await parts
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => (link as never as Element).getAttribute('href')))) as string[];
      expect(found.length).toBeGreaterThan(5);
      for (const href of found) await expectGood(operator, href.replace('#', ''));
    },
  );
});
