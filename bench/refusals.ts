// Refusals of nodes whose tables are full: what one more report costs, and each of the lists, with
// many nodes and with few. None may grow with the network.
//   node bench/refusals.ts [--nodes 100] [--rows 10000] [--rounds 9]
//   node bench/postgres.ts refusals.ts
import type { Refusal } from '../kit/src/node_interface.ts';
import { systemClock } from '../server/src/clock.ts';
import type { Row } from '../server/src/db/database.ts';
import { refusalNotices } from '../server/src/nodes/refusal_notices.ts';
import {
  listRefusals,
  purgeRefusals,
  type RefusalFilter,
  reportRefusals,
} from '../server/src/nodes/refusals.ts';
import { findById } from '../server/src/nodes/store.ts';
import { createPortScheme, defaultBases } from '../server/src/port_schemes/port_schemes.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, costMs, db } from './fresh.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { nodes, rows, rounds } = sizesFrom({ nodes: 100, rows: 10_000, rounds: 9 });
const few = Math.max(1, Math.floor(nodes / 20));
const accounts = 25;
const keptSeconds = 7 * 86_400;
const minute = systemClock.now() - (systemClock.now() % 60);
const many = (length: number) => Array.from({ length }, (_, at) => at);
/** A page must not hold up others for longer, however many nodes there are. */
const maxMs = 100;

await db.write(actor, async (tx) => {
  await tx.insertMany(
    'servers',
    many(nodes).map((at) => ({
      ...{ id: at + 1, name: `s${at}`, hostname: `s${at}.example`, title: `Metro ${at % 97}` },
      ...{ city: `City ${at % 300}`, country: 'DE', latitude: (at % 300) / 5, longitude: at % 300 },
      ...{ services: '["proxy"]', applied_revision: 0, created_at: minute },
    })),
  );
  await tx.insertMany(
    'nodes',
    many(nodes).map((at) => ({
      ...{ id: at + 1, server_id: at + 1, name: 'n', hash: `h${at}`, version: '1', live: 1 },
      ...{ applied_revision: 1, joined_at: minute, seen_at: minute, reported_until: 0 },
    })),
  );
  await createPortScheme(tx, { name: 'default', bases: defaultBases });
  await tx.insertMany(
    'accounts',
    many(accounts).map((at) => ({
      ...{ id: at + 1, name: `a${at}`, plan: 'Bench', created_at: minute, start: minute },
      ...{
        expiry: minute + 9e6,
        limit_bytes: 1e12,
        detailed_billing: 0,
        suspended: 0,
        over_limit: 0,
      },
      ...{ over_until: 0, on_limit: 'refuse', port_scheme_id: 1, token_lifetime_seconds: 60 },
    })),
  );
  await tx.insertMany(
    'users',
    many(accounts).map((at) => ({
      ...{ account_id: at + 1, id: 1, name: 'alice', display_name: '', active: 1, proxy: 1 },
      ...{ billing: 0, admin: 0, token_version: 1 },
    })),
  );
  await tx.insertMany(
    'contract_servers',
    many(accounts * nodes).map((at) => ({
      ...{ account_id: 1 + (at % accounts), server_id: 1 + Math.floor(at / accounts) },
      ...{ limit_bytes: null, over_limit: 0, over_until: 0, added_at: minute, revision: 1 },
    })),
  );
});

let lastId = 0;
const scanner = '198.51.100.200';
/** Row number `at` of a node: half of no account, a tenth of these of one scanner. */
function rowOf(node_id: number, at: number): Row {
  const isNamed = at % 2 === 1;
  const account_id = isNamed ? 1 + (((at - 1) / 2) % accounts) : 0;
  const source = at % 20 === 0 ? scanner : `10.${node_id % 200}.${at >> 8}.${at & 255}`;
  return {
    ...{
      id: ++lastId,
      node_id,
      at: minute - (rows - at) * 60,
      account_id,
      user_id: isNamed ? 1 : 0,
    },
    ...{ reason: isNamed ? 'expired_token' : 'unknown_address', source, service: 'proxy' },
    ...{ port: 10_001, count: 1, network: '' },
  };
}

