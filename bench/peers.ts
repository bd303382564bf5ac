// The embedded engine and other proxies: CPU time of a GET, of a CONNECT and of a MB through a
// tunnel. Each does the same amount of work in turn, round after round.
//   node bench/peers.ts [--entries 100000] [--rounds 7] [--requests 1000] [--megabytes 256]
//       [--warm 5000]   GETs and CONNECTs before they are measured
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BareSquid } from './bare_squid.ts';
import { ask, type Through, Tunnel } from './clients.ts';
import { type Goal, report } from './goals.ts';
import { median, type Process, start } from './load.ts';
import { ControlPlane, hosts, inADay, Node, startOrigin } from './node.ts';
import { totalOf, usageOf } from './processes.ts';

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '7' },
    requests: { type: 'string', default: '1000' },
    megabytes: { type: 'string', default: '256' },
    warm: { type: 'string', default: '5000' },
  },
});
const [rounds, requests, megabytes] = [values.rounds, values.requests, values.megabytes].map(
  Number,
) as [number, number, number];
/** Of proxy-chain's CPU: it runs on Node, too, and decides and counts nothing. */
const maxRatio = 1.1;
/** V8 compiles what runs often in other threads, whose time counts. */
const warm = Number(values.warm);
/** The kernel gives no port of a connection to another one so soon after its end. */
const portSeconds = 61;
const atOnce = 16;
const peerPort = 8888;
const startSeconds = 10;

interface Peer extends Through {
  /** The process above all others of it. */
  readonly pid: number;
  start(): Promise<void>;
  remove(): Promise<void>;
}

class ProxyChain implements Peer {
  readonly host = '127.80.3.4';
  readonly port = peerPort;
  #process: Process | undefined;

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    const args = [this.host, String(this.port), hosts.exit];
    this.#process = await start('proxy_chain.ts', args, {}, { anywhere: true });
  }

  async remove(): Promise<void> {
    await this.#process?.stop();
  }
}

