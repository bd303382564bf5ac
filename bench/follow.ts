// Many nodes follow one control plane while changes are made: from an answered change to every node
// having it, and its acknowledgement.
//   node bench/follow.ts [--nodes 300] [--servers 100] [--per-second 200] [--seconds 20]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sizesFrom } from './flags.ts';
import type { Change, Followed, Following } from './followers.ts';
import { report } from './goals.ts';
import { ControlPlane, inADay } from './node.ts';
import { cpuSecondsOf } from './processes.ts';

const {
  nodes,
  servers,
  'per-second': perSecond,
  seconds,
} = sizesFrom({ nodes: 300, servers: 100, 'per-second': 200, seconds: 20 });
const maxMs = 1000;
const accounts = 100;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

const control = await ControlPlane.start({ accounts, entries: 10_000, servers, nodes });
const { served, process: server } = control;
const followers = fork(fileURLToPath(new URL('followers.ts', import.meta.url)));
try {
  const following: Following = {
    url: served.node_url,
    tokens: served.nodes,
    position: `${served.epoch}:${served.revision}`,
  };
  followers.send(following);
  await once(followers, 'message');

  const changes: Change[] = [];
  const change = async (at: number) => {
    const ip = `11.0.${at >> 8}.${at & 255}`;
    const entry = { ip, user: 'alice', expiry: inADay() };
    const asked_ms = nowMs();
    await control.ask('POST', '/contract/ip-authlist', entry, at % accounts);
    changes.push({ ip, asked_ms, answered_ms: nowMs() });
  };
  const [cpu, own] = [cpuSecondsOf(server.pid), cpuSecondsOf(followers.pid as number)];
  const began = performance.now();
  const under_way: Promise<void>[] = [];
  for (let at = 0; at < perSecond * seconds; at++) {
    const early = began + (at * 1000) / perSecond - performance.now();
    if (early > 1) await sleep(early);
    under_way.push(change(at));
  }
  await Promise.all(under_way);
  const took = (performance.now() - began) / 1000;
  const cores = (after: number, before: number) => ((after - before) / took).toFixed(2);
  const used = cores(cpuSecondsOf(server.pid), cpu);
  const usedByNodes = cores(cpuSecondsOf(followers.pid as number), own);

  followers.send(changes);
  const [{ received, acknowledged, acknowledgements }] = (await once(followers, 'message')) as [
    Followed,
  ];
  const answers = changes
    .map((change) => change.answered_ms - change.asked_ms)
    .sort((a, b) => a - b);
  const at = (part: number) => (answers[Math.floor(answers.length * part)] as number).toFixed(1);
  console.log(
    `${nodes} nodes of ${servers} servers, every account on all; ${(changes.length / took).toFixed(0)} changes a second for ${took.toFixed(0)} s`,
  );
  console.log(`a change is answered: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
  for (const [what, { p50_ms, p99_ms, most_ms }] of Object.entries({ received, acknowledged })) {
    console.log(
      `from there to ${what} by a node: p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms, at most ${most_ms.toFixed(0)} ms`,
    );
  }
  console.log(
    `control plane: ${used} of a core, with ${(acknowledgements / took).toFixed(0)} acknowledgements a second; the nodes ${usedByNodes}`,
  );
  const work = `a change until ${nodes} nodes acknowledged it, p99`;
  report({ work, ours: acknowledged.p99_ms, unit: 'ms', goal: { atMost: maxMs } });
} finally {
  followers.kill();
  await control.remove();
}
