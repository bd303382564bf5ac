// How soon a change is in force: from its answer to the next connection that is evaluated by it, on
// a node with many entries.
//   node bench/effect.ts [--entries 100000] [--changes 300]

import { ask, quantile, type Through } from './clients.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { ControlPlane, type EngineName, hosts, inADay, Node, startOrigin } from './node.ts';

const { entries, changes } = sizesFrom({ entries: 100_000, changes: 300 });
const maxMs = { p50: 10, p99: 50 };
const giveUpMs = 5000;
const hostname = 'www.bench.example';

interface Made {
  id: number;
}

/** Milliseconds, and whether the first connection was evaluated by the change already. */
interface Effect {
  ms: number;
  isAtOnce: boolean;
}

let origin: Awaited<ReturnType<typeof startOrigin>>;
let control: ControlPlane;
/** Connects until the answer is such; nothing is waited for in between. */
async function until(through: Through, target: string, met: (answer: string) => boolean) {
  const from = performance.now();
  for (let tries = 1; ; tries++) {
    const answer = await ask(through, { target, host: new URL(target).host });
    const ms = performance.now() - from;
    if (met(answer)) return { ms, isAtOnce: tries === 1 };
    if (ms > giveUpMs) throw new Error(`not in force: ${answer.slice(0, 200)}`);
  }
}

/** Adds an address, and removes it again. */
async function changeAuthlist(node: Node, effects: Effect[], at: number): Promise<void> {
  const ip = `127.81.${at >> 8}.${at & 255}`;
  const through = { host: node.host, port: node.port, from: ip };
  const page = `http://${hosts.origins[0]}:${origin.ports.http}/`;
  const entry = { ip, user: 'alice', expiry: inADay() };
  const { id } = await control.ask<Made>('POST', '/contract/ip-authlist', entry);
  effects.push(await until(through, page, (answer) => answer.startsWith('HTTP/1.1 200')));
  await control.ask('DELETE', `/contract/ip-authlist/${id}`);
  // One that was let in before and is cut off meanwhile has an empty answer.
  effects.push(await until(through, page, (answer) => answer.startsWith('HTTP/1.1 407')));
}

/**
 * Moves a name to the origin's other address. The floor: the same request again, after no change.
 */
async function changeOverride(
  node: Node,
  { effects, floor }: Record<'effects' | 'floor', Effect[]>,
  at: number,
  id: number,
) {
  const ip = hosts.origins[at % 2] as string;
  const through = { host: node.host, port: node.override_port };
  const page = `http://${hostname}:${origin.ports.http}/`;
  const met = (answer: string) => answer.includes(`\r\n\r\n${ip} `);
  await control.ask('PATCH', `/contract/overrides/${id}`, { ip });
  effects.push(await until(through, page, met));
  floor.push(await until(through, page, met));
}

function tell(engine: EngineName, what: string, effects: Effect[]): { p50: number; p99: number } {
  const sorted = effects.map(({ ms }) => ms).sort((a, b) => a - b);
  const [p50, p99, max] = [0.5, 0.99, 1].map((part) => quantile(sorted, part)) as [
    number,
    number,
    number,
  ];
  const at_once = effects.filter(({ isAtOnce }) => isAtOnce).length / effects.length;
  console.log(
    `${engine.padEnd(9)} ${String(effects.length).padStart(4)} ${what.padEnd(17)} p50 ${p50.toFixed(1)} ms   p99 ${p99.toFixed(1)} ms   ` +
      `at most ${max.toFixed(1)} ms   by the first connection ${(at_once * 100).toFixed(0)}%`,
  );
  return { p50, p99 };
}

function evaluate(engine: EngineName, what: string, effects: Effect[]): void {
  const of = tell(engine, what, effects);
  for (const part of ['p50', 'p99'] as const) {
    const work = `${engine}: ${what} in force, ${part}`;
    report({ work, ours: of[part], unit: 'ms', goal: { atMost: maxMs[part] } });
  }
}

const closers: Array<() => Promise<void>> = [];
try {
  origin = await startOrigin();
  closers.push(() => origin.process.stop());
  control = await ControlPlane.start({ entries });
  closers.push(() => control.remove());
  const { node_url, invites } = control.served;
  const expiry = inADay();
  await control.ask('POST', '/contract/ip-authlist', { ip: '127.0.0.1', user: 'alice', expiry });
  const override = { server: 'fra1', hostname, ip: hosts.origins[0], expiry };
  const { id } = await control.ask<Made>('POST', '/contract/overrides', override);
  console.log(
    `from an answered change to an answer that shows it, with ${entries} authlist entries`,
  );
  for (const [which, engine] of (['squid', 'embedded'] as const).entries()) {
    const node = await Node.join(engine, node_url, invites[which] ?? '');
    closers.push(() => node.remove());
    await node.start();
    const authlist: Effect[] = [];
    const overrides = { effects: [] as Effect[], floor: [] as Effect[] };
    const times = Math.ceil(changes / 2);
    for (let at = 0; at < times; at++) {
      await changeAuthlist(node, authlist, at);
      await changeOverride(node, overrides, at + 1, id);
    }
    tell(engine, 'without a change', overrides.floor);
    evaluate(engine, 'authlist changes', authlist);
    evaluate(engine, 'override changes', overrides.effects);
    await node.stop();
  }
} finally {
  for (const close of closers.reverse()) await close();
}
