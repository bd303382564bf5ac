// Every page of both consoles without a server: with the samples of the document, with empty lists,
// and when what it reads fails.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { moved, paths } from '../../console/src/paths.ts';
import { faultsByAxe } from '../console/looking.ts';
import { deepTest, drawn, isDrawnOf } from '../deep_test.ts';
import { emptyExample, extremeExample, refusal } from './fake_api.ts';
import { addresses, FakeConsole, isDrawn } from './fake_console.ts';

interface Row {
  heading: string;
  /** A text of its sample. */
  sample: string;
  /** A text that stands there when its lists are empty, where it has any. */
  empty?: string;
  /** The state in its address. */
  search?: string;
}

/** A page of an account has the same text below the account's own address for operators. */
const ofAccount = {
  servers: { sample: '6.44 GB', empty: 'No servers on' },
  users: { sample: 'Alice', empty: 'No users yet' },
  tokens: { sample: 'read-only', empty: 'No API tokens' },
  authlist: { sample: '203.0.113.7', empty: 'No addresses listed' },
  dns: { sample: 'exitward.example', empty: 'No hostnames overridden' },
  connections: { sample: '203.0.113.7', empty: 'No one is connected.' },
  refusals: { sample: '203.0.113.7', empty: 'Nothing refused lately' },
  usage: { sample: '159 kB', empty: 'No traffic in this period' },
  audit: { sample: 'API token default added', empty: 'No activity yet' },
} satisfies Record<string, Omit<Row, 'heading'>>;

const pages: Record<string, Row> = {
  '/': {
    heading: 'Overview',
    sample: '5.37 GB',
    empty: 'There are no servers on the contract yet',
  },
  '/servers': { heading: 'Servers', ...ofAccount.servers },
  ...Object.fromEntries(
    Object.entries({
      '': 'Settings to copy',
      '/exits': '203.0.113.7',
      '/connected': '203.0.113.7',
      '/usage': 'By day',
      '/test': 'From a shell',
    }).map(([tab, sample]) => [
      `/servers/fra1${tab}`,
      { heading: 'Frankfurt (fra1)', sample, empty: 'There is no server named fra1.' },
    ]),
  ),
  '/test': {
    heading: 'Connection test',
    sample: 'From a shell',
    empty: 'No server to test',
  },
  '/refusals': { heading: 'Refused lately', ...ofAccount.refusals },
  '/usage': { heading: 'Usage', ...ofAccount.usage },
  '/connections': { heading: 'Connected now', ...ofAccount.connections },
  '/authlist': { heading: 'IP authlist', ...ofAccount.authlist },
  '/dns': { heading: 'Custom DNS', ...ofAccount.dns },
  '/users': { heading: 'Users and tokens', ...ofAccount.users },
  '/users/alice': {
    heading: 'alice',
    sample: 'Alice',
    empty: 'No addresses on the authlist',
  },
  '/tokens': { heading: 'API tokens', ...ofAccount.tokens },
  '/activity': { heading: 'Activity', ...ofAccount.audit },
  '/sign-in': { heading: 'Your sign-in', sample: '203.0.113.7' },
  '/operator': { heading: 'Overview', sample: 'fra1-a on fra1', empty: 'Nothing needs attention' },
  '/operator/accounts': {
    heading: 'Accounts',
    sample: '5.37 GB',
    empty: 'No accounts yet',
  },
  '/operator/servers': {
    heading: 'Servers',
    sample: 'Frankfurt',
    empty: 'No servers yet',
  },
  '/operator/servers/fra1': {
    heading: 'fra1',
    sample: '203.0.113.7',
    empty: 'No exit IPs yet',
  },
  '/operator/nodes': { heading: 'Nodes', sample: 'fra1-a', empty: 'No nodes yet' },
  '/operator/nodes/1': {
    heading: 'fra1-a of fra1',
    sample: 'Open connections',
    empty: 'Node not found',
  },
  '/operator/addresses': {
    heading: 'Addresses',
    sample: 'alice',
    empty: 'No account lists',
    search: '?ip=203.0.113.7',
  },
  '/operator/exit-uses': { heading: 'Who used an exit', sample: 'Ask the nodes' },
  '/operator/connections': { heading: 'Connected now', ...ofAccount.connections },
  '/operator/test': {
    heading: 'Connection test',
    sample: 'Connection from',
    empty: 'No servers yet',
    search: '?server=fra1',
  },
  '/operator/refusals': { heading: 'Refused lately', ...ofAccount.refusals },
  '/operator/port-schemes': { heading: 'Port schemes', sample: 'from 10000' },
  '/operator/geo': { heading: 'Geo-IP', sample: '12 km', empty: 'No exit IP matches.' },
  '/operator/usage': { heading: 'Usage', sample: 'acme', empty: 'No accounts yet' },
  '/operator/audit': { heading: 'Audit log', ...ofAccount.audit },
  '/operator/tokens': { heading: 'Operator tokens', sample: 'acme', empty: 'No token matches.' },
  '/operator/control-plane': {
    heading: 'Control plane',
    sample: 'number of the latest change',
    empty: 'No geo-IP databases',
  },
  '/operator/accounts/acme': { heading: 'acme', sample: 'Billing period' },
  ...Object.fromEntries(
    Object.entries(ofAccount).map(([part, row]) => [
      `/operator/accounts/acme/${part}`,
      { heading: 'acme', ...row },
    ]),
  ),
};

