// A node with a full disk, with both engines: changes apply from memory, and are acknowledged when
// they are written.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { HttpControl } from '../src/link/control.ts';
import { Link } from '../src/link/link.ts';
import { type EmbeddedNode, startEmbeddedNode } from './embedded_node.ts';
import * as t from './proxy_world.ts';
import { ScriptedControl } from './scripted_control.ts';
import { deciderOf, type SquidNode, startSquidNode } from './squid_node.ts';
import { readStored } from './stored.ts';

const bytes = 256 * 1024;
const mounted: string[] = [];
const engines = { embedded: startEmbeddedNode, squid: startSquidNode };

let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

/** A small disk of its own for the policy. */
function mount(folder: string): void {
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=755`, 'tmpfs', folder]);
  mounted.push(folder);
}

function fill(file: string): void {
  const fd = openSync(file, 'w');
  try {
    for (;;) writeSync(fd, Buffer.alloc(4096));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(fd);
  }
}

const squids = (node: EmbeddedNode | SquidNode): number[] =>
  'squids' in node ? (node as SquidNode).squids() : [];

/** An engine that follows a control plane. */
async function scene(name: keyof typeof engines) {
  const control = await ScriptedControl.start();
  control.records = t.usualRecords();
  const node: EmbeddedNode | SquidNode = await engines[name]({
    records: control.records,
    prepare: mount,
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const http = new HttpControl({ url: control.url, token: 'ewn_t', signal });
  const { store, engine } = node;
  const log = pino({ level: 'silent' });
  const link = new Link({ store, engine, control: http, clock: systemClock, log });
  const running = link.run(signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
    for (const folder of mounted.splice(0)) execFileSync('umount', ['--lazy', folder]);
    await node.stop();
    await control.stop();
  });
  return {
    control,
    node,
    store,
    policy: join(node.dir, 'policy'),
    acknowledged: () => control.acknowledged.at(-1)?.revision ?? 0,
    statusOf: async (source: string) =>
      (await t.ask({ port: t.normalPort, from: source }, 'GET', origin.url)).status,
  };
}

describe.each(Object.keys(engines) as Array<keyof typeof engines>)(
  'with its disk full, %s',
  (name) => {
    test('acts by every change at once, says that it does not keep it, and keeps it when there is space', async () => {
      const { control, node, store, policy, acknowledged, statusOf } = await scene(name);
      const [alice, other] = t.sources;
      await t.until(() => acknowledged() === 1);
      expect([await statusOf(alice), await statusOf(other)]).toEqual([200, 200]);

      fill(join(policy, 'filler'));
      // Fills the rest of the last page of the file of changes.
      while (store.isSound) {
        const before = control.revision;
        control.change(t.overrideRecord(2, `${'x'.repeat(60)}.example`, '203.0.113.9'));
        await t.until(() => store.held?.revision === before + 1);
      }
      const stored = store.position?.revision ?? 0;
      control.change(t.authlistRecord(1, null));
      await t.until(async () => (await statusOf(alice)) === 407);
      expect(await statusOf(other)).toBe(200);
      expect(store.faults()).toEqual([
        expect.stringMatching(/^Changes of the policy cannot be written to the disk: ENOSPC/),
      ]);

      // A stream that is opened now continues after the change, and does not acknowledge it.
      const held = `e1:${control.revision}`;
      control.cut();
      await t.until(() => control.unacknowledging.includes(held));
      control.change(t.contractRecord(2, { suspended: true }));
      await t.until(async () => (await statusOf(other)) === 403);
      expect([store.position?.revision, acknowledged() <= stored]).toEqual([stored, true]);

      // A new worker gets the changes from the agent's memory.
      const [squid] = squids(node);
      if (squid !== undefined) {
        const decider = deciderOf(squid) ?? 0;
        process.kill(decider, 'SIGKILL');
        await t.until(() => ![undefined, decider].includes(deciderOf(squid)));
        await t.until(async () => (await statusOf(other)) === 403);
        expect(await statusOf(alice)).toBe(407);
      }

      rmSync(join(policy, 'filler'));
      await t.until(() => acknowledged() === control.revision);
      expect([store.isSound, store.faults()]).toEqual([true, []]);
      expect((await readStored(policy)).position).toEqual({
        epoch: 'e1',
        revision: control.revision,
      });
      expect([await statusOf(alice), await statusOf(other)]).toEqual([407, 403]);
    });
  },
);
