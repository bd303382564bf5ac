// A slow disk under SQLite: reads and /healthz during writes, and the latency of 128 writers,
// against a bare server.
//   node bench/slow_disk.ts [--fsync-ms 500] [--seconds 8]   needs cc
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { start } from './load.ts';
import type { Served } from './server.ts';
import { serverSettings } from './server_settings.ts';

const { 'fsync-ms': fsyncMs, seconds } = sizesFrom({ 'fsync-ms': 500, seconds: 8 });
const writers = 128;
const folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
const shim = join(folder, 'slow_fsync.so');
const source = fileURLToPath(new URL('slow_fsync.c', import.meta.url));
execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', shim, source]);

const slow = { LD_PRELOAD: shim, SLOW_FSYNC_MS: String(fsyncMs) };
const list = '/v0/contract/ip-authlist';
const expiry = Math.floor(Date.now() / 1000) + 86_400;

interface Asked {
  path: string;
  authorization?: string;
  post?: boolean;
}

let written = 0;
/**
 * Asks again and again on so many connections, until the time is up; every latency in milliseconds,
 * sorted.
 */
async function latencies(url: string, connections: number, query: Asked): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);
  const requestOnce = () =>
    new Promise<void>((resolve, reject) => {
      const { path, authorization } = query;
      const ip = `2001:db8::${((++written >> 16) & 0xffff).toString(16)}:${(written & 0xffff).toString(16)}`;
      const headers = {
        ...(authorization ? { authorization } : {}),
        ...(query.post ? { 'content-type': 'application/json' } : {}),
      };
      const method = query.post ? 'POST' : 'GET';
      const sent = request({ agent, hostname, port, path, method, headers }, (response) => {
        response.resume();
        response.on('end', () => {
          if ((response.statusCode ?? 500) < 300) resolve();
          else reject(new Error(`${path}: ${response.statusCode}`));
        });
      });
      sent.on('error', reject);
      sent.end(query.post ? JSON.stringify({ ip, user: 'alice', expiry }) : undefined);
    });
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < until) {
        const began = performance.now();
        await requestOnce();
        times.push(performance.now() - began);
      }
    }),
  );
  agent.destroy();
  return times.toSorted((a, b) => a - b);
}

const at = (times: number[], percent: number) =>
  times[Math.min(times.length - 1, Math.floor((times.length * percent) / 100))] as number;
const ms = (value: number) => value.toFixed(1).padStart(8);

const env = { ...serverSettings, EXITWARD_DATA_DIR: join(folder, 'exitward') };
// Filled at full speed, then served from the slow disk.
const filled = await start('server.ts', ['2', '40'], env);
await filled.stop();
const exitward = await start('server.ts', ['0', '0'], { ...env, ...slow });
const { base_url, tokens } = JSON.parse(exitward.said) as Served;
const [reader, writer] = tokens.map(
  (token) => `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
) as [string, string];

console.log(`a flush takes ${fsyncMs} ms; latencies in ms     p50      p99      1/s`);
const show = (name: string, times: number[]) =>
  console.log(
    `${name.padEnd(38)}${ms(at(times, 50))} ${ms(at(times, 99))} ${ms(times.length / seconds)}`,
  );
const create = { path: list, authorization: writer, post: true };
const [writes, reads, health] = await Promise.all([
  latencies(base_url, 1, create),
  latencies(base_url, 1, { path: `${list}/1`, authorization: reader }),
  latencies(base_url, 1, { path: '/healthz' }),
]);
show('POST, one writer', writes);
show('GET meanwhile', reads);
show('/healthz meanwhile', health);

// A disk as it is: the bare server flushes once for each request.
const answer = { status: 201, headers: ['content-type', 'application/json'], body: '{}' };
await exitward.stop();
const quick = await start('server.ts', ['0', '0'], env);
const floor = await start('floor.ts', ['commit'], { BENCH_ANSWER: JSON.stringify(answer) });
const url = (JSON.parse(quick.said) as Served).base_url;
await latencies(url, writers, create);
const ours = await latencies(url, writers, create);
const bare = await latencies(floor.said, writers, create);
console.log(`the disk as it is, ${writers} writers`);
show('POST', ours);
show('POST, bare server', bare);
for (const [name, times] of [
  ['GET', reads],
  ['/healthz', health],
] as const) {
  const work = `a slow disk: ${name} during writes, p50`;
  report({ work, ours: at(times, 50), unit: 'ms', goal: { atMost: 10 } });
}
report({
  work: `POST of ${writers} writers, p99`,
  ours: at(ours, 99),
  unit: 'ms',
  peer: { name: 'a bare server that commits', value: at(bare, 99) },
  goal: { atMost: 3 },
});
await quick.stop();
await floor.stop();
rmSync(folder, { recursive: true, force: true });
