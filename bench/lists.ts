// Pages of long lists, of entries, users and accounts: bytes and milliseconds of a first view, of
// each filter and sort, and what others wait for meanwhile.
//   node bench/lists.ts [--entries 100000] [--people 20000] [--rounds 9]
//   node bench/postgres.ts lists.ts [--entries 100000] [--people 20000] [--rounds 9]
// Server and client share the machine: times are printed without their waits for a processor, which
// others may have.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { waitedMs } from './processes.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { entries, people, rounds } = sizesFrom({ entries: 100_000, people: 20_000, rounds: 9 });
const maxBytes = 100_000;
const maxMs = 200;

const dataDir = mkdtempSync(join(tmpdir(), 'exitward-lists-'));
const server = spawn(
  process.execPath,
  [join(import.meta.dirname, 'server.ts'), '2', String(2 * entries), '1', '1', String(people)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      EXITWARD_DATA_DIR: dataDir,
      ...serverSettings,
      EXITWARD_LOG_LEVEL: 'error',
      EXITWARD_MAX_AUTHLIST_ENTRIES: String(entries + 1000),
    },
  },
);
const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
const { admin_url, base_url, tokens } = JSON.parse(line) as Served;
const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
const asOperator = { headers: { authorization: `Bearer ${token}` } };
const accounts = (await (await fetch(`${admin_url}/admin/accounts`, asOperator)).json()) as Array<{
  name: string;
}>;
const all = `${admin_url}/admin/accounts`;
const list = `${all}/${accounts[0]?.name}/authlist`;

/** Milliseconds that a request takes. */
async function timed(request: () => Promise<unknown>): Promise<number> {
  const waited = waitedMs(server.pid);
  const began = performance.now();
  await request();
  const took = performance.now() - began;
  return Math.max(0, took - (waitedMs(server.pid) - waited));
}

const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

/** Median milliseconds of a page, its bytes, and what it says of the list. */
async function page(query: string, of = list) {
  const times: number[] = [];
  let bytes = 0;
  let count: string | null = '';
  let next: string | null = '';
  for (let round = 0; round < rounds; round++) {
    const took = await timed(async () => {
      const response = await fetch(`${of}?${query}`, asOperator);
      bytes = (await response.arrayBuffer()).byteLength;
      if (!response.ok) throw new Error(`${query}: ${response.status}`);
      count = response.headers.get('exitward-found');
      next = response.headers.get('link');
    });
    times.push(took);
  }
  return { milliseconds: median(times), bytes, count, next };
}

function show(work: string, ours: number, unit: string, limit: number): void {
  report({ work, ours, unit, goal: { atMost: limit } });
}

const first = await page('limit=100&sort=id&order=desc');
show(`first view of ${first.count} entries`, first.bytes, 'bytes', maxBytes);
show('  its time', first.milliseconds, 'ms', maxMs);
for (const query of [
  'search=.77',
  'search=no such text',
  'user=alice',
  'state=unproven&sort=expiry',
  'sort=expiry',
  'sort=ip&order=desc',
  'sort=user',
  'sort=last_used_at&order=desc',
  'search=1&sort=ip',
]) {
  const { milliseconds, count } = await page(`limit=100&${query}`);
  show(`${query} (${count} found)`, milliseconds, 'ms', maxMs);
}
const link = /\?([^>]*)>/.exec(first.next ?? '')?.[1] ?? '';
show('the next page', (await page(link)).milliseconds, 'ms', maxMs);

for (const [name, of, queries] of [
  [
    'users',
    `${all}/${accounts[0]?.name}/users`,
    ['sort=id', 'search=77&sort=name', 'state=invited', 'sort=flags', 'sort=last_sign_in_at'],
  ],
  ['accounts', all, ['sort=name', 'search=77', 'state=ending&sort=expiry', 'sort=usage']],
] as const) {
  for (const query of queries) {
    const { milliseconds, bytes, count } = await page(`limit=100&${query}`, of);
    if (query === queries[0]) show(`first view of ${count} ${name}`, bytes, 'bytes', maxBytes);
    show(`${name}: ${query} (${count} found)`, milliseconds, 'ms', maxMs);
  }
}

/** A thousand entries at once. */
async function many(method: string, path: string, body: object): Promise<number[]> {
  let answer: { lines?: Array<{ id: number }> } = {};
  const headers = { ...asOperator.headers, 'content-type': 'application/json' };
  const took = await timed(async () => {
    const response = await fetch(list + path, { method, headers, body: JSON.stringify(body) });
    answer = (await response.json()) as typeof answer;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  });
  show(`1000 entries at once: ${method} ${path || '/'}`, took, 'ms', maxMs);
  return (answer.lines ?? []).map(({ id }) => id);
}
const later = Math.floor(Date.now() / 1000) + 86_400;
const pasted = Array.from({ length: 1000 }, (_, at) => `2001:db8::${at.toString(16)}`).join('\n');
const addition = { addresses: pasted, user: 'alice', expiry: later, note: 'pasted' };
await many('POST', '/add', { ...addition, dry_run: true });
const ids = await many('POST', '/add', addition);
await many('PATCH', '', { entries: ids.map((id) => ({ id, expiry: later + 60 })) });
await many('POST', '/remove', { ids });

/** Another account's reads while one asks for filtered pages without a pause. */
const own = {
  headers: { authorization: `Basic ${Buffer.from(`:${tokens[1]}`).toString('base64')}` },
};
const waits: number[] = [];
const stop = new AbortController();
const asking = (async () => {
  while (!stop.signal.aborted) await page('limit=100&search=1&sort=ip');
})();
for (let times = 0; times < 300; times++) {
  waits.push(await timed(async () => (await fetch(`${base_url}/v0/contract`, own)).arrayBuffer()));
  await sleep(5);
}
stop.abort();
await asking;
waits.sort((a, b) => a - b);
show('another account’s GET meanwhile, p99', waits[Math.floor(waits.length * 0.99)] ?? 0, 'ms', 50);

server.kill();
await once(server, 'exit');
rmSync(dataDir, { recursive: true, force: true });
