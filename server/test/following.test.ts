// A node that follows the changes has the policy that a snapshot would give it, after changes of
// each kind in any order.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { eachDatabase } from './databases.ts';
import { FollowingNode } from './following_node.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';
import { Random } from './random.ts';

const servers = ['fra1', 'lon1', 'nyc1'];
const day = 86_400;
const rounds = tries(10, { atLeast: 2 });
/** Enough for each action to have an effect at least once. */
const enough = 10;

eachDatabase((database) => {
  describe('a node that follows', () => {
    let t: TestApp;
    let acme: Awaited<ReturnType<TestApp['account']>>;
    const nodes: TestNode[] = [];
    const following: FollowingNode[] = [];
    const random = Random.printed('following');
    let count = 0;

    beforeAll(async () => {
      t = await startTestApp(await database.url());
      for (const server of servers) await t.server(server);
      acme = await t.account('acme', { servers, detailed_billing: true });
      await t.account('globex', { servers: ['fra1'] });
      for (const server of servers) {
        const node = await t.node(server);
        nodes.push(node);
        following.push(new FollowingNode(node));
      }
    });
    afterAll(async () => {
      for (const follower of following) follower.stop();
      await t.stop();
    });

    const change = (fields: object) => t.operator.patch('/accounts/acme', fields);
    const put = (server: string, fields: object) =>
      t.operator.put(`/accounts/acme/servers/${server}`, fields);
    const ofUser = (path: string) => `/accounts/acme/users/alice${path}`;
    /** Traffic of the account at one of the servers. */
    const send = (at: number, bytes: number) =>
      (nodes[at] as TestNode).send('POST', '/usage', {
        ...{ boot: 'b', seq: ++count },
        rows: [{ account: acme.account.id, user: 1, at: t.now(), up: bytes, down: 0 }],
      });
    const expiry = () => t.now() + random.one([60, day]);
    const address = () => `203.0.113.${random.between(1, 250)}`;

    const actions: Record<string, () => Promise<{ status: number }>> = {
      'another plan': () => change({ plan: `Plan ${++count}` }),
      'another limit': () => change({ limit_bytes: random.one([50, 10 ** 12]) }),
      'what a limit does': () => change({ on_limit: random.one(['allow', 'refuse']) }),
      'billing by server': () => change({ detailed_billing: random.one([true, false]) }),
      suspension: () => change({ suspended: true }),
      'no suspension': () => change({ suspended: false }),
      'another expiry': () => change({ expiry: t.now() + random.between(1, 300) * day }),
      'an own limit': () => put(random.one(servers), { limit_bytes: random.one([100, 10 ** 9]) }),
      'no own limit': () => put(random.one(servers), { limit_bytes: null }),
      'a server less': () => t.operator.delete(`/accounts/acme/servers/${random.one(servers)}`),
      'a server more': () => put(random.one(servers), {}),
      'a user': () => t.operator.post('/accounts/acme/users', { name: `user${++count}` }),
      'flags of a user': () =>
        t.operator.patch(ofUser(''), { flags: { proxy: random.one([true, false]) } }),
      'tokens revoked': () => t.operator.post(ofUser('/token_version'), {}),
      'an address': () =>
        t
          .as(acme)
          .post('/contract/ip-authlist', { ip: address(), user: 'alice', expiry: expiry() }),
      'custom DNS': () =>
        t.as(acme).post('/contract/overrides', {
          ...{ server: random.one(servers), hostname: `host${++count}.example` },
          ...{ ip: address(), expiry: expiry() },
        }),
      'an empty authlist': () => t.as(acme).delete('/contract/ip-authlist'),
      traffic: () => send(random.between(0, 2), 60),
      'another city': () =>
        t.operator.patch(`/servers/${random.one(servers)}`, { city: `City ${++count}` }),
      time: () => t.pass(61).then(() => ({ status: 200 })),
    };

    const inAnyOrder = () =>
      Object.entries(actions)
        .map(([name, act]) => ({ name, act, at: random.next() }))
        .sort((a, b) => a.at - b.at);

    test(`has the policy of a snapshot after each change, in any order (${rounds} times)`, async () => {
      const effective = new Set<string>();
      for (let round = 0; round < rounds; round += 1) {
        // One server is over its own limit, so the nodes of the servers get different records.
        await change({ detailed_billing: true, suspended: false, limit_bytes: 10 ** 12 });
        for (const server of servers) await put(server, { limit_bytes: 100 });
        await send(round % servers.length, 1000);
        const done: string[] = [];
        for (const { name, act } of inAnyOrder()) {
          done.push(name);
          if ((await act()).status < 300) effective.add(name);
          for (const [at, follower] of following.entries()) {
            await expect
              .poll(
                async () => {
                  const [has, wanted] = [follower.policy, await follower.wanted()];
                  return has.join('\n') === wanted.join('\n') || { has, wanted };
                },
                { message: `${servers[at]} after ${done.join(', ')}` },
              )
              .toBe(true);
          }
        }
      }
      const ineffective = Object.keys(actions).filter((name) => !effective.has(name));
      if (rounds >= enough) expect(ineffective).toEqual([]);
    });
  });
});
