// Somebody looks at the open connections of many nodes: how long until all have answered, what CPU
// time that takes, and the CPU time while they look and while they don't.
//   node bench/looks.ts [--nodes 50] [--groups 200] [--connections 2000] [--rounds 7]
//     [--seconds 20]
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { groupConnections, largestGroups } from '../agent/src/connection_groups.ts';
import { sizesFrom } from './flags.ts';
import { report } from './goals.ts';
import { type Looking, openConnections } from './looking_nodes.ts';
import { ControlPlane } from './node.ts';
import { cpuSecondsOf, waitedMs } from './processes.ts';

const { nodes, groups, connections, rounds, seconds } = sizesFrom({
  ...{ nodes: 50, groups: 200, connections: 2000, rounds: 7, seconds: 20 },
});
/** A look at one account is a watch of its own. */
const accounts = Math.max(10, rounds);
const everyMs = 3000;
const maxMs = 1000;

interface Looked {
  missing: object[];
}

const control = await ControlPlane.start({ accounts, servers: Math.ceil(nodes / 2), nodes });
const { served, process: server } = control;
const looking = fork(fileURLToPath(new URL('looking_nodes.ts', import.meta.url)));
let state = { following: 0, reports: 0 };
looking.on('message', (message) => {
  state = message as typeof state;
});

/** How many nodes were missing in any look. */
let missed = 0;

/** Looks, and returns how long it took. */
async function look(filter = ''): Promise<number> {
  const began = performance.now();
  const { missing } = await control.askOperator<Looked>(`/connections${filter}`);
  const took = performance.now() - began;
  missed = Math.max(missed, missing.length);
  return took;
}

/** First looks: how long each took, and the means of their CPU time and of waiting for a core. */
async function firstLooks(filters: string[]) {
  const now = () => [
    cpuSecondsOf(server.pid) * 1000,
    cpuSecondsOf(looking.pid as number) * 1000,
    waitedMs(server.pid) + waitedMs(looking.pid),
  ];
  const took: number[] = [];
  const sums = [0, 0, 0];
  for (const filter of filters) {
    const before = now();
    took.push(await look(filter));
    for (const [at, value] of now().entries())
      sums[at] = (sums[at] ?? 0) + value - (before[at] ?? 0);
  }
  const [ofServer = 0, ofNodes = 0, waited = 0] = sums.map((sum) => sum / filters.length);
  return { took: median(took), ofServer, ofNode: ofNodes / nodes, waited };
}

/** Milliseconds of CPU in a second, of the server and of one node, while this runs. */
async function cpuDuring(work: () => Promise<void>) {
  const cpu = () => [cpuSecondsOf(server.pid), cpuSecondsOf(looking.pid as number)];
  const [before, began, sent] = [cpu(), performance.now(), state.reports];
  await work();
  const took = (performance.now() - began) / 1000;
  const [ofServer = 0, ofNodes = 0] = cpu().map(
    (after, at) => ((after - (before[at] ?? 0)) * 1000) / took,
  );
  return { server: ofServer, node: ofNodes / nodes, reports: (state.reports - sent) / took };
}

/** Milliseconds of CPU for the answer of a node that is as busy as nodes get. */
async function cpuOfBusyNode(): Promise<number> {
  const open = openConnections({ accounts, groups: 10_000, connections: 100_000 });
  const before = process.cpuUsage();
  const answer = JSON.stringify(largestGroups(await groupConnections(open), {}));
  const { user, system } = process.cpuUsage(before);
  if (answer.length > 512 * 1024) throw new Error('the answer is too long');
  return (user + system) / 1000;
}

const median = (all: number[]) =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number;

try {
  const { epoch, revision } = served;
  const sizes = { accounts, groups, connections };
  const given: Looking = { url: served.node_url, tokens: served.nodes, epoch, revision, ...sizes };
  looking.send(given);
  while (state.following < nodes) await sleep(50);
  const nobody = await cpuDuring(() => sleep(seconds * 1000));
  const ofAccounts = await firstLooks(
    Array.from({ length: rounds }, (_, at) => `?account=bench-${at}`),
  );
  // The watches of these looks end.
  await sleep(Math.min(31, 2 * seconds) * 1000);
  const ofNetwork = await firstLooks(['']);
  const again: number[] = [];
  const somebody = await cpuDuring(async () => {
    for (let at = 0; at < seconds * 1000; at += everyMs) {
      again.push(await look());
      await sleep(everyMs);
    }
  });
  console.log(
    `${nodes} nodes, each with ${connections} connections in ${groups} groups of ${accounts} accounts`,
  );
  const unit = 'ms';
  const goal = { atMost: maxMs };
  for (const [of, { took, ofServer, ofNode, waited }] of [
    ['an account', ofAccounts],
    ['the network', ofNetwork],
  ] as const) {
    report({ work: `a first look at ${of}`, ours: took, unit, goal });
    report({ work: '  the server and the nodes waited for a core', ours: waited, unit });
    report({ work: '  CPU of the server', ours: ofServer, unit });
    report({ work: '  CPU of a node', ours: ofNode, unit });
  }
  report({ work: 'nodes without an answer in 2 s', ours: missed, unit: '', goal: { atMost: 0 } });
  report({ work: 'a look again', ours: median(again), unit });
  const peer = (value: number) => ({ peer: { name: 'no look open', value } });
  for (const [of, name] of [
    ['the server', 'server'],
    ['a node', 'node'],
  ] as const) {
    const work = `CPU of ${of} a second while somebody looks`;
    report({ work, ours: somebody[name], unit, ...peer(nobody[name]) });
  }
  const busy: number[] = [];
  for (let at = 0; at < rounds; at += 1) busy.push(await cpuOfBusyNode());
  const ofBusy = 'CPU of an answer, 100,000 connections, 10,000 groups';
  report({ work: ofBusy, ours: median(busy), unit });
  const work = 'answers of all nodes a second, no look open';
  report({ work, ours: nobody.reports, unit: '', goal: { atMost: 0 } });
} finally {
  looking.kill();
  await control.remove();
}
