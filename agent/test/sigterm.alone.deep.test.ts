// SIGTERM to an agent with the embedded engine during traffic, while half of its clients expire:
// its journal has every byte that the clients saw.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { expect, test } from 'vitest';
import { Random } from '../../server/test/random.ts';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { tries } from '../../test/effort.ts';
import { Tally } from '../../test/system/tally.ts';
import { startOrigin, Traffic } from '../../test/system/traffic.ts';
import { journalPath, policyFolder } from '../src/identity.ts';
import { Store } from '../src/store/store.ts';
import { Journal } from '../src/usage/journal.ts';
import * as t from './proxy_world.ts';
import { inPieces, snapshotText } from './stored.ts';

const program = fileURLToPath(new URL('../bin/exitward-agent.js', import.meta.url));
const clientsOfAccount = 6;

/** A node that has joined, without its control plane. The second account expires soon. */
async function prepare(dir: string, expiry: number): Promise<void> {
  const identity = { url: 'http://127.0.0.1:1', node: t.nodeId, server: 'fra1', token: 'ewn_none' };
  writeFileSync(join(dir, 'node.json'), JSON.stringify(identity), { mode: 0o600 });
  const store = await Store.open(policyFolder(dir));
  const records = t
    .usualRecords()
    .map((record) =>
      record.kind === 'authlist' && record.account === 2 && record.value
        ? { ...record, value: { ...record.value, expiry } }
        : record,
    );
  await store.replace(inPieces(snapshotText({ epoch: 'e1', revision: 1 }, records)), t.now());
  await store.close();
}

/** By account. */
async function billedBy(dir: string): Promise<Array<{ up: number; down: number }>> {
  const journal = await Journal.open(journalPath(dir), { log: pino({ level: 'silent' }) });
  const rows = journal.pending();
  await journal.close();
  return [1, 2].map((account) => {
    const sum = { up: 0, down: 0 };
    for (const row of rows.filter((entry) => entry.account === account)) {
      sum.up += row.up;
      sum.down += row.down;
    }
    return sum;
  });
}

test('SIGTERM amid traffic and an expiry leaves each byte in the journal', async () => {
  const random = Random.printed('SIGTERM');
  const origin = await startOrigin(t.originIp);
  for (let round = 0; round < tries(10); round += 1) {
    const dir = mkdtempSync(join(tmpdir(), 'exitward-sigterm-'));
    const expiry = t.now() + 6;
    await prepare(dir, expiry);
    const child = spawn(process.execPath, [program, 'run'], {
      env: {
        ...bareEnvironment,
        EXITWARD_AGENT_STATE_DIR: dir,
        EXITWARD_AGENT_ENGINE: 'embedded',
        EXITWARD_AGENT_ALLOW_DESTINATIONS: t.allowed,
        EXITWARD_AGENT_CONNECT_PORTS: '1-65535',
        EXITWARD_AGENT_METRICS_LISTEN: 'off',
        EXITWARD_AGENT_VPN: 'off',
      },
      stdio: 'ignore',
    });
    const through = { host: '127.0.0.1', port: t.normalPort };
    await t.until(() =>
      t.Client.open(through).then(
        ({ socket }) => !!socket.destroy(),
        () => false,
      ),
    );
    const tallies = [new Tally(), new Tally()];
    const traffic = tallies.flatMap((tally, index) =>
      Array.from({ length: clientsOfAccount }, () => {
        const from = t.sources[index] as string;
        return new Traffic({ through: { ...through, from }, origin, tally, random });
      }),
    );
    await sleep(Math.max(0, expiry * 1000 - Date.now()) + random.between(0, 1500));
    child.kill('SIGTERM');
    await once(child, 'exit');
    await Promise.all(traffic.map((client) => client.stop()));
    for (const [index, billed] of (await billedBy(dir)).entries()) {
      const { min, max } = (tallies[index] as Tally).bounds;
      for (const way of ['up', 'down'] as const) {
        expect(billed[way]).toBeGreaterThanOrEqual(min[way]);
        expect(billed[way]).toBeLessThanOrEqual(max[way]);
      }
    }
    expect(tallies[0]?.exchanges).toBeGreaterThan(0);
    rmSync(dir, { recursive: true });
  }
  await origin.stop();
}, 900_000);
