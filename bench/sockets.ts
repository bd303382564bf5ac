// The kernel's list of tens of thousands of connections, as the agent reads it for Squid, and
// closing 10,000 of them: real sockets without a proxy, held by other processes.
//   node bench/sockets.ts [--connections 27000] [--closed 10000]
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { killSockets, listSockets } from '../agent/src/squid/sockets.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import type { Holding } from './socket_holders.ts';

const { connections, closed } = sizesFrom({ connections: 27_000, closed: 10_000 });
const host = '127.83.0.1';
const firstPort = 21_000;
/** Processes may have 20,000 descriptors on many systems; each end has one. */
const maxOfProcess = 9000;
/** The cost of one among so many more sockets may be so many times that among a tenth. */
const maxRatio = 3;

/** Opens so many, and returns the ports and what ends them. */
async function open(count: number) {
  const holders: ChildProcess[] = [];
  const ports: number[] = [];
  for (let held = 0; held < count; held += maxOfProcess) {
    const port = firstPort + ports.length;
    ports.push(port);
    const holding = { host, port, connections: Math.min(maxOfProcess, count - held) };
    for (const end of ['server', 'client'] as const) {
      const holder = fork(fileURLToPath(new URL('socket_holders.ts', import.meta.url)));
      holders.push(holder);
      const isReady = new Promise((resolve) => holder.once('message', resolve));
      holder.send({ ...holding, end } satisfies Holding);
      await isReady;
    }
  }
  return { ports, end: () => holders.forEach((holder) => void holder.kill('SIGKILL')) };
}

/** CPU of programs that this process waited for, in ms, by the kernel's hundredths. */
function cpuOfProgramsMs(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

const delay = monitorEventLoopDelay({ resolution: 2 });
interface Cost {
  ownMs: number;
  ofProgramsMs: number;
  longestTurnMs: number;
}

async function costOf<T>(work: () => Promise<T>): Promise<[T, Cost]> {
  delay.reset();
  delay.enable();
  const [own, programs] = [process.cpuUsage(), cpuOfProgramsMs()];
  const result = await work();
  const { user, system } = process.cpuUsage(own);
  delay.disable();
  const ofProgramsMs = cpuOfProgramsMs() - programs;
  return [result, { ownMs: (user + system) / 1000, ofProgramsMs, longestTurnMs: delay.max / 1e6 }];
}

async function measure(count: number, closing: number) {
  const { ports, end } = await open(count);
  try {
    // The first runs code that is not compiled yet.
    await listSockets(ports, host);
    const [sockets, listing] = await costOf(() => listSockets(ports, host));
    const names = sockets.map(({ connection }) => connection);
    const every = Math.floor(count / closing);
    const named = names.filter((_, at) => at % every === 0).slice(0, closing);
    const [, killing] = await costOf(() => killSockets(named, host));
    const remaining = (await listSockets(ports, host)).length;
    if (sockets.length !== count || remaining !== count - named.length) {
      throw new Error(`${sockets.length} were listed, and ${remaining} after closing ${closing}`);
    }
    return { listing, killing };
  } finally {
    end();
  }
}

const few = await measure(connections / 10, closed / 10);
const many = await measure(connections, closed);
const usEach = ({ ownMs, ofProgramsMs }: Cost, count: number) =>
  ((ownMs + ofProgramsMs) * 1000) / count;
for (const [work, of, count] of [
  ['listed', 'listing', connections],
  ['closed', 'killing', closed],
] as const) {
  report({
    work: `CPU of a connection ${work}, ${count} of ${connections}`,
    ...{ ours: usEach(many[of], count), unit: 'us' },
    peer: { name: 'of a tenth', value: usEach(few[of], count / 10) },
    goal: { atMost: maxRatio },
  });
  const own = `CPU of that in the agent, ${count} ${work}`;
  report({ work: own, ours: many[of].ownMs, unit: 'ms' });
  report({ work: 'the longest turn meanwhile', ours: many[of].longestTurnMs, unit: 'ms' });
}
