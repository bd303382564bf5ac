// The first run: a network without anything, and an account that nobody has used, each with steps
// that tick themselves off.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../server/test/harness.ts';
import { connectBrowser } from './browser.ts';
import { buildConsole } from './console/console.ts';
import { expectAccessible, expectFitsPhone } from './console/looking.ts';
import { Visit } from './console/visit.ts';

const patience = { timeout: 100_000 };
const server = {
  name: 'fra1',
  hostname: 'fra1.example.net',
  title: 'Frankfurt',
  city: 'Frankfurt am Main',
  country: 'DE',
  latitude: 50.1,
  longitude: 8.7,
  services: ['proxy'],
};

describe('a new network in the console', { timeout: 360_000 }, () => {
  let folder: string;
  let t: TestApp;
  let browser: Browser;
  let operator: Visit;
  beforeAll(async () => {
    buildConsole();
    browser = await connectBrowser();
    folder = mkdtempSync(join(tmpdir(), 'exitward-first-'));
    const now = Math.floor(Date.now() / 1000);
    t = await startTestApp(`sqlite:${join(folder, 'new.db')}`, {}, undefined, now);
    operator = await Visit.begin(browser, t.running.admin_url, {});
    await operator.open('/');
    await operator.field('Operator token').fill(t.admin_token);
    await operator.button('Sign in').click();
  });
  afterAll(async () => {
    await browser?.close();
    await t?.stop();
    rmSync(folder, { recursive: true });
  });

  const done = (visit: Visit) => visit.page.locator('.first-steps li.done h3').allTextContents();
  const ticked = (visit: Visit, steps: number) =>
    expect.poll(async () => (await done(visit)).length, patience).toBe(steps);

  test('shows the operator the first steps, and never that all is well', async () => {
    await operator.heading('First steps').waitFor();
    expect(await done(operator)).toEqual([]);
    await operator.sees('There are no servers yet.');
    expect(await operator.page.getByText('Nothing needs attention').count()).toBe(0);
    await expectAccessible(operator, 'the first steps of a network');
    await expectFitsPhone(operator, 'the first steps of a network');
    await operator.link('Add a server').click();
    await operator.dialog('Add a server').waitFor();
    await operator.page.goBack();
  });

  test('ticks off each step when it is done, wherever that was', async () => {
    expect((await t.operator.post('/servers', server)).status).toBe(201);
    const exit = await t.operator.put('/servers/fra1/exits/198.51.100.1', { port_base: 1 });
    expect(exit.status).toBeLessThan(300);
    await ticked(operator, 1);
    const node = await t.node('fra1');
    await node.start();
    await ticked(operator, 2);
    const contract = {
      name: 'acme',
      plan: 'Team',
      limit_bytes: 10 ** 12,
      expiry: t.now() + 10 ** 6,
    };
    expect((await t.operator.post('/accounts', contract)).status).toBe(201);
    await ticked(operator, 3);
    const flags = { admin: true, billing: true, proxy: true };
    await t.operator.post('/accounts/acme/users', { name: 'alice', flags });
    await ticked(operator, 4);

    const { path } = (await t.operator.post('/accounts/acme/users/alice/sign-in-link', {})).body;
    const alice = await Visit.begin(browser, t.base_url, {});
    await alice.enter(path);
    await alice.heading('Connect for the first time').waitFor();
    expect(await done(alice)).toEqual([]);
    expect(await alice.page.getByText('Nothing needs attention').count()).toBe(0);
    await expectAccessible(alice, 'the first steps of an account');
    await t.operator.put('/accounts/acme/servers/fra1', {});
    await ticked(alice, 1);
    await alice.button(/^Allow .* for 8 hours$/).click();
    await ticked(alice, 2);
    await alice.page.reload();
    await ticked(alice, 2);

    const rows = [{ account: 1, user: 1, at: t.now(), up: 500, down: 900 }];
    const usage = { boot: 'b', seq: 1, rows };
    expect((await node.send('POST', '/usage', usage)).status).toBe(200);
    await alice.page.reload();
    await alice.heading('Connect').waitFor();
    // A viewer of the steps sees the last tick; one who comes again sees them no more.
    const isShown = async () => {
      await operator.go('/operator/servers');
      await operator.heading('Servers').waitFor();
      await operator.go('/operator');
      await operator.heading('Overview').waitFor();
      return operator.heading('First steps').isVisible();
    };
    await expect.poll(isShown, patience).toBe(false);
    node.stop();
    expect([...operator.problems, ...alice.problems]).toEqual([]);
  });
});
