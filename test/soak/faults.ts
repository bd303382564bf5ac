// The faults of a soak: each strikes, and everything is up again when it has resolved.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newCertificate } from '../../server/test/certificate.ts';
import type { EngineName } from '../system/agent_process.ts';
import { forgive, type Scene, untilServed } from './scene.ts';

type Fault = (scene: Scene) => Promise<void>;

const away = ({ random }: Scene, maxMs = 2500) => sleep(random.between(200, maxMs));

/** The agent is gone, and Squid is not: nothing may be lost. The embedded proxy goes with it. */
const killAgent: Fault = async (scene) => {
  const { world, node } = scene;
  await node.agent.end('SIGKILL');
  if (world.engine === 'embedded') forgive(scene);
  await away(scene);
  await node.agent.start();
};

/** Nothing may be lost: it counts to the end. */
const terminateAgent: Fault = async (scene) => {
  await scene.node.agent.end('SIGTERM');
  await away(scene);
  await scene.node.agent.start();
};

const stopAgent: Fault = async (scene) => {
  scene.node.agent.signal('SIGSTOP');
  await away(scene, 5000);
  scene.node.agent.signal('SIGCONT');
};

const killServer: Fault = async (scene) => {
  await scene.world.control.kill();
  await away(scene);
  await scene.world.control.startAgain();
};

const stopServer: Fault = async (scene) => {
  scene.world.control.signal('SIGSTOP');
  await away(scene, 5000);
  scene.world.control.signal('SIGCONT');
};

const cutStream: Fault = async (scene) => {
  scene.world.control.relay.cut();
  await away(scene);
  scene.world.control.relay.heal();
};

const silenceStream: Fault = async (scene) => {
  scene.world.control.relay.silence();
  await away(scene, 5000);
  scene.world.control.relay.heal();
};

/**
 * The bytes that Squid could not log may be lost; the embedded proxy keeps its counts in memory.
 */
const fillDisk: Fault = async (scene) => {
  const since = performance.now();
  scene.disk.fill();
  await away(scene, 4000);
  scene.disk.free();
  if (scene.world.engine === 'squid') forgive(scene, since);
};

/** One that cannot be used, then a good one. */
const renewCertificate: Fault = async (scene) => {
  const { cert, key } = newCertificate('proxy.test');
  writeFileSync(join(scene.disk.path, 'proxy.crt'), 'no certificate');
  await away(scene, 1500);
  writeFileSync(join(scene.disk.path, 'proxy.key'), key);
  writeFileSync(join(scene.disk.path, 'proxy.crt'), cert);
};

const restartEverything: Fault = async (scene) => {
  const { world, node, random } = scene;
  const since = performance.now();
  const ends = [
    () => node.agent.end('SIGKILL'),
    () => node.agent.killSquids(),
    () => world.control.kill(),
  ].sort(() => random.next() - 0.5);
  for (const end of ends) await end();
  // A Squid that the agent started again meanwhile.
  node.agent.killSquids();
  forgive(scene, since);
  await away(scene);
  const starts = [() => node.agent.start(), () => world.control.startAgain()];
  if (random.next() < 0.5) starts.reverse();
  for (const start of starts) await start();
};

const killSquid: Fault = async (scene) => {
  scene.node.agent.killSquids();
  forgive(scene);
};

const stopSquid: Fault = async (scene) => {
  const pids = scene.node.agent.squids();
  const all = pids.flatMap((pid) => [pid, ...childrenOf(pid)]);
  for (const pid of all) signal(pid, 'SIGSTOP');
  await away(scene);
  for (const pid of all) signal(pid, 'SIGCONT');
};

const killDecider: Fault = async ({ node }) => {
  for (const pid of node.agent.squids().flatMap(childrenOf)) {
    if (commandOf(pid).includes('decider')) signal(pid, 'SIGKILL');
  }
};

export const faults: Record<EngineName, Record<string, Fault>> = {
  embedded: {
    ...{ killAgent, terminateAgent, stopAgent, killServer, stopServer, cutStream, silenceStream },
    ...{ fillDisk, renewCertificate, restartEverything },
  },
  squid: {
    ...{ killAgent, terminateAgent, stopAgent, killServer, stopServer, cutStream, silenceStream },
    ...{ fillDisk, renewCertificate, restartEverything, killSquid, stopSquid, killDecider },
  },
};

export async function strike(scene: Scene, name: string): Promise<void> {
  await faults[scene.world.engine][name]?.(scene);
  await untilServed(scene);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

function childrenOf(pid: number): number[] {
  return readProc(`${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}

function commandOf(pid: number): string {
  return readProc(`${pid}/cmdline`);
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
