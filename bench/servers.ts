// Pages and places of the servers of a large network: how long each takes, with nodes up to date
// and with nodes that lack thousands of changes.
//   node bench/servers.ts [--servers 2300] [--changes 9000]
//   node bench/postgres.ts servers.ts [--servers 2300] [--changes 9000]
import { systemClock } from '../server/src/clock.ts';
import { pageFrom } from '../server/src/lists/list_pages.ts';
import {
  type ServerFilter,
  serverPageSlices,
  serverPlaces,
  serverSorts,
} from '../server/src/servers/servers.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, db } from './fresh.ts';
import { report } from './goals.ts';

const { servers, changes } = sizesFrom({ servers: 2300, changes: 9000 });
const now = systemClock.now();
const many = (length: number) => Array.from({ length }, (_, at) => at);

await db.write(actor, async (tx) => {
  await tx.insertMany(
    'servers',
    many(servers).map((at) => ({
      ...{ id: at + 1, name: `s${at}`, hostname: `s${at}.example`, title: `Metro ${at % 97}` },
      ...{ city: `City ${at % 300}`, country: 'DE', latitude: (at % 300) / 5, longitude: at % 300 },
      ...{ services: '["proxy"]', applied_revision: 0, created_at: now },
    })),
  );
  await tx.insertMany(
    'exit_ips',
    many(servers * 8).map((at) => ({
      ...{ server_id: 1 + (at >> 3), ip: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` },
      ...{ port_base: at & 7, status: at % 50 === 0 ? 'warn' : 'ok', status_time: now },
    })),
  );
  await tx.insertMany(
    'nodes',
    many(servers).map((at) => ({
      ...{ id: at + 1, server_id: at + 1, name: 'n', hash: `h${at}`, version: '1', live: 1 },
      ...{ applied_revision: 1, joined_at: now, seen_at: now, reported_until: 0 },
    })),
  );
});

/** The median of a few, in milliseconds. */
async function timed(what: string, read: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    const start = systemClock.steady();
    await read();
    times.push((systemClock.steady() - start) * 1000);
  }
  times.sort((a, b) => a - b);
  report({ work: `${db.engine}: ${what} of ${servers} servers`, ours: times[4] ?? 0, unit: 'ms' });
}

async function measure(): Promise<void> {
  const page = (filter: ServerFilter, sort: (typeof serverSorts)[number] = 'name') => {
    const query = { sort, isDescending: false, limit: 100 };
    return pageFrom(serverPageSlices(db, filter, query, now - 900), query);
  };
  for (const sort of serverSorts) await timed(`a page by ${sort}`, () => page({}, sort));
  await timed('a search', () => page({ search: '10.0.7' }));
  await timed('those with exit IPs that are warn', () => page({ exits: 'warn' }));
  await timed('those whose nodes lag', () => page({ nodes: 'warn' }));
  await timed('the places', () => serverPlaces(db, now - 900));
}

console.log(`${db.engine}, ${servers} servers, nodes up to date`);
await measure();
await db.write(actor, async (tx) => {
  await tx.insertMany(
    'changes',
    many(changes).map((at) => ({
      ...{
        revision: at + 1000,
        account_id: 1,
        server_id: null,
        kind: 'user',
        record_id: 1,
        at: now,
      },
    })),
  );
  await tx.run('update network set revision = $1', [changes + 1000]);
});
console.log(`the same, each node lacks ${changes} changes that do not concern it`);
await measure();
await close();
