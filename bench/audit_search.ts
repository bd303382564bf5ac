// A search of the audit log for what is not there: how long each page of the walk takes, and how
// long one slice holds the event loop.
//   node bench/audit_search.ts [--records 1000000]
//   node bench/postgres.ts audit_search.ts [--records 1000000]
import { makeAuditMonths } from '../server/src/changes/audit_months.ts';
import { systemClock } from '../server/src/clock.ts';
import { searchAuditLog } from '../server/src/operators/audit_log.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, db } from './fresh.ts';
import { report } from './goals.ts';

const { records } = sizesFrom({ records: 1_000_000 });
const now = systemClock.now();
await makeAuditMonths(db, now);

let id = 0;
const record = () => ({
  ...{ id: ++id, at: now - records + id, actor_kind: 'user', actor: 'initech/alice' },
  ...{ address: '203.0.113.77', request_id: `req-${id}`, account_id: null },
  ...{ action: 'authlist.change', target: `authlist/${id}` },
  ...{ before: '{"ip":"203.0.113.77","user":"bob"}', after: '{"ip":"203.0.113.78","user":"bob"}' },
});
for (let at = 0; at < records; at += 1000) {
  const rows = Array.from({ length: 1000 }, record);
  await db.write(actor, (tx) => tx.insertMany('audit', rows));
}
await db.write(actor, (tx) =>
  tx.run('insert into counters (account_id, list, last) values (0, $1, $2)', ['audit', id]),
);

const pages: number[] = [];
let longest = 0;
let began = systemClock.steady();
const turn = () => {
  longest = Math.max(longest, systemClock.steady() - began);
  return new Promise<void>((resolve) =>
    setImmediate(() => {
      began = systemClock.steady();
      resolve();
    }),
  );
};
const filter = { words: ['nowhere', 'else'], sees_all_addresses: true };
for (let before: number | undefined, isFirst = true; isFirst || before !== undefined; ) {
  isFirst = false;
  const start = systemClock.steady();
  ({ before } = await searchAuditLog(db, filter, before, 50, turn));
  pages.push(systemClock.steady() - start);
}
pages.sort((a, b) => a - b);
const milliseconds = (seconds = 0) => `${(seconds * 1000).toFixed(1)} ms`;
const total = pages.reduce((sum, page) => sum + page, 0);
console.log(
  `${db.engine}: ${records} records in ${pages.length} pages, ${total.toFixed(2)} s; a page p50 ${milliseconds(pages[pages.length >> 1])}, longest ${milliseconds(pages.at(-1))}; a slice at most ${milliseconds(longest)}`,
);
report({
  work: `${db.engine}: a page of a search of ${records} audit records`,
  ours: (pages[pages.length >> 1] ?? 0) * 1000,
  unit: 'ms',
});
const start = systemClock.steady();
const since = now - Math.floor(records / 2);
await searchAuditLog(
  db,
  { since, until: since + 60, sees_all_addresses: true },
  undefined,
  50,
  turn,
);
console.log(`a minute in the middle of the log: ${milliseconds(systemClock.steady() - start)}`);
await close();
