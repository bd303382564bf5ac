// An account that takes a server off its contract and adds it again, to be rid of the operator's
// limit on it.
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from '../../server/test/apps.ts';
import type { Browser } from '../../server/test/harness.ts';

eachApp((t) => {
  let alice: Browser;

  beforeAll(async () => {
    await t.server('fra1');
    await t.server('ams1');
    await t.account('acme');
    alice = await t.signIn('acme', 'alice');
  });

  test("the operator's limit on a server outlives a removal, by any person who takes it off and adds it again", async () => {
    const acmes = '/accounts/acme/servers';
    const limit = async () =>
      (await t.operator.get(acmes)).body.find((row: { server: string }) => row.server === 'ams1')
        ?.limit_bytes;
    const storedLimit = async () =>
      (await t.operator.get('/accounts/acme/network')).body.find(
        (row: { server: string }) => row.server === 'ams1',
      ).limit_bytes;
    await t.operator.put(`${acmes}/ams1`, { limit_bytes: 5 });
    // By the person alone; twice, so that nothing of it is used up.
    for (const _ of [1, 2]) {
      await alice.delete('/servers/ams1');
      expect([await limit(), await storedLimit()]).toEqual([undefined, 5]);
      expect((await alice.put('/servers/ams1', undefined)).body).toMatchObject({ limit_bytes: 5 });
      expect([await limit(), await storedLimit()]).toEqual([5, null]);
    }
    // Off by the person, on by the operator, who sees it; and the other way round.
    await alice.delete('/servers/ams1');
    expect((await t.operator.put(`${acmes}/ams1`, {})).body).toMatchObject({ limit_bytes: 5 });
    await t.operator.delete(`${acmes}/ams1`);
    expect((await alice.put('/servers/ams1', undefined)).body).toMatchObject({ limit_bytes: 5 });
    // The operator's word alone ends it: another limit, or none.
    await alice.delete('/servers/ams1');
    await t.operator.put(`${acmes}/ams1`, { limit_bytes: null });
    await alice.delete('/servers/ams1');
    expect((await alice.put('/servers/ams1', undefined)).body.limit_bytes).toBe(null);
    await alice.delete('/servers/ams1');
  });

  test('usage over a kept limit blocks the server as soon as it is added again', async () => {
    const { account } = await t.account('used', { servers: ['fra1'], detailed_billing: true });
    const used = await t.signIn('used', 'alice');
    await t.operator.put('/accounts/used/servers/fra1', { limit_bytes: 10 });
    const node = await t.node('fra1', 'counting');
    await node.start();
    const rows = [{ account: account.id, user: 1, at: t.now(), up: 7, down: 8 }];
    await node.send('POST', '/usage', { boot: 'c', seq: 1, rows });
    await used.delete('/servers/fra1');
    const { status, body } = await used.put('/servers/fra1', undefined);
    expect([status, body.over_limit]).toEqual([201, true]);
    await node.until((it) => {
      const contract = it.heard('contract').at(-1)?.value as { blocked?: boolean } | undefined;
      return contract?.blocked === true;
    });
    node.stop();
  });
});