class Tinyproxy implements Peer {
  readonly host = '127.80.3.5';
  readonly port = peerPort;
  readonly #folder = mkdtempSync(join(tmpdir(), 'exitward-bench-'));
  #child: ChildProcess | undefined;

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const settings = [
      `Listen ${this.host}`,
      `Port ${this.port}`,
      `Bind ${hosts.exit}`,
      'MaxClients 1000',
      'LogLevel Critical',
      'DisableViaHeader Yes',
    ];
    const file = join(this.#folder, 'tinyproxy.conf');
    writeFileSync(file, `${settings.join('\n')}\n`);
    this.#child = spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' });
    await once(this.#child, 'spawn');
    const deadline = performance.now() + startSeconds * 1000;
    while ((await ask(this, target())) === '') {
      if (performance.now() > deadline) throw new Error('tinyproxy does not start');
      await sleep(50);
    }
  }

  async remove(): Promise<void> {
    if (this.#child?.exitCode === null) {
      this.#child.kill('SIGTERM');
      await once(this.#child, 'exit');
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

let origin: { http: Through; tunnel: Through };

const target = () => {
  const host = `${origin.http.host}:${origin.http.port}`;
  return { target: `http://${host}/`, host };
};

interface Work {
  /** Of one, or of a MB. */
  unit: 'us' | 'ms';
  count: number;
  run(proxy: Through, count: number): Promise<void>;
  goal?: Goal;
}

/** Some at once, until there were as many as `count`. */
async function repeat(count: number, work: () => Promise<void>): Promise<void> {
  let begun = 0;
  const lane = async () => {
    while (begun++ < count) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

const works: Record<string, Work> = {
  GET: {
    unit: 'us',
    count: requests,
    run: (proxy, count) =>
      repeat(count, async () => {
        const text = await ask(proxy, target());
        if (!/^HTTP\/1\.[01] 200/.test(text)) throw new Error(`no answer: ${text.slice(0, 200)}`);
      }),
  },
  CONNECT: {
    unit: 'us',
    count: requests,
    goal: { atMost: maxRatio },
    run: (proxy, count) =>
      repeat(count, async () => {
        const tunnel = await Tunnel.open(proxy, origin.tunnel);
        await tunnel.fetch(1024);
        tunnel.close();
      }),
  },
  'a MB through a tunnel': {
    unit: 'ms',
    count: megabytes,
    goal: { atMost: maxRatio },
    run: async (proxy, count) => {
      const tunnel = await Tunnel.open(proxy, origin.tunnel);
      await tunnel.fetch(count * 1e6);
      tunnel.close();
    },
  },
};

interface Sample {
  /** CPU time of one. */
  cpu: number;
  per_second: number;
}

async function sampleOf({ run, unit, count }: Work, peer: Peer): Promise<Sample> {
  const before = totalOf(usageOf(peer.pid), 'cpu_seconds');
  const began = performance.now();
  await run(peer, count);
  const seconds = (performance.now() - began) / 1000;
  const cpu_seconds = totalOf(usageOf(peer.pid), 'cpu_seconds') - before;
  return { cpu: (cpu_seconds * (unit === 'us' ? 1e6 : 1e3)) / count, per_second: count / seconds };
}

const closers: Array<() => Promise<void>> = [];
try {
  const { process, ports } = await startOrigin();
  closers.push(() => process.stop());
  const [host] = hosts.origins;
  origin = { http: { host, port: ports.http }, tunnel: { host, port: ports.tunnel } };
  const control = await ControlPlane.start({ entries: Number(values.entries) });
  closers.push(() => control.remove());
  const { node_url, invites } = control.served;
  const entry = { ip: '127.0.0.1', user: 'alice', expiry: inADay() };
  await control.ask('POST', '/contract/ip-authlist', entry);
  const peers: Record<string, Peer> = {
    embedded: await Node.join('embedded', node_url, invites[0] ?? ''),
    'proxy-chain': new ProxyChain(),
    'bare Squid': new BareSquid(),
    tinyproxy: new Tinyproxy(),
  };
  for (const peer of Object.values(peers)) {
    closers.push(() => peer.remove());
    await peer.start();
  }
  console.log(
    `CPU time of the proxy for one: ${rounds} rounds in turns, medians; ${requests} requests, ${atOnce} at once, each on a connection of its own; ${megabytes} MB`,
  );
  const names = Object.keys(peers);
  for (const [title, work] of Object.entries(works)) {
    if (work.unit === 'us' && warm > 0) {
      for (const name of names) await work.run(peers[name] as Peer, warm);
      await sleep(portSeconds * 1000);
    }
    const samples = new Map(names.map((name) => [name, [] as Sample[]]));
    // The first round warms up.
    for (let round = -1; round < rounds; round++) {
      for (const at of names.keys()) {
        const name = names[(at + round + 1) % names.length] as string;
        const sample = await sampleOf(work, peers[name] as Peer);
        if (round >= 0) samples.get(name)?.push(sample);
      }
    }
    const of = (name: string, what: keyof Sample) =>
      (samples.get(name) as Sample[]).map((sample) => sample[what]);
    const rates = names.map((name) => `${name} ${median(of(name, 'per_second')).toFixed(0)}`);
    console.log(`\n${title}, a second: ${rates.join(', ')}`);
    const ours = of('embedded', 'cpu');
    for (const name of names.slice(1)) {
      const theirs = of(name, 'cpu');
      report({
        work: `CPU of ${title}`,
        ours: median(ours),
        unit: work.unit,
        peer: { name, value: median(theirs) },
        ratio: median(ours.map((value, round) => value / (theirs[round] as number))),
        ...(name === 'proxy-chain' && work.goal && { goal: work.goal }),
      });
    }
  }
} finally {
  for (const close of closers.reverse()) await close();
}
