// The nodes of the network in pages: sorted and filtered by their state and traffic, and many
// drained at once.
import { describe, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  /** Four nodes: one online and busy, one with a fault, one drained, one offline. */
  async function scene(t: TestApp) {
    await t.server('fra1');
    await t.server('ams1');
    const busy = await t.node('fra1', 'busy');
    const faulty = await t.node('ams1', 'faulty');
    const drained = await t.node('ams1', 'drained');
    const lost = await t.node('fra1', 'lost');
    await t.operator.patch(`/nodes/${drained.id}`, { drained: true });
    for (const node of [busy, faulty, drained]) {
      await node.snapshot();
      await node.ack();
    }
    return { busy, faulty, drained, lost };
  }
  const names = async (t: TestApp, query: string) => {
    const { status, body, text } = await t.operator.get(`/nodes?limit=100&${query}`);
    expect(status, text).toBe(200);
    return body.map(({ name }: { name: string }) => name);
  };

  describe('the nodes in pages', () => {
    test('are sorted by state from the worst, by traffic and by name, and searched by server', async () => {
      const t = await startTestApp(await database.url());
      const { busy, faulty, drained, lost } = await scene(t);
      const now = t.now();
      const step = now - (now % 300) - 300;
      await t.write(async (tx) => {
        await tx.run('update nodes set live = 0 where id = $1', [lost.id]);
        const fault = { kind: 'disk_full', subject: '', message: 'The disk is full.', since: now };
        await tx.insertMany('node_faults', [{ node_id: faulty.id, number: 0, ...fault }]);
        const nothing = {
          ...{ samples: 0, connections: 0, connections_peak: 0, connections_min: null },
          ...{ lag_peak: 0, faults_peak: 0 },
        };
        await tx.insertMany('node_points', [
          { node_id: busy.id, step: 300, at: step, up: 100_000, down: 200_000, ...nothing },
          { node_id: drained.id, step: 300, at: step, up: 0, down: 300, ...nothing },
          { node_id: drained.id, step: 300, at: step - 300, up: 9e9, down: 0, ...nothing },
        ]);
      });
      expect(await names(t, 'sort=state')).toEqual(['lost', 'faulty', 'drained', 'busy']);
      expect(await names(t, 'sort=name&order=desc')).toEqual(['lost', 'faulty', 'drained', 'busy']);
      expect((await names(t, 'sort=bytes_per_second&order=desc')).slice(0, 2)).toEqual([
        ...['busy', 'drained'],
      ]);
      const { body } = await t.operator.get(`/nodes/${busy.id}`);
      expect(body.bytes_per_second).toBe(1000);
      expect(await names(t, 'sort=name&search=AMS')).toEqual(['drained', 'faulty']);
      for (const state of ['lost', 'faulty', 'drained']) {
        expect(await names(t, `state=${state}`)).toEqual([state]);
      }
      expect(await names(t, 'state=good')).toEqual(['busy']);
      await t.stop();
    });

    test('lag when a change that concerns their server is not applied', async () => {
      const t = await startTestApp(await database.url());
      const { busy } = await scene(t);
      expect(await names(t, 'state=lagging')).not.toContain('busy');
      await t.operator.patch('/servers/fra1', { title: 'Frankfurt' });
      expect(await names(t, 'state=lagging')).toContain('busy');
      await busy.snapshot();
      await busy.ack();
      expect(await names(t, 'state=lagging')).not.toContain('busy');
      await t.stop();
    });

    test('are drained many at once, all or none, and each is audited', async () => {
      const t = await startTestApp(await database.url());
      const { busy, faulty } = await scene(t);
      const refused = await t.operator.patch('/nodes', { nodes: [busy.id, 999], drained: true });
      expect([refused.status, refused.body.field]).toEqual([404, 'nodes.1']);
      const states = async () => {
        const { body } = await t.operator.get('/nodes');
        return body
          .filter(({ id }: { id: number }) => [busy.id, faulty.id].includes(id))
          .map(({ drained_at }: { drained_at: number | null }) => drained_at !== null);
      };
      expect(await states()).toEqual([false, false]);
      const ids = { nodes: [busy.id, faulty.id] };
      const { status, body } = await t.operator.patch('/nodes', { ...ids, drained: true });
      expect([status, body]).toEqual([200, { nodes: 2 }]);
      expect(await states()).toEqual([true, true]);
      const { body: audit } = await t.operator.get('/audit?limit=2');
      expect(audit.map(({ action }: { action: string }) => action)).toEqual([
        ...['node.drain', 'node.drain'],
      ]);
      await t.operator.patch('/nodes', { ...ids, drained: false });
      expect(await states()).toEqual([false, false]);
      await t.stop();
    });
  });
});
