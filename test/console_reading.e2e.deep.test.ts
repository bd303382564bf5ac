// The requests that pages of the console make: each thing once at the opening, and after a change
// only what shows it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltAccount } from '../server/test/builders.ts';
import { startTestApp, type TestApp } from '../server/test/harness.ts';
import { connectBrowser } from './browser.ts';
import { buildConsole } from './console/console.ts';
import { Visit } from './console/visit.ts';

const entries = 100_000;

/** The requests of a page below /console and /admin, and the bytes that all of them took. */
class Traffic {
  readonly asked: string[] = [];
  bytes = 0;

  static async of(visit: Visit): Promise<Traffic> {
    const traffic = new Traffic();
    const cdp: CDPSession = await visit.context.newCDPSession(visit.page);
    await cdp.send('Network.enable');
    cdp.on('Network.requestWillBeSent', ({ request }) => {
      const { pathname, search } = new URL(request.url);
      if (/^\/(?:console|admin)(?:\/|$)/.test(pathname))
        traffic.asked.push(`${request.method} ${pathname}${search}`);
    });
    cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
      traffic.bytes += encodedDataLength;
    });
    return traffic;
  }

  get repeated(): string[] {
    return this.asked.filter((request, at) => this.asked.indexOf(request) !== at);
  }

  forget(): void {
    this.asked.length = 0;
    this.bytes = 0;
  }
}

