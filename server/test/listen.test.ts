// Hearing of commits: those of this process and of another on the same database, until the last
// listener stops.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '../src/clock.ts';
import type { Actor, Database } from '../src/db/database.ts';
import { openDatabase } from '../src/db/open.ts';
import { eachDatabase } from './databases.ts';

const actor: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };

eachDatabase((database) => {
  let here: Database;
  let elsewhere: Database;

  beforeAll(async () => {
    const url = await database.url();
    here = await openDatabase(url, { clock: systemClock });
    elsewhere = await openDatabase(url, { clock: systemClock });
    await here.script(['create table marks (at bigint)']);
  });
  afterAll(async () => {
    await here.close();
    await elsewhere.close();
  });

  const commit = (db: Database) =>
    db.write(actor, (tx) => tx.run('insert into marks (at) values ($1)', [1]));
  const hears = (heard: { mock: { calls: unknown[] } }, db: Database) =>
    vi.waitFor(
      async () => {
        const before = heard.mock.calls.length;
        await commit(db);
        await vi.waitFor(() => expect(heard.mock.calls.length).toBeGreaterThan(before), 500);
      },
      { timeout: 90_000 },
    );
  /** Whether anything still asks the database whether others have committed. */
  async function looks(): Promise<boolean> {
    if (here.dataVersion) {
      const versionReads = vi.spyOn(here as Required<Database>, 'dataVersion');
      await new Promise((later) => setTimeout(later, 350));
      const count = versionReads.mock.calls.length;
      versionReads.mockRestore();
      return count > 0;
    }
    const sql = `select pid from pg_stat_activity where datname = current_database() and query like 'listen %'`;
    return (await here.all(sql)).length > 0;
  }

  test('a listener hears commits of this process and of another, until it stops', async () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const stopFirst = here.listen(first);
    const stopSecond = here.listen(second);
    await hears(first, here);
    await hears(first, elsewhere);
    stopFirst();
    const calls = first.mock.calls.length;
    await hears(second, elsewhere);
    expect(first.mock.calls.length).toBe(calls);
    stopSecond();
  });

  test('when the last listener has stopped nothing looks for commits any more, until another listens', async () => {
    const stop = here.listen(vi.fn());
    await vi.waitFor(async () => expect(await looks()).toBe(true), { timeout: 90_000 });
    stop();
    await vi.waitFor(async () => expect(await looks()).toBe(false), { timeout: 90_000 });
    const heard = vi.fn();
    const stopAgain = here.listen(heard);
    await hears(heard, elsewhere);
    stopAgain();
  });
});
