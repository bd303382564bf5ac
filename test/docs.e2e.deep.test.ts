// The documentation page in a real browser: it shows the document, asks nobody else, and breaks no
// rule of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltAccount } from '../server/test/builders.ts';
import { startTestApp, type TestApp } from '../server/test/harness.ts';
import { connectBrowser, pagePatienceMs } from './browser.ts';

describe('the page at /docs', { timeout: 360_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-docs-'));
  let t: TestApp;
  let account: BuiltAccount;
  let browser: Browser;
  let page: Page;
  const requests: string[] = [];
  const problems: string[] = [];

  beforeAll(async () => {
    t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
    await t.server('fra1');
    account = await t.account('acme', { servers: ['fra1'] });
    browser = await connectBrowser();
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.setDefaultTimeout(pagePatienceMs);
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // A broken content policy is an error on the console too.
      if (message.type() === 'error' || message.type() === 'warning') {
        problems.push(`${message.type()}: ${message.text()} ${message.location().url}`);
      }
    });
    await page.goto(`${t.base_url}/docs`);
  });
  afterAll(async () => {
    await browser?.close();
    await t?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('shows what the document says, by audience and tag', async () => {
    await page.getByRole('heading', { name: 'Exitward', exact: true }).waitFor();
    for (const text of ['Account API', 'Operator API', 'Node interface', 'IP authlist']) {
      await page.getByText(text, { exact: true }).first().waitFor();
    }
    await page.getByText('Custom DNS entries', { exact: true }).first().click();
    await page.getByText('/v0/contract/overrides/{id}').first().waitFor();
    expect(await page.getByText('Default Response').count()).toBe(0);
  });

  test('sends a request to this server, and shows its answer', async () => {
    await page
      .getByRole('button', { name: /Test Request.*get \/v0\/contract\/overrides/i })
      .first()
      .click();
    const client = page.getByRole('dialog');
    await client.getByLabel('Password', { exact: true }).fill(account.api_token);
    const answered = page.waitForResponse(`${t.base_url}/v0/contract/overrides`);
    await client.getByRole('button', { name: /^Send/ }).first().click();
    expect((await answered).status()).toBe(200);
  });

  test('keeps no token', async () => {
    const storage = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(storage).not.toContain(account.api_token);
  });

  test('asked no other host for anything', () => {
    expect(requests).toContain(`${t.base_url}/docs/reference.js`);
    expect(
      requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== t.base_url),
    ).toEqual([]);
  });

  test('caused no error, no warning and no breach of its content policy', () => {
    expect(problems).toEqual([]);
  });

  test('its content policy allows no script but our own, and no other host', async () => {
    const policy = (await fetch(`${t.base_url}/docs`)).headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'sha256-[\w+/]{43}='; /);
    expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
    expect(policy.replace("style-src 'self' 'unsafe-inline'", '')).not.toContain('unsafe');
    // The control: a script that is not ours does not run, and is reported.
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = true' }))",
    );
    expect(await page.evaluate('window.ran')).toBeUndefined();
    await expect.poll(() => problems.join()).toContain('Content Security Policy');
  });
});