describe('the requests of the console', { timeout: 360_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-reading-'));
  let t: TestApp;
  let acme: BuiltAccount;
  let browser: Browser;

  beforeAll(async () => {
    buildConsole();
    t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`, {
      EXITWARD_MAX_AUTHLIST_ENTRIES: '200000',
      EXITWARD_MAX_OVERRIDES: '200000',
    });
    await t.server('fra1', { exit_ips: ['198.51.100.10'] });
    acme = await t.account('acme', { servers: ['fra1'] });
    await t.user(acme, 'bob');
    const { id } = acme.account;
    await t.write(async (tx) => {
      const rows = Array.from({ length: entries }, (_, at) => ({
        ...{ account_id: id, id: at + 1, expiry: tx.now + 3600 + at },
        ip: `100.${64 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`,
      }));
      await tx.insertMany(
        'authlist',
        rows.map((row) => ({ ...row, port_scheme_id: 1, user_id: 1 + (row.id % 2) })),
      );
      await tx.insertMany(
        'overrides',
        rows.map((row) => ({
          ...row,
          ...{ server_id: 1, revision: 1, hostname: `h${row.id}.example` },
        })),
      );
      const lists = ['authlist', 'authlist held', 'overrides', 'overrides held'];
      const counters = lists.map((list) => ({ account_id: id, list, last: entries }));
      await tx.insertMany('counters', counters);
    });
    browser = await connectBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await t?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const signIn = async (path = '/') => {
    const { body } = await t.operator.post('/accounts/acme/users/alice/sign-in-link', {});
    const visit = await Visit.begin(browser, t.base_url, {});
    await visit.enter(body.path);
    await visit.sees('Live');
    await visit.go(path);
    return visit;
  };
  const signInAsOperator = async () => {
    const visit = await Visit.begin(browser, t.running.admin_url as string, {});
    await visit.open('/');
    await visit.field('Operator token').fill(t.admin_token);
    await visit.button('Sign in').click();
    await visit.sees('Live');
    return visit;
  };
  /** The requests of a page go on for a while after it is shown: events come, and are looked at. */
  const quiet = async (visit: Visit, traffic: Traffic) => {
    await visit.settled();
    for (let before = -1; before !== traffic.asked.length; ) {
      before = traffic.asked.length;
      await visit.page.waitForTimeout(1000);
    }
  };

  test('a page of an account that is opened asks for each thing once', async () => {
    const visit = await signIn();
    const traffic = await Traffic.of(visit);
    const pages = [
      '/',
      '/authlist',
      '/dns',
      '/servers',
      '/users',
      '/tokens',
      '/usage',
      '/activity',
    ];
    for (const path of pages) {
      traffic.forget();
      await visit.open(`/#${path}`);
      await quiet(visit, traffic);
      expect(traffic.asked.length, path).toBeGreaterThan(2);
      expect(traffic.repeated, path).toEqual([]);
    }
    await visit.end();
  });

  test('a page of the operator that is opened asks for each thing once', async () => {
    const visit = await signInAsOperator();
    const traffic = await Traffic.of(visit);
    const parts = ['', '/servers', '/users', '/tokens', '/authlist', '/dns', '/usage', '/audit'];
    const pages = ['', '/accounts', '/servers', '/nodes', '/usage', '/audit', '/tokens']
      .concat('/servers/fra1')
      .concat(parts.map((part) => `/accounts/acme${part}`));
    for (const path of pages) {
      traffic.forget();
      // The token is the page's alone: a page that is loaded again asks for it again.
      await visit.go(`/operator${path}`);
      await quiet(visit, traffic);
      expect(traffic.repeated, path).toEqual([]);
    }
    await visit.end();
  });

  test('the overview, the authlist and a server of an account with 100,000 entries on each list are read in 100 kB', async () => {
    const visit = await signIn('/users');
    const traffic = await Traffic.of(visit);
    for (const path of ['/', '/authlist', '/dns', '/servers/fra1']) {
      traffic.forget();
      await visit.go(path);
      await quiet(visit, traffic);
      expect(traffic.asked.length, path).toBeGreaterThan(0);
      expect(traffic.bytes, path).toBeLessThan(100_000);
    }
    await visit.button('Remove from the contract').click();
    await visit.sees('Its 100,000 custom DNS entries become pending');
    await visit.end();
  });

  test('the overview counts what needs attention, and leads to exactly these rows', async () => {
    const visit = await signIn();
    const item = (text: RegExp) => visit.page.getByRole('listitem').filter({ hasText: text });
    const facts: Array<[RegExp, RegExp]> = [
      [/^Warning50,000 authlist entries have no effect/, / of 50,000 found in/],
      [/41,400 authlist entries end within 24 hours/, / of 41,400 found in/],
      [/100,000 custom DNS entries are still pending/, / of 100,000 entries/],
    ];
    for (const [shownFact, fact] of facts) {
      await item(shownFact).getByRole('link').click();
      await visit.sees(fact);
      await visit.page.goBack();
    }
    await visit.end();
  });

  let next = 0;
  const add = async (times: number) => {
    for (let added = 0; added < times; added += 1) {
      const ip = `203.0.113.${++next}`;
      const entry = { ip, user: 'alice', expiry: t.now() + 3600 };
      expect((await t.as(acme).post('/contract/ip-authlist', entry)).status).toBe(201);
    }
  };

  test('20 additions to a list of 100,000 cost a page that does not show it nothing but the events', async () => {
    for (const path of ['/users', '/dns']) {
      const visit = await signIn(path);
      const traffic = await Traffic.of(visit);
      await quiet(visit, traffic);
      traffic.forget();
      await add(20);
      await quiet(visit, traffic);
      const others = traffic.asked.filter((request) => !/\/removals$/.test(request));
      expect(others, path).toEqual([]);
      expect(traffic.bytes, path).toBeLessThan(10_000);
      await visit.end();
    }
  });

  test('and pages that show it, the list and the overview, at whichever console, a few short readings', async () => {
    const visit = await signIn('/authlist');
    const overview = await signIn('/');
    const operator = await signInAsOperator();
    await operator.go('/operator/accounts/acme/authlist');
    for (const page of [visit, overview, operator]) {
      const traffic = await Traffic.of(page);
      await quiet(page, traffic);
      traffic.forget();
      await add(20);
      await expect.poll(() => traffic.asked.length).toBeGreaterThan(0);
      await quiet(page, traffic);
      // The overview reads its notices now and then.
      const shows = /\/(?:removals|address|notices|(?:authlist|overrides)\?.*)$/;
      expect(traffic.asked.filter((request) => !shows.test(request))).toEqual([]);
      expect(traffic.bytes).toBeLessThan(40_000);
    }
    for (const page of [visit, overview, operator]) await page.end();
  });
});
