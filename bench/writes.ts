// Changes side by side: Exitward against a bare server that answers the same bytes, and against
// other versions of Exitward; alternating rounds, medians, ratios.
//   node bench/writes.ts [--rounds 5] [--seconds 2] [--warm 12] [--connections 32,128]
//       [--kinds create,change,remove,override]   on EXITWARD_DATABASE_URL, or SQLite
//       [--against FOLDER]…   on SQLite: checkouts of other versions, with their node_modules
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { report } from './goals.ts';
import { load, median, type Process, type Result, start } from './load.ts';
import { cpuSecondsOf } from './processes.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    warm: { type: 'string', default: '12' },
    connections: { type: 'string', default: '32,128' },
    kinds: { type: 'string', default: 'create,change,remove,override' },
    entries: { type: 'string', default: '300000' },
    against: { type: 'string', multiple: true, default: [] },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connectionCounts = values.connections.split(',').map(Number);
const kinds = values.kinds.split(',') as Kind[];
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const expiry = Math.floor(Date.now() / 1000) + 86_400;
const list = '/v0/contract/ip-authlist';
const { EXITWARD_DATABASE_URL } = process.env;
const databaseName = EXITWARD_DATABASE_URL ? 'PostgreSQL' : 'SQLite';

const names = {
  create: 'POST to the authlist',
  change: 'PATCH of an entry',
  remove: 'DELETE of an entry',
  override: 'POST of custom DNS',
};
type Kind = keyof typeof names;

/** A server under load. */
interface Target {
  name: string;
  process: Process;
  url: string;
  authorization: string;
}

async function exitward(name: string, program: string, database: string): Promise<Target> {
  const process = await start(program, ['1', values.entries], {
    ...serverSettings,
    EXITWARD_MAX_OVERRIDES: '100000000',
    EXITWARD_DATA_DIR: join(folder, name),
    ...(database ? { EXITWARD_DATABASE_URL: database } : {}),
  });
  const { base_url, tokens } = JSON.parse(process.said) as Served;
  const authorization = `Basic ${Buffer.from(`:${tokens[0]}`).toString('base64')}`;
  return { name, process, url: base_url, authorization };
}

const ours = await exitward('ours', 'server.ts', EXITWARD_DATABASE_URL ?? '');
const versions = [ours];
// On PostgreSQL each would need a database of its own.
for (const other of EXITWARD_DATABASE_URL ? [] : values.against) {
  versions.push(await exitward(basename(other), join(resolve(other), 'bench/server.ts'), ''));
}

/** The answer of Exitward to a change, as the floor is to send it. */
async function capture(kind: Kind): Promise<string> {
  const requests: Record<Kind, [method: string, path: string, body?: object]> = {
    create: ['POST', list, { ip: '192.0.2.1', user: 'alice', expiry }],
    change: ['PATCH', `${list}/1`, { expiry }],
    remove: ['DELETE', `${list}/${nextRemoved++}`],
    override: [
      'POST',
      '/v0/contract/overrides',
      { server: 'fra1', hostname: 'a.example', ip: '198.51.100.7', expiry },
    ],
  };
  const [method, path, body] = requests[kind];
  const headers = { authorization: ours.authorization, 'content-type': 'application/json' };
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
  const response = await fetch(ours.url + path, init);
  const sent = Array.from(response.headers)
    .filter(([name]) => !['connection', 'keep-alive', 'date'].includes(name))
    .flat();
  return JSON.stringify({ status: response.status, headers: sent, body: await response.text() });
}

interface Cost extends Result {
  /** Of the server's process, for each request. */
  cpu_us: number;
}

let prefix = 0;
/** The first entries are changed, the others are removed, each once. */
let nextRemoved = 100;
async function measure(
  kind: Kind,
  connections: number,
  target: Target,
  long_seconds = seconds,
): Promise<Cost> {
  prefix += 1;
  const first = kind === 'remove' ? nextRemoved : 1;
  const before = cpuSecondsOf(target.process.pid);
  const result = await load({
    url: target.url,
    connections,
    seconds: long_seconds,
    headers: { authorization: target.authorization },
    script: ['write.lua', kind, String(first), prefix.toString(16), String(expiry + prefix * 1000)],
  });
  const cpu_us = ((cpuSecondsOf(target.process.pid) - before) * 1e6) / (result.rate * long_seconds);
  // The script has sent a few more than were answered.
  const isOfExitward = versions.includes(target);
  if (kind === 'remove' && isOfExitward) {
    nextRemoved += Math.ceil(1.2 * result.rate * long_seconds) + 2 * connections;
  }
  if (isOfExitward && result.bad > 0) throw new Error(`${result.bad} bad answers`);
  return { ...result, cpu_us };
}

console.log(`${rounds} alternating rounds of ${seconds} s, medians; ${databaseName}, one process`);
// Until V8 has compiled what runs often: it does that in other threads, whose time counts.
for (const version of versions) {
  await measure(kinds[0] as Kind, connectionCounts[0] as number, version, Number(values.warm));
}
for (const kind of kinds) {
  const env = { BENCH_ANSWER: await capture(kind) };
  const process = await start('floor.ts', ['ready'], env);
  const { authorization } = ours;
  const floor = { name: 'a bare server', process, url: process.said, authorization };
  const targets: Target[] = [...versions, floor];
  for (const connections of connectionCounts) {
    const results: Cost[][] = targets.map(() => []);
    for (const target of targets) await measure(kind, connections, target);
    for (let round = 0; round < rounds; round++) {
      for (const turn of targets.keys()) {
        // Each is first in its round once in a while.
        const at = (turn + round) % targets.length;
        results[at]?.push(await measure(kind, connections, targets[at] as Target));
      }
    }
    for (const [what, unit] of [
      ['cpu_us', 'us of CPU'],
      ['rate', 'a second'],
      ['p99_ms', 'ms, p99'],
    ] as const) {
      const of = (at: number) => results[at]?.map((result) => result[what]) ?? [];
      for (const [at, { name }] of targets.entries()) {
        if (at === 0) continue;
        // Of each round: what else the machine does is about the same in both.
        const others = of(at);
        const ratio = median(of(0).map((value, round) => value / (others[round] ?? 0)));
        const work = `${databaseName}: ${names[kind]}, ${connections} connections`;
        const peer = { name, value: median(others) };
        report({ work, ours: median(of(0)), unit, peer, ratio });
      }
    }
  }
  await process.stop();
}
for (const { process } of versions) await process.stop();
rmSync(folder, { recursive: true, force: true });
