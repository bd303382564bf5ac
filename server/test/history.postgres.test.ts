// A new history, as a restore and a failover begin it: nothing of the lost one is given again, and
// none of it holds.
import { expect, test } from 'vitest';
import { beginHistory, idGap } from '../src/db/history.ts';
import { contradictions } from './contradictions.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp } from './harness.ts';

eachDatabase((database) => {
  test('a new history repeats no id and no token version, ends streams and sessions, and drops cached responses', async () => {
    const t = await startTestApp(await database.url());
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const account = t.as(acme);
    const create = async (ip: string) =>
      (await account.post('/contract/ip-authlist', { ip, user: 'alice', expiry: t.now() + 1000 }))
        .body.id as number;
    const raise = async () =>
      (await t.operator.post('/accounts/acme/users/alice/token_version', {})).body.token_version;
    const signedIn = await t.signIn('acme', 'alice');
    const node = await t.node('fra1');
    await create('192.0.2.1');
    await node.start();
    const status = async () => (await account.get('/contract/overrides')).body[0].status;
    await account.post('/contract/overrides', {
      ...{ server: 'fra1', hostname: 'a.example', ip: '192.0.2.1', expiry: t.now() + 1000 },
    });
    await node.until(({ events }) => JSON.stringify(events).includes('a.example'));
    await node.ack();
    for (let time = 0; time < 3; time += 1) expect(await status()).toBe('active');

    // A list that has given more ids than others ever will.
    const long = 5_000_000;
    await t.write((tx) =>
      tx.run("update counters set last = $1 where account_id = 0 and list = 'audit'", [long]),
    );

    await t.write((tx) => beginHistory(tx, 'database.restore'));

    // No change of the account: only by the epoch the cached response does not hold any more.
    expect(await status()).toBe('pending');
    await node.until(({ ended }) => ended);
    await expect(node.follow()).rejects.toThrow(/^follow: 409/);
    await node.start();
    expect(await status()).toBe('active');
    expect((await signedIn.get('/session')).status).toBe(401);
    expect(await create('192.0.2.2')).toBeGreaterThan(1 + idGap);
    expect(await raise()).toBeGreaterThan(1 + idGap);
    const newest = await t.running.ctx.db.one<{ id: number }>('select max(id) as id from audit');
    expect(Number(newest?.id)).toBeGreaterThan(long + idGap);
    const raised = await raise();
    expect(await raise()).toBe(raised + 1);
    expect(await contradictions(t.running.ctx.db)).toEqual([]);
    node.stop();
    await t.stop();
  });
});
