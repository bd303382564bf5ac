// Changes during a purge of the audit log: how much longer they take, and how long old records need
// to go.
//   node bench/audit_purge.ts [--records 1000000]
//   node bench/postgres.ts audit_purge.ts [--records 1000000]
import { removeOldAudit } from '../server/src/changes/audit.ts';
import { dropAuditMonths, makeAuditMonths } from '../server/src/changes/audit_months.ts';
import { systemClock } from '../server/src/clock.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, db } from './fresh.ts';
import { report } from './goals.ts';

const { records } = sizesFrom({ records: 1_000_000 });
const now = systemClock.now();
const old = now - 500 * 86_400;
await makeAuditMonths(db, old);
await makeAuditMonths(db, now);

let id = 0;
const record = (at: number) => ({
  ...{ id: ++id, at, actor_kind: 'user', actor: 'initech/alice', address: '203.0.113.77' },
  ...{ request_id: `req-${id}`, account_id: 1 + (id % 5), action: 'authlist.change' },
  ...{ target: `authlist/${id}`, before: '{"ip":"203.0.113.77"}', after: '{"ip":"203.0.113.78"}' },
});
for (let at = 0; at < records; at += 1000) {
  const rows = Array.from({ length: 1000 }, () => record(old));
  await db.write(actor, (tx) => tx.insertMany('audit', rows));
}

/** Seconds of each change, until `during` is over. */
async function changes(during: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  void during.finally(() => {
    isOver = true;
  });
  const took: number[] = [];
  while (!isOver) {
    const began = systemClock.steady();
    await db.write(actor, (tx) => tx.insertMany('audit', [record(now)]));
    took.push(systemClock.steady() - began);
  }
  return took.sort((a, b) => a - b);
}

async function purge(): Promise<number> {
  const began = systemClock.steady();
  await dropAuditMonths(db, now - 400 * 86_400);
  for (;;) {
    const gone = await db.write(actor, (tx) =>
      removeOldAudit(tx, db.engine, now - 400 * 86_400, 500),
    );
    if (gone < 500) return systemClock.steady() - began;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const undisturbed = await changes(
  new Promise((resolve) => setTimeout(resolve, Math.min(5000, records))),
);
const purging = purge();
const disturbed = await changes(purging);
const at = (list: number[], part: number) => list[Math.floor((list.length - 1) * part)] ?? 0;
console.log(`${db.engine}: ${records} old records went in ${(await purging).toFixed(2)} s`);
for (const [name, part] of [
  ['p50', 0.5],
  ['p99', 0.99],
] as const) {
  const [a, b] = [at(undisturbed, part) * 1000, at(disturbed, part) * 1000];
  const peer = { name: 'no purge', value: a };
  report({ work: `${db.engine}: a change during a purge, ${name}`, ours: b, unit: 'ms', peer });
}
await close();