/** In the order in which rows come: minute by minute, of all nodes. */
async function fill(count: number): Promise<void> {
  await db.write(actor, (tx) =>
    tx.run(db.engine === 'postgres' ? 'truncate refusals' : 'delete from refusals'),
  );
  const together = Math.max(1, Math.floor(2000 / count));
  for (let from = 0; from < rows; from += together) {
    const minutes = many(Math.min(together, rows - from));
    await db.write(actor, (tx) =>
      tx.insertMany(
        'refusals',
        minutes.flatMap((at) => many(count).map((node) => rowOf(node + 1, from + at))),
      ),
    );
  }
  await db.write(actor, async (tx) => {
    await tx.run("delete from counters where list = 'refusals'");
    await tx.run('insert into counters (account_id, list, last) values (0, $1, $2)', [
      'refusals',
      lastId,
    ]);
    if (db.engine === 'postgres') await tx.run('analyze refusals');
  });
}

let seq = 0;
/** Reports so many rows: every second one names a user, every tenth with a wrong password. */
async function send(length: number): Promise<void> {
  const node = await findById(db, 1);
  if (!node) throw new Error('no node');
  seq += 1;
  const refusals = many(length).map((at): Refusal => {
    const common = {
      at: minute,
      source: `10.250.${seq & 255}.${at & 255}`,
      service: 'vpn-ikev2',
      count: 1,
    };
    if (at % 2 === 0) return { ...common, reason: 'unknown_address' };
    const reason = at % 10 === 1 ? 'bad_token' : 'expired_token';
    return { ...common, reason, account: 1 + (((at - 1) / 2) % accounts), user: 1 };
  });
  await db.write(actor, (tx) => reportRefusals(tx, node, { boot: 'bench', seq, refusals }, 1e9));
}

const list = (filter: RefusalFilter) => () => listRefusals(db, filter, undefined, 100);
const nowhere = { reason: 'server_drained' };
const works: Array<[string, () => Promise<unknown>]> = [
  ['a report of one row', () => send(1)],
  ['a report of 500 rows', () => send(500)],
  ['a list of all', list({})],
  ['of a reason that none has', list(nowhere)],
  ['of an account', list({ account_id: 1 })],
  ['of an account, no such reason', list({ account_id: 1, ...nowhere })],
  ['of a user, an hour ago', list({ account_id: 1, user_id: 1, until: minute - 3600 })],
  ['of a user who has none', list({ account_id: 1, user_id: 2 })],
  ['of an address', list({ source: scanner })],
  ['of an address, no such reason', list({ source: scanner, ...nowhere })],
  [
    'of an address, as a person sees it',
    list({ source: scanner, seen_by: { account_id: 1, user_id: 1 } }),
  ],
  ['of a server', list({ server_id: 1 })],
  ['of a server, no such reason', list({ server_id: 1, ...nowhere })],
  ['of a node', list({ node_id: 1 })],
  ['of a node and an account', list({ node_id: 1, account_id: 1 })],
  ['of a node and an account, no such reason', list({ node_id: 1, account_id: 1, ...nowhere })],
  ['of five days ago', list({ until: minute - 5 * 86_400 })],
  ['notices', () => refusalNotices(db, undefined, minute)],
  ['a purge of 500', () => db.write(actor, (tx) => purgeRefusals(tx, keptSeconds, 500))],
];

async function measure(): Promise<number[]> {
  const all: number[] = [];
  for (const [, work] of works) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = costMs();
      await work();
      times.push(costMs() - start);
    }
    all.push(median(times));
  }
  return all;
}

await fill(few);
const ofFew = await measure();
await fill(nodes);
const ofMany = await measure();
console.log(`${db.engine}: ${nodes} nodes with ${rows} refusals each, next to ${few} nodes`);
for (const [at, [name]] of works.entries()) {
  report({
    work: `refusals: ${name}`,
    ours: ofMany[at] ?? 0,
    unit: 'ms',
    peer: { name: `${few} nodes`, value: ofFew[at] ?? 0 },
  });
}
const lists = ofMany.filter((_, at) => /list|^of /.test(works[at]?.[0] ?? ''));
const goal = { atMost: maxMs };
report({ work: 'refusals: the longest list', ours: Math.max(...lists), unit: 'ms', goal });
await close();
