// Bytes that a record takes in the database, indexes included: fills each table, and measures how
// much it grew.
//   node bench/record_sizes.ts [--records 100000]
//   node bench/postgres.ts record_sizes.ts [--records 100000]
import type { Row } from '../server/src/db/database.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, db } from './fresh.ts';
import { report } from './goals.ts';

const { records } = sizesFrom({ records: 100_000 });
const began = 1_800_000_000;

/** Usage of 10 users on 2 servers of 5 accounts, in the order in which it comes. */
const place = (at: number) => ({
  account_id: 1 + (at % 5),
  server_id: 1 + (Math.floor(at / 5) % 2),
  user_id: 1 + (Math.floor(at / 10) % 10),
});
const step = (at: number) => Math.floor(at / 100);
const bytes = { up: 123_456_789, down: 9_876_543_210 };

const tables: Record<string, (at: number) => Row> = {
  usage_hours: (at) => ({ ...place(at), hour: began + step(at) * 3600, ...bytes }),
  usage_days: (at) => ({ ...place(at), day: began + step(at) * 86_400, ...bytes }),
  usage_server_hours: (at) => ({
    account_id: 1 + (at % 5),
    server_id: 1 + (Math.floor(at / 5) % 2),
    hour: began + Math.floor(at / 10) * 3600,
    bytes: bytes.down,
  }),
  usage_hour_sums: (at) => ({
    ...{ kind: 1, hour: began + Math.floor(at / 100) * 3600, id: 1 + (at % 100) },
    bytes: bytes.down,
  }),
  usage_day_sums: (at) => ({
    ...{ kind: 1, day: began + Math.floor(at / 100) * 86_400, id: 1 + (at % 100) },
    ...{ bytes: bytes.down + at, ranked: bytes.down + at },
  }),
  usage_user_periods: (at) => ({
    account_id: 1 + (at % 5),
    period_start: began + Math.floor(at / 5000) * 2_592_000,
    user_id: 1 + (Math.floor(at / 5) % 1000),
    bytes: bytes.down,
  }),
  audit: (at) => ({
    id: at + 1,
    at: began + at,
    actor_kind: 'user',
    actor: 'initech/alice',
    address: '203.0.113.77',
    request_id: `req-${String(at).padStart(8, '0')}`,
    account_id: 1 + (at % 5),
    action: 'authlist.change',
    target: `authlist/${at}`,
    before: JSON.stringify({ ip: '203.0.113.77', user: 'alice', expiry: began + at }),
    after: JSON.stringify({ ip: '203.0.113.78', user: 'alice', expiry: began + at + 86_400 }),
  }),
  changes: (at) => ({
    revision: at + 1_000_000,
    account_id: 1 + (at % 5),
    server_id: null,
    kind: 'authlist',
    record_id: at,
    at: began + at,
  }),
};

async function sizeOf(table: string): Promise<number> {
  if (db.engine === 'postgres') {
    const row = await db.one<{ bytes: number }>(
      `select pg_total_relation_size('${table}') + coalesce(sum(pg_total_relation_size(relid)), 0) as bytes
       from pg_partition_tree('${table}') where isleaf and relid <> '${table}'::regclass`,
    );
    return Number(row?.bytes);
  }
  const [pages] = await db.all<{ bytes: number }>(
    'select (select page_count from pragma_page_count) * (select page_size from pragma_page_size) as bytes',
  );
  return Number(pages?.bytes);
}

console.log(`${db.engine}, ${records} records of each`);
for (const [table, row] of Object.entries(tables)) {
  const before = await sizeOf(table);
  for (let at = 0; at < records; at += 1000) {
    const rows = Array.from({ length: Math.min(1000, records - at) }, (_, index) =>
      row(at + index),
    );
    await db.write(actor, (tx) => tx.insertMany(table, rows));
  }
  const each = ((await sizeOf(table)) - before) / records;
  report({ work: `${db.engine}: a record of ${table}`, ours: each, unit: 'bytes' });
}
await close();
