// The bound on the audit log: of a long log, too, exactly the newest records of each account stay,
// and others are not looked at.
import { expect, test } from 'vitest';
import { AuditBound } from '../src/changes/audit.ts';
import { nextId } from '../src/changes/changes.ts';
import type { Reader, Row } from '../src/db/database.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp } from './harness.ts';

eachDatabase((database) => {
  test('what is too much goes, in several slices, as soon as the log has grown so far that it can be', async () => {
    const t = await startTestApp(await database.url());
    const { db } = t.running.ctx;
    const add = (account_id: number | null, records: number) =>
      t.write(async (tx) => {
        const rows: Row[] = [];
        for (let at = 0; at < records; at += 1) {
          const id = await nextId(tx, 0, 'audit');
          const actor = {
            actor_kind: 'account',
            actor: 'acme/default',
            address: '',
            request_id: '',
          };
          const change = {
            account_id,
            action: 'x.create',
            target: 'x/1',
            before: null,
            after: null,
          };
          rows.push({ id, at: tx.now, ...actor, ...change });
        }
        await tx.insertMany('audit', rows);
      });
    const idsOf = async (account_id: number) =>
      (
        await db.all<{ id: number }>('select id from audit where account_id = $1 order by id', [
          account_id,
        ])
      ).map(({ id }) => id);
    let walks = 0;
    const readOne: Reader['one'] = (sql, values) => {
      if (sql.includes('order by id desc')) walks += 1;
      return db.one(sql, values);
    };
    const bound = new AuditBound(4500);
    const look = () => bound.look({ one: readOne, all: db.all.bind(db), write: db.write.bind(db) });

    await add(null, 5000);
    await add(1, 3000);
    await add(2, 5100);
    const [first, second] = [await idsOf(1), await idsOf(2)];
    expect(await look()).toBe(600);
    expect([await idsOf(1), await idsOf(2)]).toEqual([first, second.slice(-4500)]);
    // Slices of two accounts.
    expect(walks).toBe(2 + 3);

    // The first account is far from the bound; the other one may be over it with each record.
    await add(2, 10);
    walks = 0;
    expect(await look()).toBe(10);
    expect(walks).toBe(3);
    await add(1, 1600);
    expect(await look()).toBe(100);
    expect((await idsOf(1)).length).toBe(4500);
    walks = 0;
    expect(await look()).toBe(0);
    expect(walks).toBe(0);
    const network = await db.one<{ records: number }>(
      'select count(*) as records from audit where account_id is null',
    );
    expect(network?.records).toBeGreaterThanOrEqual(5000);
    await t.stop();
  });
});
