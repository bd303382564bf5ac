// The cost of a node for its traffic: a bare Squid, Squid with the agent, the embedded engine and
// no proxy, side by side.
//   node bench/proxy.ts [--entries 100000] [--rounds 3] [--seconds 1] [--tunnels 2000]
import { setTimeout as sleep } from 'node:timers/promises';
import { BareSquid } from './bare_squid.ts';
import { type Asked, pace, quantile, type Through, Tunnel } from './clients.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { load, median } from './load.ts';
import { ControlPlane, hosts, inADay, Node, startOrigin } from './node.ts';
import { totalOf, type Usage, usageOf } from './processes.ts';

const { entries, rounds, seconds, tunnels } = sizesFrom({
  entries: 100_000,
  rounds: 3,
  seconds: 1,
  tunnels: 2000,
});
/** Of the bare Squid's. */
const least = { connections: 0.8, throughput: 0.97 };
const connections = 32;
const pacePerSecond = 200;
const pieceBytes = 32 * 1024 * 1024;

const names = ['no proxy', 'bare Squid', 'Squid', 'embedded'] as const;
type Name = (typeof names)[number];

interface Proxy extends Through {
  /** The process above all others of it. */
  readonly pid: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  remove(): Promise<void>;
}

/** `x1`, `x4`: MB per second through one tunnel, and through four at once. */
type Figure = 'connections_per_second' | 'p50_ms' | 'p99_ms' | 'x1' | 'x4';

/** By subject, a value for each round. */
const results = new Map(names.map((name) => [name, new Map<Figure, number[]>()]));
/** Microseconds of the processor for a connection, by program, for each round. */
const costs = new Map(names.map((name) => [name, new Map<string, number[]>()]));

function note<Key>(all: Map<Key, number[]> | undefined, key: Key, value: number): void {
  all?.set(key, [...(all.get(key) ?? []), value]);
}

/** Undefined: the origin is asked itself. */
let proxies: Record<Name, Proxy | undefined>;
let originAt: Through;
let tunnelTo: Through;

/** A proxy is asked for the whole URL. */
const askedOf = (proxy: Proxy | undefined): Asked => {
  const host = `${originAt.host}:${originAt.port}`;
  return { target: proxy ? `http://${host}/` : '/', host };
};

/** The subjects in an order that turns from round to round. */
async function inTurns(measure: (name: Name, proxy: Proxy | undefined) => Promise<void>) {
  for (let round = 0; round < rounds; round++) {
    for (const at of names.keys()) {
      const name = names[(at + round) % names.length] as Name;
      await measure(name, proxies[name]);
    }
  }
}

async function measureConnections(name: Name, proxy: Proxy | undefined): Promise<void> {
  const { target, host } = askedOf(proxy);
  const before = proxy ? usageOf(proxy.pid) : new Map<string, Usage>();
  const { rate, bad } = await load({
    url: `http://${proxy ? `${proxy.host}:${proxy.port}` : host}/`,
    connections,
    seconds: 2 * seconds,
    script: ['connection.lua', target, host],
    anywhere: true,
  });
  const count = rate * 2 * seconds;
  if (bad > count * 0.001) throw new Error(`${name}: ${bad} requests failed`);
  note(results.get(name), 'connections_per_second', rate);
  for (const [program, { cpu_seconds }] of proxy ? usageOf(proxy.pid) : []) {
    const used = cpu_seconds - (before.get(program)?.cpu_seconds ?? 0);
    note(costs.get(name), program, (used * 1e6) / count);
  }
}

async function measureLatency(name: Name, proxy: Proxy | undefined): Promise<void> {
  const at = proxy ?? originAt;
  const times = await pace(at, askedOf(proxy), { per_second: pacePerSecond, seconds });
  note(results.get(name), 'p50_ms', quantile(times, 0.5));
  note(results.get(name), 'p99_ms', quantile(times, 0.99));
}

async function throughput(proxy: Proxy | undefined, tunnels: number): Promise<number> {
  const open = await Promise.all(
    Array.from({ length: tunnels }, () => Tunnel.open(proxy, tunnelTo)),
  );
  const began = performance.now();
  const until = began + seconds * 1000;
  await Promise.all(
    open.map(async (tunnel) => {
      while (performance.now() < until) await tunnel.fetch(pieceBytes);
    }),
  );
  const bytes = open.reduce((sum, tunnel) => sum + tunnel.received, 0);
  const rate = bytes / 1e3 / (performance.now() - began);
  for (const tunnel of open) tunnel.close();
  return rate;
}

