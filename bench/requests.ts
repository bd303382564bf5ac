// Requests side by side: Exitward against a bare server with the same bytes, alternating rounds, medians, ratios.
//   node bench/requests.ts [--rounds 5] [--seconds 4] [--url postgres://…]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load, median, type Process, type Result, start } from './load.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    url: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const expiry = Math.floor(Date.now() / 1000) + 86_400;

const exitward = await start('server.ts', ['2', '40'], {
  EXITWARD_DATA_DIR: folder,
  EXITWARD_LISTEN: '127.0.0.1:0',
  EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
  EXITWARD_METRICS_LISTEN: 'off',
  EXITWARD_LOG_LEVEL: 'warn',
  EXITWARD_MAX_AUTHLIST_ENTRIES: '100000000',
  ...(values.url ? { EXITWARD_DATABASE_URL: values.url } : {}),
});
const { base_url, tokens } = JSON.parse(exitward.said) as { base_url: string; tokens: string[] };
const authorization = `Basic ${Buffer.from(`:${tokens[0]}`).toString('base64')}`;
const writer = `Basic ${Buffer.from(`:${tokens[1]}`).toString('base64')}`;

/** The answer of Exitward, as the floor is to send it. */
async function capture(path: string, init: RequestInit): Promise<string> {
  const response = await fetch(base_url + path, init);
  const headers = Array.from(response.headers)
    .filter(([name]) => !['connection', 'keep-alive', 'date'].includes(name))
    .flat();
  return JSON.stringify({ status: response.status, headers, body: await response.text() });
}

interface Case {
  name: string;
  path: string;
  connections: number;
  headers: Record<string, string>;
  post?: boolean;
}

const list = '/v0/contract/ip-authlist';
const etag = (await fetch(base_url + list, { headers: { authorization } })).headers.get('etag') ?? '';
const cases: Case[] = [
  { name: 'GET authlist of 20', path: list, connections: 32, headers: { authorization } },
  { name: 'GET one entry', path: `${list}/1`, connections: 32, headers: { authorization } },
  { name: 'GET 304', path: list, connections: 32, headers: { authorization, 'if-none-match': etag } },
  { name: 'POST, 32 connections', path: list, connections: 32, headers: { authorization: writer }, post: true },
  { name: 'POST, 128 connections', path: list, connections: 128, headers: { authorization: writer }, post: true },
];

let prefix = 0;
async function measure(one: Case, url: string): Promise<Result> {
  prefix += 1;
  return load({
    url: url + one.path,
    connections: one.connections,
    seconds,
    headers: one.headers,
    ...(one.post ? { script: ['create.lua', prefix.toString(16), String(expiry)] } : {}),
  });
}

const show = (results: Result[]) => {
  const of = (pick: (result: Result) => number) => median(results.map(pick));
  return { rate: of((r) => r.rate), p99: of((r) => r.p99_ms), bad: results.reduce((sum, r) => sum + r.bad, 0) };
};

console.log(`${rounds} alternating rounds of ${seconds} s, medians; database ${values.url ? 'PostgreSQL' : 'SQLite'}`);
for (const one of cases) {
  const probe = one.post
    ? {
        method: 'POST',
        headers: { ...one.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ ip: `2001:db8:ffff::${one.connections}`, user: 'alice', expiry }),
      }
    : { headers: { authorization } };
  const env = { BENCH_ANSWER: await capture(one.path, probe) };
  const floors: Process[] = [await start('floor.ts', ['ready'], env)];
  if (one.post) floors.push(await start('floor.ts', ['commit'], env));
  const urls = [base_url, ...floors.map((floor) => floor.said)];
  const results: Result[][] = urls.map(() => []);
  for (const url of urls) await measure(one, url);
  for (let round = 0; round < rounds; round++) {
    for (const [at, url] of urls.entries()) results[at]?.push(await measure(one, url));
  }
  const [ours, floor, commit] = results.map(show);
  if (!ours || !floor) throw new Error('nothing was measured');
  console.log(
    `${one.name.padEnd(22)} ${ours.rate.toFixed(0).padStart(7)}/s   floor ${floor.rate.toFixed(0)}/s   ratio ${(ours.rate / floor.rate).toFixed(2)}` +
      `   p99 ${ours.p99.toFixed(2)} ms (${(ours.p99 / floor.p99).toFixed(1)}x)` +
      (commit ? `   commit per request ${commit.rate.toFixed(0)}/s: ${(ours.rate / commit.rate).toFixed(1)}x` : '') +
      (ours.bad + floor.bad > 0 ? `   BAD ${ours.bad}/${floor.bad}` : ''),
  );
  for (const process of floors) await process.stop();
}
await exitward.stop();
rmSync(folder, { recursive: true, force: true });
