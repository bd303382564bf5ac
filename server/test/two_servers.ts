// A network for tests that ask nodes about connections: three live nodes, two at fra1 and one at
// ams1. The account acme (boss, an admin, alice and carol) is on fra1, other (alice) on both.
import { type Browser, startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

export type TwoServers = Awaited<ReturnType<typeof startTwoServers>>;

export async function startTwoServers(url: string, prepare: (t: TestApp) => void = () => {}) {
  const t = await startTestApp(url);
  prepare(t);
  await t.server('fra1');
  await t.server('ams1');
  const acme = await t.account('acme', { servers: ['fra1'] });
  const other = await t.account('other', { servers: ['fra1', 'ams1'] });
  await t.user(acme, 'boss', { admin: true });
  await t.user(acme, 'carol', { proxy: true });
  const idOf = async ({ account }: typeof acme, name: string) => {
    const sql = 'select id from users where account_id = $1 and name = $2';
    return (await t.running.ctx.db.one<{ id: number }>(sql, [account.id, name]))?.id ?? 0;
  };
  const ids = {
    ...{ acme: acme.account.id, other: other.account.id, stranger: await idOf(other, 'alice') },
    ...{ alice: await idOf(acme, 'alice'), carol: await idOf(acme, 'carol') },
  };
  const nodes: [TestNode, TestNode, TestNode] = [
    ...([await t.node('fra1', 'fra1-a'), await t.node('fra1', 'fra1-b')] as const),
    await t.node('ams1'),
  ];
  for (const node of nodes) await node.start();
  const browsers = new Map<string, Browser>();
  for (const person of ['boss', 'carol']) browsers.set(person, await t.signIn('acme', person));
  const stop = async () => {
    for (const node of nodes) node.stop();
    await t.stop();
  };
  return { t, ids, nodes, browsers, stop };
}
