// The server of `npm start` with its simulated nodes and without them, in alternating rounds: requests a second, and what both processes use at rest.
//   node bench/demo.ts [--rounds 3] [--seconds 4] [--rest 60]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Demo, type Facts, freeBase } from '../test/demo_process.ts';
import { load, median, type Result } from './load.ts';
import { usageOf } from './processes.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    rest: { type: 'string', default: '60' },
  },
});
const [rounds, seconds, rest] = [values.rounds, values.seconds, values.rest].map(Number) as [
  number,
  number,
  number,
];
/** What the nodes may take from the server's requests, and both processes of a core at rest. */
const least_ratio = 0.9;
const most_cores = 0.1;
const kinds = ['simulated', 'off'] as const;
type Kind = (typeof kinds)[number];
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const port_base = String(await freeBase());

async function withDemo<T>(kind: Kind, measure: (facts: Facts, demo: Demo) => Promise<T>) {
  const demo = new Demo(join(folder, kind), port_base, ['127.0.0.1:0', '127.0.0.1:0'], kind);
  try {
    const facts = await demo.ready();
    // Until all nodes have joined and follow.
    await sleep(8000);
    return await measure(facts, demo);
  } finally {
    await demo.stop();
  }
}

const requestsOf = ({ base_url, accounts }: Facts): Promise<Result> => {
  const pair = Buffer.from(`:${accounts[0]?.api_token}`).toString('base64');
  const headers = { authorization: `Basic ${pair}` };
  return load({ url: `${base_url}/v0/contract/servers`, connections: 32, seconds, headers });
};

try {
  const results = { simulated: [] as Result[], off: [] as Result[] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) results[kind].push(await withDemo(kind, requestsOf));
  }
  const rate = (kind: Kind) => median(results[kind].map((one) => one.rate));
  const p99 = (kind: Kind) => median(results[kind].map((one) => one.p99_ms));
  const bad = kinds.flatMap((kind) => results[kind]).reduce((sum, one) => sum + one.bad, 0);
  const ratio = rate('simulated') / rate('off');
  console.log(
    `${rounds} alternating rounds of ${seconds} s, medians; SQLite, GET /v0/contract/servers`,
  );
  for (const kind of kinds) {
    const what = kind === 'off' ? 'without simulated nodes' : 'with 52 simulated nodes';
    console.log(`${what}: ${rate(kind).toFixed(0)}/s, p99 ${p99(kind).toFixed(2)} ms`);
  }
  const cores = await withDemo('simulated', async ({ nodes_pid }, demo) => {
    const pids = { server: demo.child.pid as number, nodes: nodes_pid };
    const cpu = (pid: number) => usageOf(pid).get('node')?.cpu_seconds ?? 0;
    const before = { server: cpu(pids.server), nodes: cpu(pids.nodes) };
    await sleep(rest * 1000);
    return {
      server: (cpu(pids.server) - before.server) / rest,
      nodes: (cpu(pids.nodes) - before.nodes) / rest,
    };
  });
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  console.log(
    `ratio ${ratio.toFixed(2)}; at rest the server takes ${percent(cores.server)} of a core, the nodes ${percent(cores.nodes)}`,
  );
  if (bad > 0 || ratio < least_ratio || cores.server + cores.nodes > most_cores) {
    console.log(
      `MISSED: at least ${least_ratio}, at most ${percent(most_cores)}; ${bad} bad answers`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
