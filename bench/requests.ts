// Reads side by side: Exitward against a bare server with the same bytes, alternating rounds,
// medians, ratios.
//   node bench/requests.ts [--rounds 5] [--seconds 4]   on EXITWARD_DATABASE_URL, or SQLite
//   node bench/requests.ts --cache [--usage-seconds 3]
//       with the response cache against without it, under reports of usage
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { report } from './goals.ts';
import { load, median, type Process, type Result, start } from './load.ts';
import { cpuSecondsOf } from './processes.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    cache: { type: 'boolean', default: false },
    'usage-seconds': { type: 'string', default: '3' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const list = '/v0/contract/ip-authlist';

const { EXITWARD_DATABASE_URL } = process.env;
const databaseName = EXITWARD_DATABASE_URL ? 'PostgreSQL' : 'SQLite';
const database: Record<string, string> = EXITWARD_DATABASE_URL ? { EXITWARD_DATABASE_URL } : {};
if (values.cache) {
  await measureCache(100);
  process.exit();
}
const exitward = await start('server.ts', ['2', '40'], {
  ...serverSettings,
  ...database,
  EXITWARD_DATA_DIR: folder,
});
const { base_url, tokens } = JSON.parse(exitward.said) as Served;
const authorization = basic(tokens[0]);

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
}

const etag =
  (await fetch(base_url + list, { headers: { authorization } })).headers.get('etag') ?? '';
const cases: Case[] = [
  { name: 'GET authlist of 20', path: list, connections: 32, headers: { authorization } },
  {
    name: 'GET authlist of 20, br',
    path: list,
    connections: 32,
    headers: { authorization, 'accept-encoding': 'br' },
  },
  { name: 'GET one entry', path: `${list}/1`, connections: 32, headers: { authorization } },
  {
    name: 'GET 304',
    path: list,
    connections: 32,
    headers: { authorization, 'if-none-match': etag },
  },
];

/** A server under load. */
interface Target {
  name: string;
  url: string;
  pid: number;
}

interface Cost extends Result {
  /** Of the server's process, for each request. */
  cpu_us: number;
}

async function measure({ path, connections, headers }: Case, target: Target): Promise<Cost> {
  const before = cpuSecondsOf(target.pid);
  const result = await load({ url: target.url + path, connections, seconds, headers });
  const cpu_us = ((cpuSecondsOf(target.pid) - before) * 1e6) / (result.rate * seconds);
  return { ...result, cpu_us };
}

function summary(results: Cost[]) {
  const of = (pick: (result: Cost) => number) => median(results.map(pick));
  return {
    cpu_us: of((r) => r.cpu_us),
    rate: of((r) => r.rate),
    p99: of((r) => r.p99_ms),
    bad: results.reduce((sum, r) => sum + r.bad, 0),
  };
}

console.log(`${rounds} alternating rounds of ${seconds} s, medians; ${databaseName}, one process`);
for (const request of cases) {
  const headers = { authorization, 'accept-encoding': 'identity' };
  const floor = await start('floor.ts', ['ready'], {
    BENCH_ANSWER: await capture(request.path, { headers }),
  });
  const targets: Target[] = [
    { name: 'Exitward', url: base_url, pid: exitward.pid },
    { name: 'the floor', url: floor.said, pid: floor.pid },
  ];
  const results: Cost[][] = targets.map(() => []);
  for (const target of targets) await measure(request, target);
  for (let round = 0; round < rounds; round++) {
    for (const [at, target] of targets.entries()) results[at]?.push(await measure(request, target));
  }
  const [ours, ...others] = results.map(summary);
  if (!ours) throw new Error('nothing was measured');
  for (const [at, other] of others.entries()) {
    const name = targets[at + 1]?.name ?? '';
    for (const [what, unit] of [
      ['cpu_us', 'us of CPU'],
      ['rate', 'a second'],
      ['p99', 'ms, p99'],
    ] as const) {
      const peer = { name, value: other[what] };
      report({ work: `${databaseName}: ${request.name}`, ours: ours[what], unit, peer });
    }
    if (other.bad > 0) throw new Error(`${other.bad} bad answers of ${name}`);
  }
  if (ours.bad > 0) throw new Error(`${ours.bad} bad answers`);
  await floor.stop();
}
await exitward.stop();
rmSync(folder, { recursive: true, force: true });

