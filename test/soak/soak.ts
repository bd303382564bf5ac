// Random histories of faults over the whole system, with clients that move bytes all the while;
// each ends with a comparison.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../kit/src/settings.ts';
import { newCertificate } from '../../server/test/certificate.ts';
import type { Random } from '../../server/test/random.ts';
import type { EngineName } from '../system/agent_process.ts';
import { World } from '../system/world.ts';
import { compare, snapshotReader } from './comparison.ts';
import { faults, strike } from './faults.ts';
import { revocations, revoke } from './revocations.ts';
import {
  createPlayer,
  patienceSeconds,
  play,
  type Scene,
  SmallDisk,
  untilServed,
} from './scene.ts';

/** Of one history. */
const maxEvents = 8;

export interface SoakOptions {
  engine: EngineName;
  /** Of the control plane. */
  settings?: Environment;
  /** Histories begin until then. */
  seconds: number;
  random: Random;
}

export interface SoakReport {
  histories: number;
  /** How often each kind of fault struck. */
  faults: Map<string, number>;
  bytes: number;
  exchanges: number;
  /** Connections that were refused, by reason. */
  refusals: Map<string, number>;
  /** Empty when all is as it should be. */
  differences: string[];
}

/** Plays histories for a time. Errors: when the system does not come up at all. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { engine, settings, seconds, random } = options;
  const report: SoakReport = {
    ...{ histories: 0, bytes: 0, exchanges: 0, differences: [] },
    ...{ faults: new Map(), refusals: new Map() },
  };
  const over = performance.now() + seconds * 1000;
  const disk = new SmallDisk();
  let world: World | undefined;
  try {
    world = await World.start(engine, settings);
    disk.enter();
    const [cert, key] = ['proxy.crt', 'proxy.key'].map((name) => join(disk.path, name));
    const pair = newCertificate('proxy.test');
    writeFileSync(cert as string, pair.cert);
    writeFileSync(key as string, pair.key, { mode: 0o600 });
    const node = await world.node({
      EXITWARD_AGENT_TLS_CERT: cert as string,
      EXITWARD_AGENT_TLS_KEY: key as string,
    });
    disk.leave();
    const services = ['proxy', 'proxy-https'];
    await world.control.do('PATCH', `/servers/${node.server}`, { services });
    await node.agent.follow();
    const read = await snapshotReader({ world, node });
    const stage = { world, node, random, disk };
    do {
      await history(await setScene(stage), report, read);
      report.histories += 1;
    } while (performance.now() < over);
  } finally {
    await world?.stop();
    disk.remove();
  }
  return report;
}

/** New customers, on the system as the history before left it. */
async function setScene(stage: Pick<Scene, 'world' | 'node' | 'random' | 'disk'>): Promise<Scene> {
  const limit_bytes = stage.random.between(1, 40) * 1_000_000;
  const watcher = await createPlayer(stage);
  const [steady, limited, revoked] = [
    await createPlayer(stage),
    await createPlayer(stage, { limit_bytes }),
    await createPlayer(stage),
  ];
  const players = [steady, limited, revoked];
  const scene: Scene = { ...stage, players, revoked, watch: watcher.byAddress };
  for (const player of players) await play(scene, player);
  return scene;
}

async function history(
  scene: Scene,
  report: SoakReport,
  read: Parameters<typeof compare>[1],
): Promise<void> {
  const { world, node, random, players } = scene;
  const happened: string[] = [];
  const events = [
    ...Object.keys(faults[world.engine]),
    ...Object.keys(revocations).map((name) => `revoke ${name}`),
  ];
  const trouble: string[] = [];
  try {
    await untilServed(scene);
    for (let remaining = random.between(2, maxEvents); remaining > 0; remaining -= 1) {
      await sleep(random.between(200, 1500));
      const event = random.one(events);
      happened.push(event);
      report.faults.set(event, (report.faults.get(event) ?? 0) + 1);
      const [, right] = /^revoke (.*)$/.exec(event) ?? [];
      await (right === undefined ? strike(scene, event) : revoke(scene, right));
    }
  } catch (error) {
    trouble.push(`${happened.at(-1)}: ${(error as Error).message}`);
  } finally {
    const traffic = players.flatMap((player) => player.traffic);
    await Promise.all(traffic.map((customer) => customer.stop()));
  }
  if (random.next() < 0.5)
    await revocations[random.one(Object.keys(revocations))]?.end(scene, scene.revoked);
  await node.agent
    .until(
      ({ state, usage_waiting }) => state === 'following' && usage_waiting === 0,
      patienceSeconds,
    )
    .catch((error: Error) => trouble.push(error.message));
  const differences = [...trouble, ...(await compare(scene, read))];
  const sentences = differences.map(
    (difference) => `${difference}\n    after ${happened.join(', ')}`,
  );
  report.differences.push(...sentences);
  for (const { tally } of players) {
    report.bytes += tally.sum.up + tally.sum.down;
    report.exchanges += tally.exchanges;
    for (const [reason, often] of tally.refusals) {
      report.refusals.set(reason, (report.refusals.get(reason) ?? 0) + often);
    }
  }
}
