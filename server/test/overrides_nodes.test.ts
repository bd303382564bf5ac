// Which nodes have applied a custom DNS entry, and in words for whom it waits.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { progressOf } from '../src/cli/lists.ts';
import { removeContractServer } from '../src/contract_servers/contract_servers.ts';
import { requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import { CommandLine } from './cli_process.ts';
import { TestNode } from './node.ts';

eachApp((t) => {
  /** An entry on a server of its own with two nodes that follow. */
  async function scene() {
    const { server, built } = await t.site();
    const { name } = built.account;
    const [first, other] = [
      await t.node(server, `${server}-a`),
      await t.node(server, `${server}-b`),
    ];
    for (const node of [first, other]) await node.start();
    const { body: entry } = await t.as(built).post('/contract/overrides', {
      server,
      hostname: 'a.example',
      ip: '192.0.2.1',
      expiry: t.now() + 40,
    });
    for (const node of [first, other]) await node.until((it) => it.heard('override').length === 1);
    const show = async () => (await t.operator.get(`/accounts/${name}/overrides/${entry.id}`)).body;
    const how = async () => {
      const { status, nodes } = await show();
      return [status, ...nodes.map(({ applied }: { applied: boolean }) => applied)];
    };
    return { server, name, built, one: first, other, entry, show, how };
  }

  it('does not count a node that follows and says that it does not keep what it follows', async () => {
    const { one: first, other, show, how } = await scene();
    await first.ack();
    other.stop();
    await other.follow({ 'exitward-acknowledges': 'false' });
    await other.until((it) => it.events.at(-1)?.event === 'position');
    expect(await how()).toEqual(['pending', true, false]);

    // Nor is it there for that: without an acknowledgement it is offline, whatever it opens.
    await t.pass(50);
    await first.ack();
    await t.pass(30);
    await other.follow({ 'exitward-acknowledges': 'false' });
    expect((await show()).nodes.map(({ live }: { live: boolean }) => live)).toEqual([true, false]);

    const lost = await other.send('GET', '/changes', undefined, {
      'last-event-id': `another:${other.revision}`,
      'exitward-acknowledges': 'false',
    });
    expect([lost.status, await lost.json()]).toMatchObject([409, { code: 'snapshot_needed' }]);
    await other.ack();
    expect((await how()).slice(1)).toEqual([true, true]);
  });

  it('shows the entry with each node of its server: live, how far, and whether it has the last change', async () => {
    const { one: first, other, entry, show, server } = await scene();
    await t.node(server, 'silent');
    await first.ack();
    expect(await show()).toEqual({
      ...entry,
      ...{ note: '', added_by_kind: 'account', added_by: expect.any(String) },
      added_at: expect.any(Number),
      status: 'pending',
      on_contract: true,
      nodes: [
        {
          id: first.id,
          name: `${server}-a`,
          live: true,
          applied: true,
        },
        {
          id: other.id,
          name: `${server}-b`,
          live: true,
          applied: false,
        },
        {
          id: expect.any(Number),
          name: 'silent',
          live: false,
          applied: false,
        },
      ],
    });
    expect(progressOf(await show())).toBe(
      `active on 1 of 2, waiting for ${server}-b; not live, and not waited for: silent`,
    );
    await other.ack();
    expect((await show()).status).toBe('active');
    for (const node of [first, other]) node.stop();
  });

  it('a change, and the end, are waited for again; nodes have not applied what they were not sent', async () => {
    const { one: first, other, built, entry, show, how, server } = await scene();
    for (const node of [first, other]) await node.ack();
    expect(await how()).toEqual(['active', true, true]);
    await t.as(built).patch(`/contract/overrides/${entry.id}`, { ip: '192.0.2.2' });
    expect(await how()).toEqual(['pending', false, false]);
    for (const node of [first, other]) {
      await node.until((it) => it.heard('override').length === 2);
      await node.ack();
    }
    expect(await how()).toEqual(['active', true, true]);
    t.clock.advance(40);
    expect(await how()).toEqual(['expiring', false, false]);
    await t.pass(0);
    await first.until((it) => it.heard('override').length === 3);
    await first.ack();
    expect(await how()).toEqual(['expiring', true, false]);
    expect(progressOf(await show())).toBe(`ended on 1 of 2, waiting for ${server}-b`);
    await other.until((it) => it.heard('override').length === 3);
    await other.ack();
    expect(await how()).toEqual(['expired', true, true]);
    for (const node of [first, other]) node.stop();
  });

  it('off the contract there is nothing that a node could have applied', async () => {
    const { one: first, other, built, show, how, server } = await scene();
    for (const node of [first, other]) await node.ack();
    await t.write(async (tx) =>
      removeContractServer(tx, built.account, await requireServer(tx, server)),
    );
    for (const node of [first, other]) {
      await node.until((it) => it.heard('account').length > 0);
      await node.ack();
    }
    expect(await how()).toEqual(['pending', false, false]);
    expect(await show()).toMatchObject({ on_contract: false });
    for (const node of [first, other]) node.stop();
  });

  it('an entry, or an account, that is not there is 404', async () => {
    const { name, entry } = await scene();
    for (const path of [
      `${name}/overrides/${entry.id + 1}`,
      `${name}/overrides/x`,
      'no/overrides/1',
    ])
      expect([path, (await t.operator.get(`/accounts/${path}`)).status]).toEqual([path, 404]);
  });
});

describe('in words', () => {
  const a = { name: 'a', live: true, applied: true };
  const b = { name: 'b', live: true, applied: false };
  const lost = { name: 'lost', live: false, applied: false };
  const progress = (status: string, nodes: object[], on_contract = true) =>
    progressOf({ server: 'fra1', status, on_contract, nodes } as Parameters<typeof progressOf>[0]);

  it.each([
    [[], 'no node has joined for fra1'],
    [[a, b], 'active on 1 of 2, waiting for b'],
    [[b, { ...b, name: 'c' }], 'active on 0 of 2, waiting for b, c'],
    [[a], 'active on 1 of 1'],
    [[a, lost], 'active on 1 of 1; not live, and not waited for: lost'],
    [[lost], 'active on 0 of 1, waiting for lost; no node of fra1 is live'],
    [[{ ...lost, applied: true }], 'active on 1 of 1; no node of fra1 is live'],
  ])('%o: %s', (nodes, words) => {
    expect(progress('pending', nodes)).toBe(words);
  });

  it('an entry that is over ends on its nodes, and one off the contract is on none', () => {
    expect(progress('expiring', [a, b])).toBe('ended on 1 of 2, waiting for b');
    expect(progress('pending', [a, b], false)).toBe('on no node: fra1 is not on the contract');
  });
});

describe('exitward override show', () => {
  const cli = new CommandLine();
  beforeAll(() => cli.serve());
  afterAll(() => cli.clean());

  it('prints the entry and says how far it is', async () => {
    const run = async (...args: string[]) => {
      const outcome = await cli.run(...args);
      expect([args, outcome.code]).toEqual([args, 0]);
      return outcome.stdout;
    };
    const place = ['--city', 'F', '--country', 'DE', '--latitude', '50', '--longitude', '8'];
    await run(
      'server',
      'add',
      'fra1',
      '--hostname',
      'fra1.example',
      '--title',
      'F',
      ...place,
      '--services',
      'proxy',
    );
    const terms = ['--plan', 'Team', '--expiry', '+1y', '--limit', '500GB'];
    const token = JSON.parse(await run('account', 'create', 'acme', ...terms, '--json')).api_token;
    await run('contract', 'add', 'acme', 'fra1');
    const expiry = Math.floor(Date.now() / 1000) + 1000;
    const made = await fetch(`${cli.base_url}/v0/contract/overrides`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ server: 'fra1', hostname: 'a.example', ip: '192.0.2.1', expiry }),
    });
    expect(made.status).toBe(201);
    const unjoined = await run('override', 'show', 'acme', '1');
    expect(unjoined.split('\n')).toEqual([
      'id\t1',
      'server\tfra1',
      'hostname\ta.example',
      'ip\t192.0.2.1',
      'status\tpending',
      `expiry\t${expiry}`,
      'note\t',
      'nodes\tno node has joined for fra1',
      '',
    ]);
    const { code } = JSON.parse(await run('node', 'invite', 'fra1', '--json'));
    await TestNode.invited(cli.base_url, code);
    expect(await run('override', 'show', 'acme', '1')).toMatch(
      /\nnodes\tactive on 0 of 1, waiting for fra1-a; no node of fra1 is live\nfra1-a\tno\tno\n$/,
    );
    expect(JSON.parse(await run('override', 'show', 'acme', '1', '--json'))).toMatchObject({
      id: 1,
      on_contract: true,
      nodes: [{ name: 'fra1-a', live: false, applied: false }],
    });
    expect(await cli.run('override', 'show', 'acme', '2')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no such custom DNS entry'),
    });
  });
});