function basic(token: string | undefined): string {
  return `Basic ${Buffer.from(`:${token}`).toString('base64')}`;
}

/**
 * Each kind of GET with the response cache and without it, alternating, while a node reports usage
 * of all accounts every few seconds.
 */
async function measureCache(accounts: number): Promise<void> {
  const [cached, uncached] = await Promise.all(
    ['on', 'off'].map((cache) =>
      start('server.ts', [String(accounts), String(20 * accounts)], {
        ...serverSettings,
        EXITWARD_DATA_DIR: join(folder, cache),
        BENCH_RESPONSE_CACHE: cache,
      }),
    ),
  );
  const servers = [cached as Process, uncached as Process].map((process) => ({
    process,
    served: JSON.parse(process.said) as Served,
  }));
  let seq = 0;
  const report = async () => {
    seq += 1;
    const at = Math.floor(Date.now() / 1000);
    const rows = Array.from({ length: accounts }, (_, account) => ({
      ...{ account: account + 1, user: 1, at },
      ...{ up: 1000, down: 9000 },
    }));
    for (const { served } of servers) {
      const response = await fetch(`${served.node_url}/node/usage`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${served.nodes[0]}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ boot: 'bench', seq, rows }),
      });
      if (!response.ok) throw new Error(`usage was answered ${response.status}`);
    }
  };
  await report();
  const reports = setInterval(() => void report(), Number(values['usage-seconds']) * 1000);
  const kinds = [
    { name: 'list', path: list },
    { name: 'one entry', path: `${list}/1` },
    { name: 'contract', path: '/v0/contract' },
    { name: 'contract servers', path: '/v0/contract/servers' },
    { name: 'contract servers, usage', path: '/v0/contract/servers?detail=usage' },
    { name: 'users', path: '/v0/users' },
  ];
  const measureOnce = async (name: string, run: (served: Served) => Promise<Result>) => {
    const results: Result[][] = [[], []];
    for (let round = 0; round < rounds; round++) {
      for (const [at, { served }] of servers.entries()) results[at]?.push(await run(served));
    }
    const [with_, without] = results.map((all) => median(all.map(({ rate }) => rate)));
    const ratio = median(
      results[0]?.map(({ rate }, round) => rate / (results[1]?.[round]?.rate ?? 0)) ?? [],
    );
    const bad = results.flat().reduce((sum, { bad }) => sum + bad, 0);
    console.log(
      `${name.padEnd(30)} ${with_?.toFixed(0).padStart(7)}/s with   ${without?.toFixed(0).padStart(7)}/s without   ${ratio.toFixed(2)}${bad > 0 ? `   ${bad} BAD ANSWERS` : ''}`,
    );
  };
  console.log(
    `${rounds} alternating rounds of ${seconds} s, median of their ratios; a report of usage every ${values['usage-seconds']} s; SQLite, one process`,
  );
  const connections = 32;
  for (const { name, path } of kinds) {
    for (const unchanged of [false, true]) {
      await measureOnce(`${name}, ${unchanged ? 304 : 200}`, async ({ base_url, tokens }) => {
        const headers: Record<string, string> = { authorization: basic(tokens[0]) };
        const { headers: sent } = await fetch(base_url + path, { headers });
        // Usage changes its tag with each report: then some of the responses are 200 again.
        if (unchanged) headers['if-none-match'] = sent.get('etag') ?? '';
        return load({ url: base_url + path, connections, seconds, headers });
      });
    }
  }
  await measureOnce('mix of 100 accounts', ({ base_url, tokens }) => {
    const pairs = tokens.map((token) => basic(token).slice('Basic '.length));
    return load({ url: base_url, connections, seconds, script: ['mix.lua', ...pairs] });
  });
  clearInterval(reports);
  for (const { process } of servers) await process.stop();
  rmSync(folder, { recursive: true, force: true });
}
