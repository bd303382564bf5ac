// Usage over time of all accounts: what a request costs in a network of few accounts and in one of
// many, and what it costs to write usage.
//   node bench/usage_over_time.ts [--accounts 10000] [--days 30] [--rounds 20]
//   node bench/postgres.ts usage_over_time.ts
import { systemClock } from '../server/src/clock.ts';
import { largestParts, recordUsage, sumsOverTime } from '../server/src/usage/usage.ts';
import { dayOf, daySeconds } from '../server/src/values/periods.ts';
import { sizesFrom } from './flags.ts';
import { actor, close, db } from './fresh.ts';
import { report } from './goals.ts';
import { median } from './load.ts';

const { accounts, days, rounds } = sizesFrom({ accounts: 10_000, days: 30, rounds: 20 });
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
await close();
