// The pages of an account's console in real Chromium: bytes, requests and milliseconds to the first view, for a small and a large account.
//   node bench/console.ts [--entries 20,100000]   the table of docs/console.md; on SQLite
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../test/browser.ts';
import { median, start } from './load.ts';
import type { Served } from './server.ts';

const { values } = parseArgs({ options: { entries: { type: 'string', default: '20,100000' } } });
const sizes = values.entries.split(',').map(Number);
const paths = ['/', '/authlist', '/dns', '/servers', '/users', '/tokens', '/usage', '/activity'];
const rounds = 3;

interface View {
  kilobytes: number;
  requests: number;
  milliseconds: number;
}

/** Opens a page in a tab whose browser has the files of the console already, as everybody's has from the second day on. */
async function open(browser: Browser, base_url: string, link: string): Promise<Map<string, View>> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(base_url + link);
  await page.getByText('Live', { exact: true }).waitFor();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  let bytes = 0;
  let requests = 0;
  cdp.on('Network.requestWillBeSent', () => {
    requests += 1;
  });
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  const views = new Map<string, View>();
  for (const path of paths) {
    const seen: View[] = [];
    for (let round = 0; round < rounds; round++) {
      await page.goto('about:blank');
      [bytes, requests] = [0, 0];
      const began = performance.now();
      await page.goto(`${base_url}/#${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('.loading, .spinner').first().waitFor({ state: 'hidden' });
      const milliseconds = performance.now() - began;
      await page.waitForTimeout(1000);
      seen.push({ kilobytes: bytes / 1000, requests, milliseconds });
    }
    const of = (name: keyof View) => Math.round(median(seen.map((one) => one[name])));
    const view = { kilobytes: of('kilobytes'), requests: of('requests') };
    views.set(path, { ...view, milliseconds: of('milliseconds') });
  }
  await context.close();
  return views;
}

execFileSync(process.execPath, ['scripts/console.mjs'], { cwd: join(import.meta.dirname, '..') });
const browser = await launchBrowser();
const columns: Array<Map<string, View>> = [];
for (const entries of sizes) {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  const server = await start('server.ts', ['1', String(entries)], {
    EXITWARD_DATA_DIR: folder,
    EXITWARD_LISTEN: '127.0.0.1:0',
    EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
    EXITWARD_METRICS_LISTEN: 'off',
    EXITWARD_LOG_LEVEL: 'warn',
    EXITWARD_MAX_AUTHLIST_ENTRIES: '100000000',
  });
  const { base_url, admin_url } = JSON.parse(server.said) as Served;
  const authorization = `Bearer ${readFileSync(join(folder, 'admin-token'), 'utf8').trim()}`;
  const ask = (method: string, path: string, body: unknown) =>
    fetch(`${admin_url}/admin/accounts/bench-0/users/alice${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await ask('PATCH', '', { flags: { admin: true, billing: true } });
  const { path } = (await (await ask('POST', '/sign-in-link', {})).json()) as { path: string };
  columns.push(await open(browser, base_url, path));
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
await browser.close();

const heads = sizes.map((size) => `${size.toLocaleString('en')} entries: kB | requests | ms`);
console.log(`| page | ${heads.join(' | ')} |`);
console.log(`| --- |${' ---: |'.repeat(sizes.length * 3)}`);
for (const path of paths) {
  const cells = columns.flatMap((views) => Object.values(views.get(path) ?? {}));
  console.log(`| \`${path}\` | ${cells.join(' | ')} |`);
}
