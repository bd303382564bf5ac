// Growth: the same work with 1,000 and with 1,000,000 authlist entries, side by side, and what a
// server needs.
//   node bench/growth.ts [--entries 1000000] [--accounts 10000] [--rounds 5] [--seconds 3]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { load, median, type Process, start } from './load.ts';
import { memory_mb } from './processes.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { entries, accounts, rounds, seconds } = sizesFrom({
  entries: 1_000_000,
  accounts: 10_000,
  rounds: 5,
  seconds: 3,
});
const expiry = Math.floor(Date.now() / 1000) + 86_400;
const list = '/v0/contract/ip-authlist';

interface Subject extends Served {
  process: Process;
  folder: string;
}

async function open(accounts: number, entries: number, cache = true): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  const env = {
    EXITWARD_DATA_DIR: folder,
    ...serverSettings,
    // Without cached responses each request shows what the database costs.
    ...(cache ? {} : { EXITWARD_CACHE_BYTES: '1500' }),
  };
  const filling = await start('server.ts', [String(accounts), String(entries)], env);
  await filling.stop();
  const process = await start('server.ts', ['0', '0'], env);
  return {
    process,
    folder,
    ...(JSON.parse(process.said) as Served),
  };
}

async function close({ process, folder }: Subject): Promise<void> {
  await process.stop();
  rmSync(folder, { recursive: true, force: true });
}

const authorization = (subject: Subject, at = 0) =>
  `Basic ${Buffer.from(`:${subject.tokens[at]}`).toString('base64')}`;
let prefix = 0;
const create = (subject: Subject, at: number) =>
  load({
    url: subject.base_url + list,
    connections: 32,
    seconds,
    headers: { authorization: authorization(subject, at) },
    script: ['write.lua', 'create', '1', (++prefix).toString(16), String(expiry)],
  });
const get = (path: string) => (subject: Subject) =>
  load({
    url: subject.base_url + path,
    connections: 32,
    seconds,
    headers: { authorization: authorization(subject) },
  });
const filter = (subject: Subject) =>
  load({
    url: subject.base_url + list,
    connections: 32,
    seconds,
    headers: { authorization: authorization(subject) },
    script: ['filter.lua'],
  });

const streamed = 2000;

/** Changes per second that a node receives which resumes where the load began. */
async function follow(subject: Subject): Promise<{ rate: number }> {
  const { node_url, nodes, epoch, revision } = subject;
  const stop = new AbortController();
  const before = performance.now();
  const response = await fetch(`${node_url}/node/changes`, {
    headers: {
      authorization: `Bearer ${nodes[0]}`,
      'last-event-id': `${epoch}:${revision}`,
    },
    signal: stop.signal,
  });
  let changes = 0;
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    changes += new TextDecoder().decode(chunk).split('event: change').length - 1;
    if (changes >= streamed) break;
  }
  stop.abort();
  return { rate: (changes * 1000) / (performance.now() - before) };
}

const works: Array<[string, (subject: Subject) => Promise<{ rate: number }>]> = [
  ['list', get(list)],
  ['one', get(`${list}/1`)],
  ['filter', filter],
  ['create', (subject) => create(subject, 1)],
  // After the creates: there are changes to follow.
  ['stream', follow],
];

// The same entries per account on both sides, so that only the size of the network differs.
const small = await open(Math.max(2, Math.round((1000 * accounts) / entries)), 1000, false);
const large = await open(accounts, entries, false);
console.log(
  `without cached responses, ${rounds} alternating rounds, medians: cost per request with ${entries} entries over that with 1000`,
);
for (const [name, work] of works) {
  const [few, many]: [number[], number[]] = [[], []];
  await work(small);
  await work(large);
  for (let round = 0; round < rounds; round++) {
    few.push(1e6 / (await work(small)).rate);
    many.push(1e6 / (await work(large)).rate);
  }
  report({
    work: `${name}, ${entries} entries`,
    ours: median(many),
    unit: 'us',
    peer: { name: '1000 entries', value: median(few) },
  });
}
await close(small);
await large.process.stop();

/** The real program on the large network: milliseconds from its start to its first answer. */
async function serveLarge(): Promise<Subject & { first_answer_ms: number }> {
  const before = performance.now();
  const port = 18_000 + (process.pid % 1000);
  const settings = {
    EXITWARD_DATA_DIR: large.folder,
    EXITWARD_LISTEN: `127.0.0.1:${port}`,
    EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
    EXITWARD_METRICS_LISTEN: 'off',
    EXITWARD_MAX_AUTHLIST_ENTRIES: '100000000',
  };
  const served = await start('../server/bin/exitward.js', ['serve'], settings, { isQuiet: true });
  const base_url = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${base_url}/v0/contract`, {
    headers: { authorization: authorization(large) },
  });
  if (answer.status !== 200) throw new Error(`the first answer was ${answer.status}`);
  return { ...large, process: served, base_url, first_answer_ms: performance.now() - before };
}

const starts: number[] = [];
for (let round = 0; round < 4; round++) {
  const served = await serveLarge();
  starts.push(served.first_answer_ms);
  if (round < 3) {
    await served.process.stop();
    continue;
  }
  const idle = memory_mb(served.process.pid);
  for (const [, work] of works.filter(([name]) => name !== 'stream')) await work(served);
  console.log(
    `exitward serve with ${entries} entries: first answer after ${median(starts).toFixed(0)} ms, ` +
      `memory ${idle.toFixed(0)} MB at rest and ${memory_mb(served.process.pid).toFixed(0)} MB after load`,
  );
  await close(served);
}

const connection = await open(1, 10_000);
console.log(
  `one account with 10000 entries: create ${(await create(connection, 0)).rate.toFixed(0)}/s`,
);
const fresh = await get(`${list}`)(connection);
console.log(`  list ${fresh.rate.toFixed(0)}/s kept`);
await close(connection);
const cold = await open(1, 10_000, false);
console.log(`  list ${(await get(list)(cold)).rate.toFixed(0)}/s without cached responses`);
await close(cold);
