// Takes the pictures of the console that the README shows, of the demo as `npm start` runs it.
//
//   npm run screenshots        writes docs/images/console-*.png
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../test/browser.ts';
import { Console, everything } from '../test/console/console.ts';
import type { Visit } from '../test/console/visit.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** Readers of the README fetch them all. */
const mostBytes = 200_000;
const desk = { width: 1280, height: 800 };
const tall = { width: 1280, height: 940 };
const phone = { width: 390, height: 844 };

/** Until all nodes have reported how they are, and have carried something. */
const settlingMs = 20_000;

const pages = [
  { name: 'overview', path: '/' },
  { name: 'servers', path: '/servers' },
  { name: 'dns', path: '/dns' },
] as const;

/** Custom DNS of a customer who is about to move a shop. */
async function addEntries(t: Console): Promise<void> {
  const day = 86_400;
  const now = Math.floor(Date.now() / 1000);
  const entries = [
    { hostname: 'shop.example.com', ip: '192.0.2.80', server: 'aar1', expiry: now + 30 * day },
    { hostname: 'www.example.com', ip: '192.0.2.80', server: 'aar1', expiry: now + 7 * day },
    { hostname: 'api.example.com', ip: '192.0.2.81', server: 'aar1', expiry: now + 2 * day },
  ];
  for (const entry of entries) {
    const { status, text } = await t.api.post('/contract/overrides', entry);
    if (status !== 201) throw new Error(text);
  }
}

async function take(visit: Visit, name: string): Promise<void> {
  await visit.settled();
  // Counted up or faded in: a picture shows the end of it.
  await visit.page.evaluate('document.fonts.ready.then(() => document.activeElement.blur())');
  const path = `${folder}console-${name}.png`;
  await visit.page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > mostBytes)
    throw new Error(`${path} takes ${size} bytes, expected ${mostBytes} at most`);
  console.log(`${path}: ${Math.round(size / 1000)} kB`);
}

const t = await Console.start(() => launchBrowser(), 'simulated');
try {
  await t.passwordFor(everything);
  await addEntries(t);
  await sleep(settlingMs);
  for (const colorScheme of ['light', 'dark'] as const) {
    const visit = await t.visitAs(everything, '/', { viewport: desk, colorScheme });
    for (const { name, path } of pages) {
      await visit.go(path);
      await take(visit, `${name}-${colorScheme}`);
    }
    await visit.end();
  }
  const operator = await t.visitAsOperator({ viewport: tall, colorScheme: 'light' });
  await take(operator, 'network-light');
  await operator.end();
  const visit = await t.visitAs(everything, '/', { viewport: phone, deviceScaleFactor: 2 });
  await take(visit, 'phone-light');
  if (visit.problems.length > 0) throw new Error(visit.problems.join('\n'));
} finally {
  await t.stop();
}
