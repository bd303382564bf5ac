// The client library in a real browser, on a page of the service's own origin: the API allows no
// other.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../server/test/harness.ts';
import { connectBrowser, pagePatienceMs } from './browser.ts';

/**
 * A site that holds a page and the built library, and passes /v0 on; as a proxy in front of both
 * would.
 */
async function startSite(library: string, api: string): Promise<Server> {
  const site = createServer((incoming, outgoing) => {
    const { url = '/', method, headers } = incoming;
    if (url.startsWith('/v0')) {
      const passed = httpRequest(api + url, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
      return;
    }
    if (url.startsWith('/client/')) {
      outgoing.setHeader('content-type', 'text/javascript');
      outgoing.end(readFileSync(join(library, 'dist/client/src', url.slice('/client/'.length))));
      return;
    }
    outgoing.setHeader('content-type', 'text/html');
    outgoing.end('<!doctype html><title>A page</title>');
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  return site;
}

describe('the client library in a browser', { timeout: 360_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-client-page-'));
  let t: TestApp;
  let site: Server;
  let browser: Browser;
  let page: Page;
  let token: string;

  /** Runs this as a module of the page, with a `client`; answers what it returns. */
  const onPage = (body: string, options: object = { token }): Promise<unknown> =>
    page.evaluate(`(async () => {
      const library = await import('/client/index.js');
      const client = new library.Exitward({ baseUrl: location.origin, ...${JSON.stringify(options)} });
      ${body}
    })()`);

  beforeAll(async () => {
    execFileSync(process.execPath, ['scripts/client_package.mjs', folder]);
    t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
    await t.server('fra1');
    ({ api_token: token } = await t.account('acme', { servers: ['fra1'] }));
    site = await startSite(folder, t.base_url);
    browser = await connectBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(pagePatienceMs);
    // By a name, for browsers take an address of this machine for as secure as TLS.
    await page.goto(`http://page.example:${(site.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    await browser?.close();
    site?.close();
    await t?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('reads and makes changes, without TLS too, where a page has no randomUUID', async () => {
    const outcome = await onPage(`
      const expiry = ${t.now() + 3600};
      const entry = await client.authlist.add({ ip: '203.0.113.7', user: 'alice', expiry });
      const changed = await client.authlist.change(
        entry.id,
        { expiry: expiry + 1 },
        { ifMatch: library.etagOf(entry) },
      );
      const ips = [];
      for await (const { ip } of client.authlist.list()) ips.push(ip);
      await client.authlist.clear();
      const remaining = await client.authlist.list();
      return { isSecure: isSecureContext, ips, later: changed.expiry - expiry, remaining };
    `);
    expect(outcome).toEqual({ isSecure: false, ips: ['203.0.113.7'], later: 1, remaining: [] });
  });

  test('speaks the earlier variant', async () => {
    const body = 'return (await client.index()).variant;';
    expect(await onPage(body, { token, variant: 'earlier' })).toBe('earlier');
  });

  test('makes an error of a wrong token, and lets the browser ask nobody for a password', async () => {
    const body = 'return client.contract.get().catch((error) => [error.name, error.status]);';
    expect(await onPage(body, { token: 'ewa_wrong' })).toEqual(['UnauthorizedError', 401]);
  });

  test('makes an error of a network that is not there, of a redirect, and of a time that is over', async () => {
    const failure = (options: object) =>
      onPage('return client.contract.get().catch((error) => error.name + error.message);', {
        token,
        retries: 0,
        ...options,
      });
    expect(await failure({ baseUrl: 'http://page.example:9' })).toContain('ConnectionErrorGET');
    expect(await failure({ timeoutSeconds: 0 })).toContain('TimeoutErrorGET');
    await page.route('**/v0/contract', (route) =>
      route.fulfill({ status: 302, headers: { location: '/elsewhere' } }),
    );
    expect(await failure({})).toContain('redirected; expected baseUrl');
    await page.unroute('**/v0/contract');
  });
});
