// The pages of both consoles in real Chromium: bytes, requests, milliseconds to the first view and
// to filter, in a small and a large network.
//   node bench/console.ts [--smoke]   prints the table of docs/console.md; on SQLite
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../test/browser.ts';
import { fillNetwork, type NetworkSize } from '../test/console/filling.ts';
import { report } from './goals.ts';
import { median, start } from './load.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const isSmoke = process.argv.includes('--smoke');

/** The records next to the one account, its one user and its one server. */
const sizes: Array<NetworkSize & { name: string; entries: number }> = [
  { name: 'small', entries: 20, servers: 20, nodes: 2, accounts: 2, records: 5 },
  { name: 'large', entries: 100_000, servers: 2300, nodes: 40, accounts: 300, records: 300 },
].slice(0, isSmoke ? 1 : 2);
const ofAccount = [
  '/',
  '/servers',
  '/usage',
  '/authlist',
  '/dns',
  '/users',
  '/tokens',
  '/activity',
];
const ofOperator = ['', '/accounts', '/servers', '/nodes', '/usage', '/audit'].map(
  (path) => `/operator${path}`,
);
const rounds = isSmoke ? 1 : 3;

interface View {
  kilobytes: number;
  requests: number;
  milliseconds: number;
  /** From what is typed to the last change that it makes; NaN: the page has no search. */
  filter_milliseconds: number;
}

/** Milliseconds from typing into the search of the page to the last change of what it shows. */
async function filterTime(page: Page): Promise<number> {
  const search = page.getByLabel('Search', { exact: true });
  if ((await search.count()) === 0) return Number.NaN;
  await page.evaluate(`(() => {
    let began = 0;
    window.filtered = 0;
    addEventListener('input', () => { began = performance.now(); }, { capture: true, once: true });
    new MutationObserver(() => { if (began) window.filtered = performance.now() - began; })
      .observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
  })()`);
  await search.fill('1234');
  await page.waitForTimeout(1500);
  return (await page.evaluate('window.filtered')) as number;
}

/**
 * Opens pages in a tab whose browser has the files of the console already, as everybody's has from
 * the second day on.
 */
async function open(page: Page, base_url: string, paths: string[]): Promise<Map<string, View>> {
  const cdp = await page.context().newCDPSession(page);
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
      const view = { kilobytes: bytes / 1000, requests, milliseconds };
      seen.push({ ...view, filter_milliseconds: await filterTime(page) });
    }
    const of = (name: keyof View) => Math.round(median(seen.map((view) => view[name])));
    views.set(path, {
      kilobytes: of('kilobytes'),
      requests: of('requests'),
      milliseconds: of('milliseconds'),
      filter_milliseconds: of('filter_milliseconds'),
    });
  }
  return views;
}

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  return page;
}

execFileSync(process.execPath, ['scripts/console.mjs'], { cwd: join(import.meta.dirname, '..') });
const browser = await launchBrowser();
const columns: Array<Map<string, View>> = [];
for (const { entries, ...size } of sizes) {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  const server = await start('server.ts', ['1', String(entries)], {
    EXITWARD_DATA_DIR: folder,
    ...serverSettings,
  });
  const { base_url, admin_url } = JSON.parse(server.said) as Served;
  const token = readFileSync(join(folder, 'admin-token'), 'utf8').trim();
  const authorization = `Bearer ${token}`;
  const ask = (method: string, path: string, body: unknown) =>
    fetch(`${admin_url}/admin/accounts/bench-0/users/alice${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await ask('PATCH', '', { flags: { admin: true, billing: true } });
  const { path } = (await (await ask('POST', '/sign-in-link', {})).json()) as { path: string };
  const db = new DatabaseSync(join(folder, 'exitward.db'), { timeout: 30_000 });
  db.exec('begin immediate');
  fillNetwork(db, 'bench-0', size);
  db.exec('commit');
  db.close();

  const own = await newPage(browser);
  await own.goto(base_url + path);
  await own.getByRole('button', { name: 'Sign in', exact: true }).click();
  await own.getByText('Live', { exact: true }).waitFor();
  const views = await open(own, base_url, ofAccount);
  await own.context().close();

  const operator = await newPage(browser);
  await operator.goto(admin_url);
  await operator.getByLabel('Operator token', { exact: true }).fill(token);
  await operator.getByLabel(/^Stay signed in/).check();
  await operator.getByRole('button', { name: 'Sign in', exact: true }).click();
  await operator.getByText('Live', { exact: true }).waitFor();
  const others = await open(operator, admin_url, ofOperator);
  await operator.context().close();

  columns.push(new Map([...views, ...others]));
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
await browser.close();

const heads = sizes.map(({ name }) => `${name}: kB | requests | first view, ms | filter, ms`);
console.log(`| page | ${heads.join(' | ')} |`);
console.log(`| --- |${' ---: |'.repeat(sizes.length * 4)}`);
for (const path of [...ofAccount, ...ofOperator]) {
  const cells = columns.flatMap((views) => Object.values(views.get(path) ?? {}));
  const shown = cells.map((cell) => (Number.isNaN(cell) ? '' : cell));
  console.log(`| \`${path}\` | ${shown.join(' | ')} |`);
}
for (const [path, { milliseconds }] of columns.at(-1) ?? []) {
  report({
    work: `console: first view of ${path}, ${sizes.at(-1)?.name}`,
    ours: milliseconds,
    unit: 'ms',
  });
}
