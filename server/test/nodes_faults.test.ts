// Faults of nodes: what each says is wrong with it, as operators see it in the interface, on the
// command line and in metrics.
import { expect, test } from 'vitest';
import { networkMarks } from '../src/nodes/nodes.ts';
import { eachApp } from './apps.ts';
import { CommandLine } from './cli_process.ts';
import { TestNode } from './node.ts';

eachApp((t) => {
  async function scene() {
    const { server } = await t.site();
    const node = await t.node(server);
    await node.start();
    const report = (faults: unknown) => node.send('POST', '/faults', { faults });
    return { server, node, report };
  }
  const disk = { kind: 'disk', message: 'The disk is full.' };
  const port = { kind: 'port', subject: '10001', message: 'Port 10001 is taken.' };
  const metrics = async () => (await fetch(t.running.metrics_url as string)).text();

  test('the last list that a node reported is shown, with since when, until it reports another', async () => {
    const { node, report } = await scene();
    const shown = async () => (await t.operator.get(`/nodes/${node.id}`)).body.faults;
    expect(await shown()).toEqual([]);
    const since = t.now() - 60;
    expect(
      (
        await report([
          { ...disk, since },
          { ...port, since: since + 1 },
        ])
      ).status,
    ).toBe(204);
    expect(await shown()).toEqual([
      { ...disk, subject: null, since },
      { ...port, since: since + 1 },
    ]);
    const { body } = await t.operator.get('/nodes');
    expect(body.find(({ id }: { id: number }) => id === node.id).faults).toEqual(await shown());

    // A node's clock may be ahead of ours.
    await report([
      { ...disk, since: t.now() + 500 },
      { ...port, subject: '1', since: t.now() + 500 },
    ]);
    expect(await shown()).toEqual([
      { ...disk, subject: null, since },
      { ...port, subject: '1', since: t.now() },
    ]);
    await report([]);
    expect(await shown()).toEqual([]);
    node.stop();
  });

  test('open pages hear of a list that is another, and not of the same again', async () => {
    const { node, report } = await scene();
    const mark = async () => (await networkMarks(t.running.ctx.db)).nodes;
    const since = t.now();
    const before = await mark();
    await report([{ ...disk, since }]);
    const after = await mark();
    expect(after).toBeGreaterThan(before);
    await report([{ ...disk, since }]);
    expect(await mark()).toBe(after);
    node.stop();
  });

  test('metrics count the faults of each kind, and say since when, until the node is revoked', async () => {
    const { server, node, report } = await scene();
    const since = t.now() - 600;
    await report([
      { ...port, since: since + 5 },
      { ...port, subject: '10002', since },
    ]);
    const labels = `{server="${server}",node="${node.id}",kind="port"}`;
    expect(await metrics()).toContain(`exitward_node_faults${labels} 2\n`);
    expect(await metrics()).toContain(`exitward_node_faults_since_seconds${labels} ${since}\n`);
    await t.operator.delete(`/nodes/${node.id}`);
    expect(await metrics()).not.toContain(labels);
    expect((await t.operator.get(`/nodes/${node.id}`)).status).toBe(404);
    expect((await report([])).status).toBe(401);
    node.stop();
  });

  test('a list that makes no sense is refused, and the one before stays', async () => {
    const { node, report } = await scene();
    await report([{ ...disk, since: 5 }]);
    for (const bad of [
      [{ ...disk }],
      [{ ...disk, kind: 'Disk full', since: 5 }],
      [{ ...disk, since: -1 }],
      Array(101).fill({ ...disk, since: 5 }),
      'disk',
    ]) {
      expect((await report(bad)).status).toBe(400);
    }
    expect((await t.operator.get(`/nodes/${node.id}`)).body.faults).toHaveLength(1);
    node.stop();
  });
});

test('the command line lists the kinds, and shows each fault with since when', async () => {
  const cli = new CommandLine();
  await cli.serve();
  await cli.run(
    'server',
    'add',
    'fra1',
    ...'--hostname fra1.example --title F --city F --country DE --latitude 1 --longitude 1 --services proxy'.split(
      ' ',
    ),
  );
  const { code } = JSON.parse((await cli.run('node', 'invite', 'fra1', '--json')).stdout);
  const node = await TestNode.invited(cli.base_url, code);
  const faults = [
    { kind: 'disk', message: 'The disk is full.', since: 1_700_000_000 },
    { kind: 'port', subject: '10001', message: 'Port 10001 is taken.', since: 1_700_000_060 },
  ];
  expect((await node.send('POST', '/faults', { faults })).status).toBe(204);
  const list = await cli.run('node', 'list');
  expect(list.stdout).toMatch(/\tdisk,port\n$/);
  const shown = await cli.run('node', 'show', String(node.id));
  expect(shown.stdout).toContain('name\tfra1-a\n');
  expect(shown.stdout).toContain('disk\t\t1700000000\tThe disk is full.\n');
  expect(shown.stdout).toContain('port\t10001\t1700000060\tPort 10001 is taken.\n');
  await cli.clean();
});
