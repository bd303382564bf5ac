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

const settings = {
  EXITWARD_LISTEN: '127.0.0.1:0',
  EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
  EXITWARD_METRICS_LISTEN: 'off',
  EXITWARD_LOG_LEVEL: 'warn',
  EXITWARD_MAX_AUTHLIST_ENTRIES: '100000000',
};
const exitward = await start('server.ts', ['2', '40'], {
  ...settings,
  EXITWARD_DATA_DIR: folder,
  ...(values.url ? { EXITWARD_DATABASE_URL: values.url } : {}),
});
/** The same server, with a commit for each request. */
const ungrouped = values.url
  ? undefined
  : await start('server.ts', ['2', '40'], {
      ...settings,
      EXITWARD_DATA_DIR: join(folder, 'ungrouped'),
      BENCH_LARGEST_GROUP: '1',
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
const etag =
  (await fetch(base_url + list, { headers: { authorization } })).headers.get('etag') ?? '';
const cases: Case[] = [
  { name: 'GET authlist of 20', path: list, connections: 32, headers: { authorization } },
  { name: 'GET one entry', path: `${list}/1`, connections: 32, headers: { authorization } },
  {
    name: 'GET 304',
    path: list,
    connections: 32,
    headers: { authorization, 'if-none-match': etag },
  },
  {
    name: 'POST, 32 connections',
    path: list,
    connections: 32,
    headers: { authorization: writer },
    post: true,
  },
  {
    name: 'POST, 128 connections',
    path: list,
    connections: 128,
    headers: { authorization: writer },
    post: true,
  },
];

/** A server under load: where, and what it needs beside the case's own headers. */
interface Target {
  name: string;
  url: string;
  headers?: Record<string, string>;
}

let prefix = 0;
async function measure(one: Case, target: Target): Promise<Result> {
  prefix += 1;
  return load({
    url: target.url + one.path,
    connections: one.connections,
    seconds,
    headers: { ...one.headers, ...target.headers },
    ...(one.post ? { script: ['create.lua', prefix.toString(16), String(expiry)] } : {}),
  });
}

/** The answer that the floor is to give: what Exitward answers to this case. */
function probe(one: Case): RequestInit {
  if (!one.post) return { headers: { authorization } };
  return {
    method: 'POST',
    headers: { ...one.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ip: `2001:db8:ffff::${one.connections}`, user: 'alice', expiry }),
  };
}

function summary(results: Result[]) {
  const of = (pick: (result: Result) => number) => median(results.map(pick));
  return {
    rate: of((r) => r.rate),
    p99: of((r) => r.p99_ms),
    bad: results.reduce((sum, r) => sum + r.bad, 0),
  };
}

console.log(
  `${rounds} alternating rounds of ${seconds} s, medians; ${values.url ? 'PostgreSQL' : 'SQLite'}, one process`,
);
for (const one of cases) {
  const env = { BENCH_ANSWER: await capture(one.path, probe(one)) };
  const floors: Process[] = [await start('floor.ts', ['ready'], env)];
  const targets: Target[] = [
    { name: 'Exitward', url: base_url },
    { name: 'floor', url: floors[0]?.said ?? '' },
  ];
  if (one.post) {
    floors.push(await start('floor.ts', ['commit'], env));
    targets.push({ name: 'floor that commits', url: floors[1]?.said ?? '' });
    if (ungrouped) {
      const other = JSON.parse(ungrouped.said) as { base_url: string; tokens: string[] };
      const token = Buffer.from(`:${other.tokens[1]}`).toString('base64');
      targets.push({
        name: 'a commit per request',
        url: other.base_url,
        headers: { authorization: `Basic ${token}` },
      });
    }
  }
  const results: Result[][] = targets.map(() => []);
  for (const target of targets) await measure(one, target);
  for (let round = 0; round < rounds; round++) {
    for (const [at, target] of targets.entries()) results[at]?.push(await measure(one, target));
  }
  const [ours, ...others] = results.map(summary);
  if (!ours) throw new Error('nothing was measured');
  const shown = [
    `${one.name.padEnd(22)} ${ours.rate.toFixed(0).padStart(7)}/s`,
    `p99 ${ours.p99.toFixed(2)} ms`,
  ];
  for (const [at, other] of others.entries()) {
    const ratio = `${(ours.rate / other.rate).toFixed(2)} of ${targets[at + 1]?.name}`;
    shown.push(`${ratio} (${other.rate.toFixed(0)}/s, p99 ${other.p99.toFixed(2)} ms)`);
    if (other.bad > 0) shown.push(`${other.bad} bad answers of ${targets[at + 1]?.name}`);
  }
  if (ours.bad > 0) shown.push(`${ours.bad} BAD ANSWERS`);
  console.log(shown.join('   '));
  for (const process of floors) await process.stop();
}
await exitward.stop();
await ungrouped?.stop();
rmSync(folder, { recursive: true, force: true });
