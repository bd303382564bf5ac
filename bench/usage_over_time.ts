// Usage over time of all accounts: what a request costs in a network of few accounts and in one of
// many, and what it costs to write usage, also with a million sums of users and periods.
//   node bench/usage_over_time.ts [--accounts 10000] [--days 30] [--rounds 20] [--sums 1000000]
//   node bench/postgres.ts usage_over_time.ts
import { systemClock } from '../server/src/clock.ts';
import {
  bytesOfUsers,
  largestParts,
  recordUsage,
  sumsOverTime,
} from '../server/src/usage/usage.ts';
import { dayOf, daySeconds } from '../server/src/values/periods.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, costMs, db } from './fresh.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { accounts, days, rounds, sums } = sizesFrom({
  ...{ accounts: 10_000, days: 30, rounds: 20, sums: 1_000_000 },
});
const few = 100;
const accountsOfReport = 100;
const to = dayOf(systemClock.now());
const span = { from: to - days * daySeconds, to, step: daySeconds };

let rows = 0;
let writing = 0;
/** Large accounts stay large, and each day differs by half. */
const bytesOf = (account_id: number) =>
  Math.round((1e12 / account_id) * (0.75 + Math.random() / 2));
async function fill(first: number, last: number): Promise<void> {
  for (let day = span.from; day < to; day += daySeconds) {
    for (let from = first; from <= last; from += accountsOfReport) {
      const report = Math.floor(from / accountsOfReport) + day / daySeconds;
      const buckets = Array.from({ length: accountsOfReport }, (_, at) => ({
        ...{ account_id: from + at, server_id: 1 + (report % 10), user_id: 1 },
        ...{ hour: day + 3600 * (report % 24), up: 0, down: bytesOf(from + at) },
      }));
      const start = process.cpuUsage();
      await db.write(actor, (tx) => recordUsage(tx, buckets, () => 0));
      const { user, system } = process.cpuUsage(start);
      writing += user + system;
      rows += buckets.length;
    }
  }
}

async function request(): Promise<number> {
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = process.cpuUsage();
    await db.snapshot((reader) => largestParts(sumsOverTime(reader, 'account', span), span, 6));
    const { user, system } = process.cpuUsage(start);
    costs.push((user + system) / 1000);
  }
  return median(costs);
}

await fill(1, few);
// The first runs are those of code that is not compiled yet.
await request();
const ofFew = await request();
await fill(few + 1, accounts);
report({
  work: `${db.engine}: usage over ${days} days, ${accounts} accounts`,
  ours: await request(),
  unit: 'ms',
  peer: { name: `${few} accounts`, value: ofFew },
});
report({ work: `${db.engine}: usage written, a row`, ours: writing / rows, unit: 'us' });

const usersOfReport = 1000;
/** Microseconds for a row of a report about users of one account, and for reading their sums. */
async function reportOfUsers(): Promise<number> {
  const users = Array.from({ length: usersOfReport }, (_, at) => at + 1);
  const common = { account_id: accounts + 1, server_id: 1, hour: to, up: 0, down: 1 };
  const costs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = costMs();
    await db.write(actor, async (tx) => {
      await recordUsage(
        tx,
        users.map((user_id) => ({ ...common, user_id })),
        () => 0,
      );
      await bytesOfUsers(tx, common.account_id, 0, users);
    });
    costs.push(((costMs() - start) * 1000) / usersOfReport);
  }
  return median(costs);
}
await reportOfUsers();
const ofFewSums = await reportOfUsers();
/** 10,000 users an account, which has them in each period. */
const sumOf = (at: number) => ({
  ...{ account_id: accounts + 1 + (at % 10), user_id: 1 + (Math.floor(at / 10) % 10_000) },
  ...{ period_start: 1 + Math.floor(at / 100_000) * 2_592_000, bytes: 1e9 },
});
for (let at = 0; at < sums; at += 2000) {
  const rows = Array.from({ length: Math.min(2000, sums - at) }, (_, index) => sumOf(at + index));
  await db.write(actor, (tx) => tx.insertMany('usage_user_periods', rows));
}
report({
  work: `${db.engine}: usage of users written, a row, ${sums} sums of users`,
  ours: await reportOfUsers(),
  unit: 'us',
  peer: { name: 'few sums', value: ofFewSums },
});
await close();
