// Draining a node: its server's nodes are informed, its health counts no more, and the command line
// waits until it is empty.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { mayRevoke } from '../src/nodes/records.ts';
import { eachApp } from './apps.ts';
import { CommandLine, type Outcome } from './cli_process.ts';
import { TestNode } from './node.ts';
import { until } from './waiting.ts';

eachApp((t) => {
  /** A server with two live nodes, and an account on it. */
  async function scene() {
    const { number, server, built: account } = await t.site(2);
    const ips = [1, 2].map((last) => `198.18.${number}.${last}`);
    const nodes = [await t.node(server), await t.node(server, `${server}-twin`)] as const;
    for (const node of nodes) {
      await node.snapshot();
      await node.ack();
    }
    const drain = (node: TestNode, drained = true) =>
      t.operator.patch(`/nodes/${node.id}`, { drained });
    const statuses = async () =>
      (await t.as(account).get('/contract/servers')).body[0].ips.map(
        ({ status }: { status: string }) => status,
      );
    return { server, ips, account, node: nodes[0], twin: nodes[1], drain, statuses };
  }
  /** The ids of drained nodes, as a node gets them. */
  const instructions = async (node: TestNode) => {
    const record = (await node.snapshot()).find(({ kind }) => kind === 'server');
    return (record as { value: { drained_nodes: number[] } }).value.drained_nodes;
  };
  const audited = async () =>
    (await t.operator.get('/audit?limit=5')).body
      .map(({ action, target }: Record<string, string>) => `${action} ${target}`)
      .filter((event: string) => /drain/.test(event));

  describe('draining a node', () => {
    test('is sent to all nodes of its server at once, and by each later snapshot, until it ends', async () => {
      const { node, twin, drain } = await scene();
      expect(await instructions(node)).toEqual([]);
      await twin.follow();
      const { status, body } = await drain(node);
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: node.id, drained_at: t.now(), live: true, lag: 1 });
      await twin.until((follower) => follower.heard('server').length > 0);
      expect(twin.heard('server')).toMatchObject([{ value: { drained_nodes: [node.id] } }]);
      twin.stop();
      expect(await instructions(node)).toEqual([node.id]);
      // Once more changes nothing.
      t.clock.advance(5);
      expect((await drain(node)).body.drained_at).toBe(t.now() - 5);
      expect((await drain(twin)).status).toBe(200);
      expect(await instructions(node)).toEqual([node.id, twin.id]);
      expect((await drain(node, false)).body).toMatchObject({ drained_at: null });
      expect(await instructions(twin)).toEqual([twin.id]);
      expect(await audited()).toEqual([
        `node.undrain node/${node.id}`,
        `node.drain node/${twin.id}`,
        `node.drain node/${node.id}`,
      ]);
      await t.operator.delete(`/nodes/${twin.id}`);
      expect(await instructions(node)).toEqual([]);
    });

    test('goes ahead of long changes, as all does that takes something away', () => {
      const lists = { services: [], port_schemes: [], exit_ips: [], drained_nodes: [1] };
      const server = { name: 'fra1', hostname: 'fra1.example', ...lists };
      expect(mayRevoke([{ kind: 'server', value: server }])).toBe(true);
      expect(mayRevoke([{ kind: 'keys', value: [] }])).toBe(true);
    });

    test('leaves out what the node reports on exit IPs; where all are drained these are crit', async () => {
      const { ips, node, twin, drain, statuses } = await scene();
      const say = (by: TestNode, status: string) =>
        by.send('POST', '/health', {
          exit_ips: ips.map((ip) => ({ ip, status, checked_at: t.now() })),
        });
      await say(node, 'warn');
      await say(twin, 'ok');
      expect(await statuses()).toEqual(['warn', 'warn']);
      await drain(node);
      expect(await statuses()).toEqual(['ok', 'ok']);
      await say(node, 'crit');
      expect(await statuses()).toEqual(['ok', 'ok']);
      await drain(twin);
      expect(await statuses()).toEqual(['crit', 'crit']);
      t.clock.advance(1);
      await say(twin, 'ok');
      expect(await statuses()).toEqual(['crit', 'crit']);
      await drain(twin, false);
      expect(await statuses()).toEqual(['ok', 'ok']);
      await say(node, 'warn');
      await drain(node, false);
      expect(await statuses()).toEqual(['warn', 'warn']);
    });

    test('of a server of which nothing is known, and back, leaves nothing known', async () => {
      const { node, twin, drain, statuses } = await scene();
      await drain(node);
      expect(await statuses()).toEqual(['unknown', 'unknown']);
      await drain(twin);
      expect(await statuses()).toEqual(['crit', 'crit']);
      await drain(node, false);
      expect(await statuses()).toEqual(['unknown', 'unknown']);
    });

    test('shows how many connections are open, as its agent says when it acknowledges', async () => {
      const { node } = await scene();
      const acknowledge = async (connections?: string) => {
        const headers: Record<string, string> =
          connections === undefined ? {} : { 'exitward-connections': connections };
        const { epoch, revision } = node;
        await node.send('POST', '/acks', { epoch, revision }, headers);
        return (await t.operator.get(`/nodes/${node.id}`)).body.connections;
      };
      expect(await acknowledge('12')).toBe(12);
      expect(await acknowledge('0')).toBe(0);
      // An older agent says nothing, and other text is not taken for a number.
      expect(await acknowledge()).toBeNull();
      for (const other of ['-1', '1e3', '1234567890', 'many', '1, 2', '']) {
        expect(await acknowledge(other)).toBeNull();
      }
    });

    test('shows whether its node logs connections, as its agent says when it acknowledges', async () => {
      const { node } = await scene();
      const acknowledge = async (headers: Record<string, string>) => {
        const { epoch, revision } = node;
        await node.send('POST', '/acks', { epoch, revision }, headers);
        return (await t.operator.get(`/nodes/${node.id}`)).body.connection_log;
      };
      for (const mode of ['off', 'sources', 'destinations']) {
        expect(await acknowledge({ 'exitward-connection-log': mode })).toBe(mode);
      }
      expect(await acknowledge({})).toBeNull();
      expect(await acknowledge({ 'exitward-connection-log': 'all' })).toBeNull();
    });

    test('refuses what is no answer to the question, by the field’s name, and a node that is not there', async () => {
      const { node } = await scene();
      const refusal = async (id: number | string, body: object) => {
        const answer = await t.operator.patch(`/nodes/${id}`, body);
        return `${answer.status} ${answer.body.message}`;
      };
      expect(await refusal(node.id, { drained: 'yes' })).toMatch(/^400 drained/);
      expect(await refusal(node.id, { drain: true })).toMatch(/^400 drain\b/);
      for (const id of [99_999, 'x', 0, '1e3', '9'.repeat(30)]) {
        expect(await refusal(id, { drained: true })).toBe(`404 There is no node ${id}.`);
      }
    });
  });
});