/** The memory of a tunnel that has carried a few bytes and is silent. */
async function tellMemory(name: Name, proxy: Proxy, tunnels: number): Promise<void> {
  const before = totalOf(usageOf(proxy.pid), 'memory_mb');
  const open: Tunnel[] = [];
  for (let at = 0; at < tunnels; at += 100) {
    const batch = Array.from({ length: Math.min(100, tunnels - at) }, () =>
      Tunnel.open(proxy, tunnelTo),
    );
    open.push(...(await Promise.all(batch)));
  }
  for (const tunnel of open) await tunnel.fetch(100);
  // The agent has looked at them by then.
  await sleep(2000);
  const used = usageOf(proxy.pid);
  const each = ((totalOf(used, 'memory_mb') - before) * 1024) / tunnels;
  const all = Array.from(used, ([program, { memory_mb }]) => `${program} ${memory_mb.toFixed(0)}`);
  console.log(
    `${name.padEnd(11)} ${each.toFixed(1).padStart(6)} KiB a tunnel   ${before.toFixed(0)} MB before; now in MB: ${all.join(', ')}`,
  );
  for (const tunnel of open) tunnel.close();
}

// ---- Telling ------------------------------------------------------------------------------

const valuesOf = (name: Name, what: Figure) => results.get(name)?.get(what) ?? [];

/** The middle of the rounds' ratios to the bare Squid's of the same round. */
function ratioOf(name: Name, what: Figure): number {
  const bare = valuesOf('bare Squid', what);
  return median(valuesOf(name, what).map((value, round) => value / (bare[round] as number)));
}

function tellRates(title: string, what: Figure, unit: string, limit: number): void {
  console.log();
  for (const name of names) {
    report({
      work: `${title}: ${name}`,
      ours: median(valuesOf(name, what)),
      unit,
      peer: { name: 'bare Squid', value: median(valuesOf('bare Squid', what)) },
      ratio: ratioOf(name, what),
      ...(name === 'Squid' && { goal: { atLeast: limit } }),
    });
  }
}

function tellCosts(): void {
  console.log('\nprocessor time of a new connection, us');
  for (const [name, programs] of costs) {
    const all = Array.from(programs, ([program, used]) => `${program} ${median(used).toFixed(0)}`);
    if (all.length > 0) console.log(`${name.padEnd(11)} ${all.join(', ')}`);
  }
}

function tellLatency(): void {
  console.log(`\nlatency of a new connection, ${pacePerSecond} a second`);
  for (const name of names) {
    const middle = (what: Figure) => median(valuesOf(name, what)).toFixed(2);
    console.log(`${name.padEnd(11)} p50 ${middle('p50_ms')} ms   p99 ${middle('p99_ms')} ms`);
  }
}

const closers: Array<() => Promise<void>> = [];
try {
  const origin = await startOrigin();
  closers.push(() => origin.process.stop());
  originAt = { host: hosts.origins[0], port: origin.ports.http };
  tunnelTo = { host: hosts.origins[0], port: origin.ports.tunnel };
  const control = await ControlPlane.start({ entries });
  closers.push(() => control.remove());
  const { node_url, invites } = control.served;
  const expiry = inADay();
  await control.ask('POST', '/contract/ip-authlist', { ip: '127.0.0.1', user: 'alice', expiry });
  proxies = {
    'no proxy': undefined,
    'bare Squid': new BareSquid(),
    Squid: await Node.join('squid', node_url, invites[0] ?? ''),
    embedded: await Node.join('embedded', node_url, invites[1] ?? ''),
  };
  const all = Object.values(proxies).filter((proxy) => proxy !== undefined);
  for (const proxy of all) closers.push(() => proxy.remove());
  console.log(
    `${entries} authlist entries, ${rounds} rounds in turns, medians; all processes share the machine's cores`,
  );

  for (const proxy of all) await proxy.start();
  console.log(`\nmemory with ${tunnels} open tunnels that have carried some bytes`);
  for (const name of names) {
    const proxy = proxies[name];
    if (proxy) await tellMemory(name, proxy, tunnels);
  }
  await inTurns(async (name, proxy) => {
    note(results.get(name), 'x1', await throughput(proxy, 1));
    note(results.get(name), 'x4', await throughput(proxy, 4));
  });
  tellRates('throughput of one tunnel', 'x1', 'MB/s', least.throughput);
  tellRates('throughput of four tunnels at once', 'x4', 'MB/s', least.throughput);
  for (const proxy of all) await proxy.stop();

  // One at a time: the kernel reports all sockets of this machine where the agent asks for its own.
  await inTurns(async (name, proxy) => {
    await proxy?.start();
    await pace(proxy ?? originAt, askedOf(proxy), { per_second: 500, seconds: 0.5 });
    await measureLatency(name, proxy);
    await measureConnections(name, proxy);
    await proxy?.stop();
  });
  tellRates(
    `new connections, ${connections} at a time, a GET of a KiB each`,
    'connections_per_second',
    'per second',
    least.connections,
  );
  tellCosts();
  tellLatency();
} finally {
  for (const close of closers.reverse()) await close();
}
