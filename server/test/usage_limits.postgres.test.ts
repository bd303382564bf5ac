// The answer to a batch of usage: what the limits leave to its accounts, so that a node can count
// ahead.
import { expect, it } from 'vitest';
import { changeAccount, requireAccount } from '../src/accounts/accounts.ts';
import { setContractServer } from '../src/contract_servers/contract_servers.ts';
import { requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import type { TestNode } from './node.ts';

eachApp((t) => {
  let names = 0;

  async function scene(more: object = {}) {
    const [server, other] = [`srv${++names}`, `srv${++names}`];
    for (const name of [server, other]) await t.server(name);
    const built = await t.account(`account${names}`, { servers: [server, other], ...more });
    const nodes = [await t.node(server), await t.node(other)] as const;
    const period = (await t.as(built).get('/contract')).body.period;
    return { built, nodes, server, other, until: period.end };
  }
  let seq = 0;
  const report = async (node: TestNode, rows: object[], as = ++seq) => {
    const answer = await node.send('POST', '/usage', { boot: 'b', seq: as, rows });
    return (await answer.json()) as { limits: object[] };
  };
  const row = ({ account }: BuiltAccount, bytes: number) => ({
    ...{ account: account.id, user: 1, at: t.now() },
    ...{ up: 1, down: bytes - 1 },
  });

  it('sends what is left until the period ends, to each node by what all of them reported, also when the batch counted before', async () => {
    const { built, nodes, until } = await scene({ limit_bytes: 1000 });
    const limitsOf = (left_bytes: number) => [{ account: built.account.id, left_bytes, until }];
    expect((await report(nodes[0], [row(built, 300), row(built, 100)])).limits).toEqual(
      limitsOf(600),
    );
    expect((await report(nodes[1], [row(built, 100)])).limits).toEqual(limitsOf(500));
    const again = await report(nodes[1], [row(built, 100)], seq);
    expect(again).toEqual({
      ...{ counted: false, held: false, left_out: [] },
      ...{ limits: limitsOf(500), user_limits: [] },
    });
    expect((await report(nodes[0], [row(built, 700)])).limits).toEqual(limitsOf(0));
  });

  it('sends the least of the limits: one of the server counts with detailed server billing', async () => {
    const { built, nodes, server, until } = await scene({ limit_bytes: 1000 });
    const { id } = built.account;
    await t.write(async (tx) =>
      setContractServer(tx, built.account, await requireServer(tx, server), 400),
    );
    expect((await report(nodes[0], [row(built, 100)])).limits).toEqual([
      { account: id, left_bytes: 900, until },
    ]);
    await t.write(async (tx) =>
      changeAccount(tx, await requireAccount(tx, id), { detailed_billing: true }),
    );
    const lefts = [];
    for (const node of nodes) lefts.push((await report(node, [row(built, 100)])).limits[0]);
    expect(lefts).toEqual([
      { account: id, left_bytes: 200, until },
      { account: id, left_bytes: 700, until },
    ]);
  });

  it('sends nothing of a limit that is not enforced, nor of an account that the server does not serve', async () => {
    const { built, nodes } = await scene({ limit_bytes: 1000, on_limit: 'allow' });
    const stranger = await t.account(`stranger${names}`, {});
    expect((await report(nodes[0], [row(built, 5000), row(stranger, 1)])).limits).toEqual([]);
  });
});
