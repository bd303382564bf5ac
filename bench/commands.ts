// A short command of `exw`, next to a bare Node that does nothing, and to one whose fetch sends one
// request.
//   node bench/commands.ts [--rounds 15]
// CPU time of whole processes, in turns, so that all see the same machine.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { rounds } = sizesFrom({ rounds: 15 });
const run = promisify(execFile);
const contract = {
  name: 'alice',
  expiry_date: 4e9,
  current_bytes: 0,
  limit_bytes: 1,
  active: true,
};
const server = createServer((_, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(contract));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const program = `${import.meta.dirname}/../client/bin/exw.js`;
const env = { ...process.env, EXW_URL: url, EXW_TOKEN: 'a-token' };

const commands = {
  whoami: [program, 'whoami'],
  bare: ['--eval', '0'],
  fetch: ['--eval', `fetch('${url}').then((response) => response.json())`],
};
const cpuMs = { whoami: [] as number[], bare: [] as number[], fetch: [] as number[] };
for (let round = 0; round <= rounds; round += 1) {
  for (const [name, words] of Object.entries(commands)) {
    const ms = await cpuMsOf(words);
    // In the first round Node has still to keep the code that it compiled.
    if (round > 0) cpuMs[name as keyof typeof commands].push(ms);
  }
}
server.close();

const whoami = median(cpuMs.whoami);
for (const [name, peer] of [
  ['a bare Node', 'bare'],
  ['fetch alone', 'fetch'],
] as const) {
  const ratio = median(cpuMs.whoami.map((ms, round) => ms / (cpuMs[peer][round] as number)));
  const value = median(cpuMs[peer]);
  report({ work: 'exw whoami, CPU', ours: whoami, unit: 'ms', peer: { name, value }, ratio });
}

/** Of a process of Node, and of nothing else. Errors: it failed. */
async function cpuMsOf(words: string[]): Promise<number> {
  const script = '"$@" > /dev/null || exit 1; times';
  const { stdout } = await run('sh', ['-c', script, 'sh', process.execPath, ...words], { env });
  const [user, system] = [...(stdout.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  );
  return ((user as number) + (system as number)) * 1000;
}
