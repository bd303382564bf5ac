// The history of the demo network before it began: the traffic that was seeded, with connections
// and rejections to it.
import type { Transaction } from '../server/src/db/database.ts';
import {
  addPoints,
  addRejections,
  type PointRow,
  type RejectionRow,
} from '../server/src/nodes/history_store.ts';
import type { UsageBucket } from '../server/src/usage/usage.ts';
import { draws, rejectedAt } from './life.ts';

const hour = 3600;
const short = 300;
const shortKeptSeconds = 2 * 86_400;
/** Of a connection, on average. */
const bytesPerSecond = 30_000;

/** Writes it for the whole network: its nodes are not there yet. */
export async function seedHistory(tx: Transaction, buckets: readonly UsageBucket[]): Promise<void> {
  const random = draws('history');
  const points: PointRow[] = [];
  const rejections: RejectionRow[] = [];
  const add = (step: number, at: number, up: number, down: number) => {
    const connections = Math.round((up + down) / step / bytesPerSecond);
    points.push({
      ...{ node_id: 0, step, at, up, down, samples: 1, connections },
      connections_peak: Math.round(connections * (1.2 + random() / 2)),
      connections_min: Math.round(connections * (0.5 + random() / 3)),
      lag_peak: Math.round(random() ** 4 * 30),
      faults_peak: Math.floor(random() * 4),
    });
    for (const [reason, count] of rejectedAt(random, step, connections)) {
      rejections.push({ node_id: 0, step, at, reason, count });
    }
  };
  const byHour = Map.groupBy(buckets, ({ hour: at }) => at - (at % hour));
  for (const [at, samples] of byHour) {
    const up = samples.reduce((sum, sample) => sum + sample.up, 0);
    const down = samples.reduce((sum, sample) => sum + sample.down, 0);
    add(hour, at, up, down);
    if (at < tx.now - shortKeptSeconds) continue;
    for (let part = at; part < Math.min(at + hour, tx.now); part += short) {
      const share = (short / hour) * (0.7 + 0.6 * random());
      add(short, part, Math.round(up * share), Math.round(down * share));
    }
  }
  for (let at = 0; at < points.length; at += 1000) await addPoints(tx, points.slice(at, at + 1000));
  for (let at = 0; at < rejections.length; at += 1000) {
    await addRejections(tx, rejections.slice(at, at + 1000));
  }
}
