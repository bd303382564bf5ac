// The server of `npm start` with its simulated nodes and without them, in alternating rounds:
// requests a second, and what its processes use at rest.
//   node bench/demo.ts [--rounds 3] [--seconds 4] [--rest 60]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Demo, type Facts, freeBase } from '../test/demo_process.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { load, median, type Result } from './load.ts';
import { cpuSecondsOf } from './processes.ts';

const { rounds, seconds, rest } = sizesFrom({ rounds: 3, seconds: 4, rest: 60 });
/**
 * The share that the nodes may take of the server's requests, and both processes of a core at rest.
 */
const minRatio = 0.9;
const maxCores = 0.1;
const kinds = ['simulated', 'off'] as const;
type Kind = (typeof kinds)[number];
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const portBase = String(await freeBase());

async function withDemo<T>(kind: Kind, measure: (facts: Facts, demo: Demo) => Promise<T>) {
  const demo = new Demo(join(folder, kind), portBase, ['127.0.0.1:0', '127.0.0.1:0'], kind);
  try {
    const facts = await demo.ready();
    // Until all nodes have joined and follow.
    await sleep(8000);
    return await measure(facts, demo);
  } finally {
    await demo.stop();
  }
}

interface Measured {
  rate: number;
  p99_ms: number;
  bad: number;
  /** Requests for a second of the server's processor time: whatever else the machine does. */
  per_cpu_second: number;
}

/** Asks for as long as the server works for so many seconds. */
async function loadFor(cpu_seconds: number, { base_url, accounts }: Facts, { child }: Demo) {
  const pair = Buffer.from(`:${accounts[0]?.api_token}`).toString('base64');
  const headers = { authorization: `Basic ${pair}` };
  const url = `${base_url}/v0/contract/servers`;
  const before = cpuSecondsOf(child.pid as number);
  const results: Result[] = [];
  for (let used = 0; ; ) {
    results.push(await load({ url, connections: 32, seconds: 1, headers }));
    used = cpuSecondsOf(child.pid as number) - before;
    if (used < cpu_seconds) continue;
    const answers = results.reduce((sum, { rate }) => sum + rate, 0);
    return { results, answers, used };
  }
}

async function requestsOf(facts: Facts, demo: Demo): Promise<Measured> {
  // Until its code is compiled.
  await loadFor(seconds / 2, facts, demo);
  const { results, answers, used } = await loadFor(seconds, facts, demo);
  return {
    rate: median(results.map(({ rate }) => rate)),
    p99_ms: median(results.map(({ p99_ms }) => p99_ms)),
    bad: results.reduce((sum, { bad }) => sum + bad, 0),
    per_cpu_second: answers / used,
  };
}

try {
  const results = { simulated: [] as Measured[], off: [] as Measured[] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) results[kind].push(await withDemo(kind, requestsOf));
  }
  const of = (kind: Kind, pick: (measured: Measured) => number) => median(results[kind].map(pick));
  const bad = kinds.flatMap((kind) => results[kind]).reduce((sum, result) => sum + result.bad, 0);
  console.log(
    `${rounds} alternating rounds of ${seconds} s of the server, medians; SQLite, GET /v0/contract/servers`,
  );
  for (const kind of kinds) {
    const what = kind === 'off' ? 'without simulated nodes' : 'with 52 simulated nodes';
    console.log(
      `${what}: ${of(kind, ({ rate }) => rate).toFixed(0)}/s, p99 ${of(kind, ({ p99_ms }) => p99_ms).toFixed(2)} ms, ${of(kind, (result) => result.per_cpu_second).toFixed(0)} for a second of its processor time`,
    );
  }
  const perCpu = ({ per_cpu_second }: Measured) => per_cpu_second;
  const cores = await withDemo('simulated', async ({ nodes_pid }, demo) => {
    const pids = { server: demo.child.pid as number, nodes: nodes_pid };
    const before = { server: cpuSecondsOf(pids.server), nodes: cpuSecondsOf(pids.nodes) };
    await sleep(rest * 1000);
    return {
      server: (cpuSecondsOf(pids.server) - before.server) / rest,
      nodes: (cpuSecondsOf(pids.nodes) - before.nodes) / rest,
    };
  });
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  console.log(
    `at rest the server takes ${percent(cores.server)} of a core, the nodes ${percent(cores.nodes)}`,
  );
  report({
    work: 'the demo: requests with simulated nodes',
    ours: of('simulated', perCpu),
    unit: 'per CPU second',
    peer: { name: 'without nodes', value: of('off', perCpu) },
    goal: { atLeast: minRatio },
  });
  report({
    work: 'the demo at rest, server and nodes',
    ours: cores.server + cores.nodes,
    unit: 'of a core',
    goal: { atMost: maxCores },
  });
  report({ work: 'the demo: bad answers', ours: bad, unit: 'in all', goal: { atMost: 0 } });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
