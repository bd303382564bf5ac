// Migrations: the records of an older program, as a new one finds them.
import { afterAll, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import type { Database } from '../src/db/database.ts';
import { migrate } from '../src/db/migrate.ts';
import { network } from '../src/db/migrations/0001_network.ts';
import { questionsAndHealth } from '../src/db/migrations/0002_questions_and_health.ts';
import { fillUsageSums } from '../src/db/migrations/0039_usage_sums.ts';
import { openDatabase } from '../src/db/open.ts';
import { contradictions } from './contradictions.ts';
import { eachDatabase } from './databases.ts';

eachDatabase((database) => {
  const open: Database[] = [];
  afterAll(() => Promise.all(open.map((db) => db.close())));

  deepTest('of each journal the last batch that was counted stays known', async () => {
    const db = await openDatabase(await database.emptyUrl(), { clock: systemClock });
    open.push(db);
    // A database as the program before the third migration left it.
    await db.script([
      'create table migrations (id bigint primary key, name text not null)',
      "insert into migrations values (1, 'network'), (2, 'questions_and_health')",
      ...network(db.engine),
      ...questionsAndHealth(db.engine),
      "insert into network (id, epoch, revision) values (1, 'e', 1)",
      "insert into usage_batches values (1, 'a', 1, 10), (1, 'a', 3, 30), (1, 'a', 2, 20)",
      "insert into usage_batches values (1, 'b', 7, 5), (2, 'a', 4, 40)",
    ]);
    expect((await migrate(db))[0]).toBe('usage_journals');
    expect(await db.all('select * from usage_journals order by node_id, boot')).toEqual([
      { node_id: 1, boot: 'a', seq: 3, at: 30 },
      { node_id: 1, boot: 'b', seq: 7, at: 5 },
      { node_id: 2, boot: 'a', seq: 4, at: 40 },
    ]);
    await expect(db.script(['drop table usage_batches'])).rejects.toThrow();
  });

  test('processes that start together on an empty database migrate it once', async () => {
    const url = await database.emptyUrl();
    const starting = await Promise.all(
      [1, 2, 3].map(() => openDatabase(url, { clock: systemClock })),
    );
    open.push(...starting);
    const ran = (await Promise.all(starting.map((db) => migrate(db)))).flat();
    expect(ran).toHaveLength(new Set(ran).size);
    const [db] = starting as [Database];
    const rows = await db.all<{ name: string }>('select name from migrations');
    expect(rows.map(({ name }) => name).sort()).toEqual(ran.sort());
    expect(await db.all('select id from network')).toEqual([{ id: 1 }]);
  });

  deepTest(
    'versions stay as they are when they get their name, and usage begins one of its own',
    async () => {
      const db = await openDatabase(await database.emptyUrl(), { clock: systemClock });
      open.push(db);
      // A database as the program before the sixth migration left it, as far as that one and later
      // ones look.
      await db.script([
        'create table migrations (id bigint primary key, name text not null)',
        "insert into migrations values (1, 'network'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')",
        'create table recovery_codes (account_id bigint, user_id bigint, hash text)',
        ...network(db.engine),
        "insert into network (id, epoch, revision) values (1, 'e', 12)",
        'insert into stamps (account_id, revision, contract_revision) values (0, 3, 0), (1, 12, 7)',
      ]);
      expect((await migrate(db))[0]).toBe('versions');
      expect(
        await db.all(
          'select account_id, revision, contract_revision, usage_revision from versions order by account_id',
        ),
      ).toEqual([
        { account_id: 0, revision: 3, contract_revision: 0, usage_revision: 0 },
        { account_id: 1, revision: 12, contract_revision: 7, usage_revision: 0 },
      ]);
      // An old process fails at its first write; it does not go on beside new ones.
      await expect(db.script(['drop table stamps'])).rejects.toThrow();
    },
  );

  deepTest(
    'stored usage fills its sums in parts, once, also if a process ends or several do it',
    async () => {
      const url = await database.emptyUrl();
      const both = await Promise.all([1, 2].map(() => openDatabase(url, { clock: systemClock })));
      open.push(...both);
      const [db, other] = both as [Database, Database];
      // More hours than one part takes, and days that begin where a billing period does.
      await migrate(db, 38);
      await db.script([
        `insert into usage_hours (account_id, hour, server_id, user_id, up, down)
        with recursive n (at) as (select 1 union all select at + 1 from n where at < 60000)
        select at % 7, 1800000000 + at / 70 * 600, at % 70, 1, at, at % 5 from n where true
        on conflict (account_id, hour, server_id, user_id) do nothing`,
        `insert into usage_days (account_id, day, server_id, user_id, up, down) values
        (1, 1700006400, 3, 1, 5, 7), (1, 1700010011, 3, 1, 11, 0), (9, 1800000000, 4, 2, 1, 1)`,
        // Two billing periods; usage from before the first counts in it.
        ...['hour', 'day'].map(
          (unit) => `insert into usage_periods (account_id, period_start, server_id, bytes)
            select account_id, case when ${unit} < 1800300000 then 1799000000 else 1800300000 end,
              server_id, sum(up + down) from usage_${unit}s where true group by 1, 2, 3
            on conflict (account_id, period_start, server_id)
            do update set bytes = usage_periods.bytes + excluded.bytes`,
        ),
      ]);
      // The first part is done by a process that ends then.
      await expect(migrate(endingAfter(db, 3))).rejects.toThrow('the process ends here');
      expect((await fillUsageSums(db))?.part).toBe(2);
      const ran = await Promise.all([migrate(db), migrate(other)]);
      expect(ran.flat().filter((name) => name === 'usage_sums_filled')).toHaveLength(1);
      expect(await contradictions(db, 'the sums by')).toEqual([]);
      expect(await contradictions(db, 'of users differ')).toEqual([]);
      expect(await db.all('select 1 from usage_user_periods limit 1')).toHaveLength(1);
      for (const fill of ['usage_sums_fill', 'usage_of_users_fill'])
        await expect(db.script([`drop table ${fill}`])).rejects.toThrow();
    },
  );
});

/** The database to a process that ends after so many scripts. */
function endingAfter(db: Database, scripts: number): Database {
  let remaining = scripts;
  return new Proxy(db, {
    get(of, name) {
      if (name === 'script' && remaining-- === 0) {
        return () => Promise.reject(new Error('the process ends here'));
      }
      const value = Reflect.get(of, name);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}
