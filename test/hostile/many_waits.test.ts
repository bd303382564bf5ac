// An account that waits for its nodes by more requests than it may, at a node that acknowledges
// nothing.
import { beforeAll, expect, test } from 'vitest';
import { AppliedWatch, maxWaitingOfAccount } from '../../server/src/nodes/applied.ts';
import { eachApp } from '../../server/test/apps.ts';

eachApp((t) => {
  beforeAll(async () => {
    for (const name of ['fra1', 'ams1']) await t.server(name);
  });

  test('waits beyond the cap of an account are answered at once, and others wait on', async () => {
    const [crowd, victim] = await Promise.all([
      t.account('crowd', { servers: ['fra1'] }),
      t.account('victim', { servers: ['ams1'] }),
    ]);
    const [silent, node] = [await t.node('fra1'), await t.node('ams1')];
    for (const follower of [silent, node]) await follower.start();
    let at = 0;
    const create = async (account: typeof crowd) => {
      at += 1;
      const entry = { ip: `192.0.2.${at}`, user: 'alice', expiry: t.now() + 1000 };
      const { status, headers } = await t
        .as(account)
        .post('/contract/ip-authlist', entry, { prefer: 'wait=30' });
      return [status, headers.get('preference-applied')];
    };
    const [beyond, waiting] = [20, [] as Array<Promise<unknown>>];
    const answered = await new Promise<unknown[]>((resolve) => {
      const early: unknown[] = [];
      for (let remaining = maxWaitingOfAccount + beyond; remaining > 0; remaining -= 1) {
        const creation = create(crowd);
        waiting.push(creation);
        void creation.then((answer) => early.push(answer) === beyond && resolve(early));
      }
    });
    expect(answered).toEqual(Array(beyond).fill([201, null]));

    const own = create(victim);
    await node.until((follower) => follower.heard('authlist').length === 1);
    await node.ack();
    expect(await own).toEqual([201, 'wait=30']);

    await silent.until((follower) => follower.heard('authlist').length === waiting.length);
    await silent.ack();
    const all = await Promise.all(waiting);
    expect(all.filter((answer) => (answer as unknown[])[1] === 'wait=30')).toHaveLength(
      maxWaitingOfAccount,
    );
    for (const follower of [silent, node]) follower.stop();
  });

  test('a commit asks the database once, however many wait', async () => {
    const { db } = t.running.ctx;
    let [reads, wake] = [0, () => {}];
    const counted = {
      ...db,
      all: (...query: Parameters<typeof db.all>) => {
        reads += 1;
        return db.all(...query);
      },
      listen: (woken: () => void) => {
        wake = woken;
        return () => {};
      },
    } as typeof db;
    const { account } = await t.account('patient', { servers: ['fra1'] });
    const node = await t.node('fra1', 'slow');
    await node.start();
    const stopping = new AbortController();
    const watch = new AppliedWatch(counted, () => 0, stopping.signal);
    const waits = Array.from({ length: maxWaitingOfAccount }, () =>
      watch.wait(account.id, null, 1_000_000, 30),
    );
    await expect.poll(() => reads).toBe(1);
    for (const commits of [2, 3, 4]) {
      wake();
      await expect.poll(() => reads).toBe(commits);
    }
    expect(await watch.wait(account.id, null, 1, 30)).toBe(undefined);
    stopping.abort();
    expect(await Promise.all(waits)).toEqual(
      Array(maxWaitingOfAccount).fill({ progress: undefined }),
    );
    node.stop();
  });
});
