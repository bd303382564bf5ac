// The policy of a large node on disk and in memory: what it needs to start, and to follow a change,
// against floors and limits.
//   node bench/policy.ts [--entries 1000000] [--accounts 1000] [--rounds 5]
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { entries, accounts, rounds } = sizesFrom({ entries: 1_000_000, accounts: 1000, rounds: 5 });
const limits = { start_ms: 5000, bytes_per_entry: 300, change_ms: 0.5 };

type Measured = Record<string, number>;

interface Subject {
  folder: string;
  entries: number;
  accounts: number;
}

const run = promisify(execFile);

async function measure(what: string, { folder, entries, accounts }: Subject): Promise<Measured> {
  const path = fileURLToPath(new URL('policy_process.ts', import.meta.url));
  // The young generation is as small as in bin/exitward-agent.js.
  const flags = ['--expose-gc', '--max-semi-space-size=8'];
  const args = [what, folder, String(entries), String(accounts)];
  const { stdout } = await run(process.execPath, [...flags, path, ...args]);
  return JSON.parse(stdout) as Measured;
}

const decider = fileURLToPath(new URL('../agent/src/squid/decider/main.ts', import.meta.url));

/**
 * Milliseconds from the start of Squid's helper to its first answer, to a request that waits for
 * it.
 */
async function startDecider(folder: string): Promise<number> {
  const rulesFile = join(folder, 'rules.json');
  const rules = {
    connect_ports: [{ first: 443, last: 443 }],
    http_ports: [],
    staleness_seconds: 86_400,
  };
  writeFileSync(rulesFile, JSON.stringify({ rules, allowed: '', port_shift: 0 }));
  const began = performance.now();
  const child = spawn(process.execPath, [decider, folder, rulesFile, join(folder, 'no.sock')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.write('0 20.0.0.1 50000 10001 CONNECT www.example.com 443 - -\n');
  const [answer] = (await once(child.stdout, 'data')) as [Buffer];
  const took = performance.now() - began;
  if (!`${answer}`.startsWith('0 OK ')) throw new Error(`the decider answered ${answer}`);
  child.stdin.end();
  await once(child, 'exit');
  return took;
}

const middle = (all: Measured[], name: string) => median(all.map((run) => run[name] as number));
const mb = (value = 0) => `${value.toFixed(0)} MB`;
const ms = (value = 0) => `${value.toFixed(value < 10 ? 3 : 0)} ms`;

async function fill(entries: number, accounts: number): Promise<Subject & { taken: Measured }> {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  const subject = { folder, entries, accounts };
  return { ...subject, taken: await measure('replace', subject) };
}

const small = await fill(1000, Math.max(1, Math.round((1000 * accounts) / entries)));
const large = await fill(entries, accounts);
try {
  console.log(`${entries} entries, ${rounds} alternating rounds, medians`);
  console.log(`taking the snapshot: ${ms(large.taken.ms)}, peak ${mb(large.taken.peak_mb)}`);
  const parses: Measured[] = [];
  const starts: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    parses.push(await measure('parse', large));
    starts.push(await measure('start', large));
  }
  const start_ms = middle(starts, 'ms');
  const ratio = start_ms / middle(parses, 'ms');
  report({ work: 'a node starts', ours: start_ms, unit: 'ms', goal: { atMost: limits.start_ms } });
  console.log(
    `  ${ratio.toFixed(2)} times as long as parsing; longest pause meanwhile ${ms(middle(starts, 'pause_ms'))}`,
  );
  const bytes = middle(starts, 'bytes') / entries;
  const goal = { atMost: limits.bytes_per_entry };
  report({ work: 'memory of a node', ours: bytes, unit: 'bytes an entry', goal });
  console.log(
    `  resident ${mb(middle(starts, 'rss_mb'))}, at most ${mb(middle(starts, 'peak_mb'))} while starting`,
  );

  const deciders: number[] = [];
  for (let round = 0; round < rounds; round++) deciders.push(await startDecider(large.folder));
  const decider_ms = median(deciders);
  report({
    work: "Squid's decider, to its first answer",
    ours: decider_ms,
    unit: 'ms',
    goal: { atMost: limits.start_ms },
  });

  const [few, many]: [Measured[], Measured[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    few.push(await measure('change', small));
    many.push(await measure('change', large));
  }
  const change_ms = middle(many, 'p50_ms');
  const work = 'a change of a node, from appending to applied, p50';
  report({ work, ours: change_ms, unit: 'ms', goal: { atMost: limits.change_ms } });
  const growth = change_ms / middle(few, 'p50_ms');
  const p99 = ms(middle(many, 'p99_ms'));
  console.log(`  p99 ${p99}; p50 is ${growth.toFixed(2)} times that with 1000 entries`);

  const { ms: took, pause_ms, before_mb, peak_mb, after_mb } = await measure('compact', large);
  console.log(
    `compaction: ${ms(took)} in a thread, the agent's longest pause ${ms(pause_ms)}; ` +
      `resident ${mb(before_mb)} before, at most ${mb(peak_mb)}, ${mb(after_mb)} after`,
  );
} finally {
  for (const { folder } of [small, large]) rmSync(folder, { recursive: true, force: true });
}