test('the command line drains a node and waits until nothing is open there, and says what it waits for', async () => {
  const cli = new CommandLine();
  try {
    await cli.serve();
    const run = (...words: string[]) => cli.run('node', ...words);
    const server =
      '--hostname fra1.example --title F --city F --country DE --latitude 1 --longitude 1 --services proxy';
    await cli.run('server', 'add', 'fra1', ...server.split(' '));
    const { code } = JSON.parse((await run('invite', 'fra1', '--json')).stdout);
    const node = await TestNode.invited(cli.base_url, code);
    const { id } = node;
    await node.snapshot();
    const acknowledge = async (connections: number) => {
      const { epoch, revision } = node;
      const headers = { 'exitward-connections': String(connections) };
      const response = await node.send('POST', '/acks', { epoch, revision }, headers);
      expect(response.status).toBe(204);
    };
    await acknowledge(2);

    const unasked = await run('drain', String(id));
    expect(unasked).toMatchObject({ code: 2, stdout: '' });
    expect(unasked.stderr).toMatch(/This drains node 1: .*Add --yes/s);

    const impatient = await run('drain', String(id), '--yes', '--wait', '--timeout', '0');
    expect(impatient).toMatchObject({ code: 1, stdout: '' });
    expect(impatient.stderr).toContain('fra1 has no other node that accepts connections');
    expect(impatient.stderr).toContain(
      'not empty after the wait: the node has not received the change yet',
    );
    expect((await run('list')).stdout).toMatch(/\t\d{10}\t2\t\n$/);

    await node.snapshot();
    await acknowledge(1);
    const waiting = cli.start('node', 'drain', String(id), '--yes', '--wait', '--json');
    await waiting.says('Waiting: 1 connection is open.');
    // The first that counts nothing may have been from before.
    await acknowledge(0);
    await waiting.says('no connection is open; waiting for the node to confirm it');
    let outcome: Outcome | undefined;
    void waiting.outcome.then((answer) => {
      outcome = answer;
    });
    // It shows the times to the second.
    while (!outcome) {
      await acknowledge(0);
      await sleep(200);
    }
    expect(outcome.code).toBe(0);
    expect(outcome.stderr).toContain('Node 1 (fra1-a) accepts no new connections.');
    expect(JSON.parse(outcome.stdout)).toMatchObject({ id, connections: 0 });

    expect((await run('undrain', String(id))).code).toBe(0);
    const waitingAgain = run('drain', String(id), '--yes', '--wait');
    await until(async () => /\t\d{10}\t0\t\n$/.test((await run('list')).stdout));
    expect((await run('undrain', String(id))).code).toBe(0);
    const undone = await waitingAgain;
    expect(undone.code).toBe(1);
    expect(undone.stderr).toContain('Node 1 was undrained in the meantime.');
    expect((await run('list')).stdout).toMatch(/\t\t0\t\n$/);
  } finally {
    await cli.clean();
  }
});
