// The connection log: the user of an exit, with the client's address and the port.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, test } from 'vitest';
import type { UseQuestion } from '../../../kit/src/node_interface.ts';
import { systemClock } from '../../src/clock.ts';
import { ConnectionLog } from '../../src/connection_log/connection_log.ts';
import type { FoundUse } from '../../src/connection_log/find_uses.ts';
import * as t from '../proxy_world.ts';
import { type Family, recordsOf } from './family.ts';
import { Scene, type Stage, type StartNode } from './scene.ts';

const modes = ['sources', 'destinations', 'off'] as const;

/** Each of these ends the node, and leaves another one. */
export function usesOfExits(stage: Stage, start: StartNode, families: readonly Family[]): void {
  test.each(modes)('with connections logged (%s), it knows who used an exit', async (mode) => {
    await stage.node.stop();
    const records = recordsOf(families);
    const settings = { EXITWARD_AGENT_CONNECTION_LOG: mode };
    stage.node = await start({ records, settings });
    const { engine } = stage.node;
    const dir = mkdtempSync(join(tmpdir(), 'exitward-connections-'));
    const log = new ConnectionLog({
      ...{ dir: join(dir, 'connections'), settings: { mode, days: 1, max_bytes: 2 ** 20 } },
      ...{ engine, clock: systemClock, log: pino({ level: 'silent' }) },
    });
    let cursor: unknown;
    /** Counts once more, as the meter does every second. */
    const find = async (change: Partial<UseQuestion>, exit_ip: string): Promise<FoundUse[]> => {
      ({ cursor } = await engine.poll(cursor));
      return (await log.find({ exit_ip, at: t.now(), margin_seconds: 60, ...change })).uses;
    };
    try {
      ({ cursor } = await engine.poll(undefined));
      for (const family of families) {
        const scene = new Scene(stage, family);
        const [exit] = family.exits;
        const ofAlice = { account: 1, user: 1, address: family.sources[0], exit_ip: exit };
        const seen = await t.see(scene.normal, scene.url);
        const to = { host: family.originIp, port: scene.origin.port };
        const question = { port: seen.from_port, destination: to };
        const all = mode === 'destinations' ? { destination: scene.to, unknown: [] } : {};
        if (mode !== 'off') {
          await t.until(async () => (await find(question, exit))[0]?.exit_ports !== undefined);
          expect(await find(question, exit)).toMatchObject([
            {
              ...{ ...ofAlice, service: 'proxy' },
              ...{ exit_ports: { first: seen.from_port, last: seen.from_port } },
              ...all,
            },
          ]);
        }
        const tunnel = await t.openTunnel(scene.normal, scene.to);
        await tunnel.ask(t.requestText('GET', '/'));
        if (mode !== 'off') {
          const isOpen = ({ until }: FoundUse) => until === undefined;
          await t.until(async () => (await find({}, exit)).some(isOpen));
          expect((await find({}, exit)).filter(isOpen)).toMatchObject([ofAlice]);
        }
        await tunnel.close();
        if (mode !== 'off') {
          await t.until(async () =>
            (await find({}, exit)).every(({ until }) => until !== undefined),
          );
          const ended = (await find({}, exit)).filter(({ exit_ports }) => exit_ports !== undefined);
          expect(ended).toMatchObject([ofAlice, ofAlice]);
          expect(await find({ at: t.now() - 3600 }, exit)).toEqual([]);
          const other = { destination: { host: '203.0.113.9', port: 443 } };
          if (mode === 'destinations') expect(await find(other, exit)).toEqual([]);
        }
        expect(await find({}, '198.51.100.77')).toEqual([]);
      }
      if (mode === 'off') expect(readdirSync(dir)).toEqual([]);
    } finally {
      await log.close();
      rmSync(dir, { recursive: true });
    }
  });
}