describe('a page of the console', () => {
  let t: FakeConsole;
  beforeAll(async () => {
    t = await FakeConsole.start();
  });
  afterAll(() => t?.stop());
  beforeEach(() => t.startOver());

  const main = () => t.visit.page.locator('main');
  const sees = (text: string) => main().getByText(text).first().waitFor();

  /** The faults of a page whose reads have failed; `sentence`: what it is to say of that. */
  async function faultsOfFailure(sentence: string): Promise<string[]> {
    await t.tried();
    const isSaid = await main().getByText(sentence).first().isVisible();
    const name = (await t.visit.page.getByRole('heading', { level: 1 }).innerText()).trim();
    return [
      ...(isSaid ? [] : ['it does not say so']),
      ...(name === '' || name === 'Something went wrong' ? [`its name is "${name}"`] : []),
      ...t.takeFaults(),
    ];
  }

  /** Presses each button that offers another try. */
  async function tryAgain(): Promise<void> {
    const buttons = main().getByRole('button', { name: 'Try again' });
    // All at once: they go when they have helped.
    // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are unknown here.
    const pressed = await buttons.evaluateAll((all: any[]) => all.map((button) => button.click()));
    expect(pressed, 'buttons to try again').not.toEqual([]);
  }

  test('of the menu has its name there as its title, in the menu’s sections', async () => {
    for (const [first, sections] of [
      ['/', ['Proxies', 'Account']],
      ['/operator', ['Network', 'Customers', 'Look up', 'Settings']],
    ] as const) {
      await t.open(first);
      const menu = t.visit.page.getByRole('navigation', { name: 'Pages' });
      expect(await menu.locator('p').allInnerTexts()).toEqual(sections);
      for (const link of await menu.getByRole('link').all()) {
        await link.click();
        const name = (await link.innerText()).trim();
        await t.visit.heading(name).first().waitFor();
        expect(await t.visit.page.title()).toBe(`${name} · Exitward`);
      }
    }
    expect(t.takeFaults()).toEqual([]);
  });

  test('that moved is still found at its former address, with the state of its view', async () => {
    for (const [from, to] of Object.entries(moved)) {
      await t.open(`${from}?ip=203.0.113.7`);
      expect(t.visit.page.url()).toContain(`#${to}?ip=203.0.113.7`);
    }
    expect(t.takeFaults()).toEqual([]);
  });

  test('has a row here for each address of the console’s own table, and for each part of an account', async () => {
    expect(Object.keys(pages).sort()).toEqual([...addresses].sort());
    await t.open(paths.operator.account('acme'));
    const links = await main().getByRole('navigation').getByRole('link').all();
    const parts = await Promise.all(links.map((link) => link.getAttribute('href')));
    const accountPages = addresses.filter((address) =>
      address.startsWith(paths.operator.account('acme')),
    );
    expect(parts.map((href) => href?.replace('#', ''))).toEqual(accountPages);
  });

  describe.each(Object.entries(pages))('%s', (path, row) => {
    const { heading, sample, empty = '', search = '' } = row;
    let reads: string[];
    /** For a submission some pages are tried whole; all others by their sample and their faults. */
    const isWhole = isDrawn(path) && isDrawnOf(4, path);

    test('shows its name and its sample, and is accessible', async () => {
      await t.open(path + search);
      await sees(sample);
      expect(await t.visit.heading(heading).count()).toBeGreaterThan(0);
      reads = t.reads();
      expect(reads).not.toEqual([]);
      // Each page is looked at with its dialogs by the deep files of the real server, too.
      if (isWhole) {
        await t.does('unveil()');
        expect(await faultsByAxe(t.visit, 'light')).toEqual([]);
      }
      expect(t.takeFaults()).toEqual([]);
    });

    if (isWhole) {
      test('keeps what it shows when that cannot be read again, and says that it may be old', async () => {
        t.failReads(500);
        await t.fake.cutStreams();
        await sees('What you see may be out of date.');
        await t.tried();
        await sees(sample);
        expect(t.takeFaults()).toEqual([]);
      });
    }

    if (empty && isDrawn(path)) {
      test('says so when its lists are empty', async () => {
        t.fake.answer((operation) =>
          operation.method === 'GET' ? { body: emptyExample(operation) } : undefined,
        );
        await t.open(path + search);
        await sees(empty);
        expect(t.takeFaults()).toEqual([]);
      });
    }

    if (isWhole) {
      test.each(drawn([Number.MAX_SAFE_INTEGER, -1]))(
        'is shown when each number of its records is %d',
        async (number) => {
          t.fake.answer((operation) =>
            operation.method === 'GET' && !operation.isStream
              ? { body: extremeExample(operation, number), isUndocumented: true }
              : undefined,
          );
          await t.open(path + search);
          await t.visit.settled();
          expect(await t.visit.heading(heading).count()).toBeGreaterThan(0);
          expect(t.takeFaults()).toEqual([]);
        },
      );
    }

    test('says so when it cannot be read, and is read at the next try', async () => {
      t.failReads(500);
      await t.open(path + search);
      expect(await faultsOfFailure('Something went wrong on the server.')).toEqual([]);
      t.recover();
      await tryAgain();
      await sees(sample);
      expect(t.takeFaults()).toEqual([]);
    });

    if (isWhole) {
      test('goes on when one of its reads fails, and says so', async () => {
        const faults: Record<string, string[]> = {};
        for (const read of reads.length > 1 ? reads : []) {
          t.recover();
          t.failReads(503, read);
          await t.open(path + search);
          const missing = await faultsOfFailure(refusal(read, 503));
          if (missing.length > 0) faults[read] = missing;
        }
        expect(faults).toEqual({});
      });
    }
  });

  test('reads again by itself what fails for a moment, before it says so', async () => {
    const reads = () =>
      t.fake.requests.filter(({ operation }) => operation === 'GET /console/tokens');
    t.fake.answer(({ name }) =>
      name === 'GET /console/tokens' && reads().length < 5 ? { status: 503 } : undefined,
    );
    t.visit.mayBeUnreachable = true;
    await t.load('/tokens');
    await sees('read-only');
    expect(reads()).toHaveLength(5);
    expect(t.takeFaults()).toEqual([]);
  });

  deepTest('opens in a browser that stores nothing, because it blocks cookies', async () => {
    const page = await t.visit.context.newPage();
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage']) {
      const get = () => { throw new DOMException('Access is denied.', 'SecurityError'); };
      Object.defineProperty(window, name, { get });
    }`);
    await page.goto(`${t.visit.origin}/#/operator`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.close();
  });

  test.each([
    ['/', 'zebra'],
    ['/operator', '203.0.113.7'],
  ])('%s: the search says so of each list that it cannot read', async (path, text) => {
    await t.open(path);
    const dialog = t.visit.page.getByRole('dialog');
    const search = async () => {
      await t.age();
      await t.visit.page.keyboard.press('Control+k');
      await dialog.getByRole('combobox').fill(text);
      await t.tried();
    };
    await search();
    const reads = t.reads();
    expect(reads.length).toBeGreaterThan(1);
    for (const read of reads) {
      await t.visit.page.keyboard.press('Escape');
      // The keys that open it do nothing in a dialog that has yet to close.
      await dialog.waitFor({ state: 'hidden' });
      t.failReads(503, read);
      await search();
      await t.visit.sees(refusal(read, 503));
      t.recover();
    }
    expect(t.takeFaults()).toEqual([]);
  });

  describe('the control', () => {
    test('a page that throws, and one that says nothing of what failed, are found', async () => {
      t.fake.answer(({ name }) => (name === 'GET /console/tokens' ? { body: [null] } : undefined));
      await t.open('/tokens');
      expect((await faultsOfFailure('The fake answers')).join('\n')).toMatch(
        /does not say so.*Something went wrong.*TypeError.*not the documented shape/s,
      );
      t.recover();
      await t.open('/tokens');
      await t.visit.page.evaluate("Promise.reject(new Error('nobody catches it')); undefined");
      await expect.poll(() => t.takeFaults().join()).toContain('nobody catches it');
    });
  });
});
