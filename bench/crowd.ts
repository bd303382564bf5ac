// A node with as many open connections as its descriptors allow, in many groups, of real clients
// through each engine: what they cost while somebody looks, and how long it takes to end them all.
//   node bench/crowd.ts [--tunnels 8000] [--groups 100] [--seconds 12]
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ask, type Through } from './clients.ts';
import type { Crowd } from './crowd_clients.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { ControlPlane, type EngineName, hosts, inADay, Node, startOrigin } from './node.ts';
import { memory_mb, totalOf, usageOf, waitedMs } from './processes.ts';

const { tunnels, groups, seconds } = sizesFrom({ tunnels: 8000, groups: 100, seconds: 12 });
const everyMs = 3000;
const paceMs = 20;
const addresses = Array.from({ length: groups }, (_, at) => `127.81.${at >> 8}.${at & 255}`);
/** Of another account, whose connections stay. */
const neighbour = '127.82.0.1';

const origin = await startOrigin();
const control = await ControlPlane.start({ accounts: 2, nodes: 0 });
const expiry = inADay();
for (const ip of addresses) {
  await control.ask('POST', '/contract/ip-authlist', { ip, user: 'alice', expiry });
}
await control.ask('POST', '/contract/ip-authlist', { ip: neighbour, user: 'alice', expiry }, 1);
const all = String(10 * tunnels);
const caps = Object.fromEntries(
  ['', '_PER_ACCOUNT', '_PER_USER', '_PER_ADDRESS'].map((of) => [
    `EXITWARD_AGENT_MAX_CONNECTIONS${of}`,
    all,
  ]),
);

interface Looked {
  total: { groups: number; connections: number };
}
const look = () => control.askOperator<Looked>('/connections?account=bench-0');

async function measure(engine: EngineName, code: string): Promise<void> {
  const node = await Node.join(engine, control.served.node_url, code);
  await node.start(caps);
  const proxy: Through = { host: node.host, port: node.port };
  const to: Through = { host: hosts.origins[0], port: origin.ports.tunnel };
  const clients = fork(fileURLToPath(new URL('crowd_clients.ts', import.meta.url)));
  let open = 0;
  clients.on('message', (count) => {
    open = count as number;
  });
  const until = async (isMet: () => boolean) => {
    while (!isMet()) await sleep(10);
  };
  const cpuMs = () => totalOf(usageOf(node.pid), 'cpu_seconds') * 1000;
  /** CPU of a second of the agent and all that it started, while this runs. */
  const cpuDuring = async (work: () => Promise<unknown>) => {
    const [before, start] = [cpuMs(), performance.now()];
    await work();
    return ((cpuMs() - before) * 1000) / (performance.now() - start);
  };
  /** The longest of a neighbour's requests while this runs, in ms. */
  const longestDuring = async (work: () => Promise<unknown>) => {
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    let longest = 0;
    const host = `${hosts.origins[0]}:${origin.ports.http}`;
    while (!isOver) {
      const start = performance.now();
      const text = await ask({ ...proxy, from: neighbour }, { target: `http://${host}/`, host });
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(`not let in: ${text.slice(0, 99)}`);
      longest = Math.max(longest, performance.now() - start);
      await sleep(paceMs);
    }
    await working;
    return longest;
  };
  try {
    const crowd: Crowd = { proxy, to, addresses, tunnels };
    clients.send(crowd);
    await until(() => open === tunnels);
    // Squid's connections are listed once a second, and the node may have come after the watch.
    const isWhole = async () => {
      const { total } = await look();
      return total.connections === tunnels && total.groups === groups;
    };
    for (let tries = 60; !(await isWhole()); tries -= 1) {
      if (tries === 0) throw new Error('not all connections are seen');
      await sleep(1000);
    }
    // The watch ends.
    await sleep(Math.min(31, 3 * seconds) * 1000);
    const idle = await cpuDuring(() => sleep(seconds * 1000));
    const looking = await cpuDuring(async () => {
      for (let at = 0; at < seconds * 1000; at += everyMs) {
        await look();
        await sleep(everyMs);
      }
    });
    const of = `${engine}: `;
    const peer = { name: 'no look open', value: idle };
    report({ work: `${of}CPU of a second while somebody looks`, ours: looking, unit: 'ms', peer });
    const memory = memory_mb(node.pid);
    report({ work: `${of}memory of the agent`, ours: memory, unit: 'MB' });
    const usually = await longestDuring(() => sleep(3000));
    const [before, start, waited] = [cpuMs(), performance.now(), waitedMs(node.pid)];
    let took = 0;
    let acknowledged = 0;
    const longest = await longestDuring(async () => {
      const end = control.orderOperator<{ ended: number }>('/accounts/bench-0/connections/end');
      await until(() => open === 0);
      took = performance.now() - start;
      // After five seconds it answers without the node.
      acknowledged = (await end).ended;
    });
    report({ work: `${of}${tunnels} connections ended`, ours: took, unit: 'ms' });
    report({ work: `${of}in the answer to the order`, ours: acknowledged, unit: '' });
    const without = waitedMs(node.pid) - waited;
    report({ work: `${of}meanwhile the agent waited for a core`, ours: without, unit: 'ms' });
    const each = ((cpuMs() - before) * 1000) / tunnels;
    report({ work: `${of}CPU for each that is ended`, ours: each, unit: 'us' });
    report({
      work: `${of}the longest request of another account meanwhile`,
      ...{ ours: longest, unit: 'ms', peer: { name: 'otherwise', value: usually } },
    });
  } finally {
    clients.kill('SIGKILL');
    await node.remove();
  }
}

try {
  console.log(
    `${tunnels} tunnels in ${groups} groups; CPU with all programs that the agent starts`,
  );
  const engines: EngineName[] = ['embedded', 'squid'];
  for (const [at, engine] of engines.entries()) {
    await measure(engine, control.served.invites[at] ?? '');
  }
} finally {
  await control.remove();
  await origin.process.stop();
}
