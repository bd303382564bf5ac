// An agent's lives on one disk, recorded: it joins, twice, writes Squid's configuration, stores a
// policy; and keeps usage in its journal through deaths and a disk that fails.
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { joinNetwork, journalPath, policyFolder } from '../../agent/src/identity.ts';
import { Store } from '../../agent/src/store/store.ts';
import { Journal } from '../../agent/src/usage/journal.ts';
import { story } from '../../agent/test/crash_process.ts';
import { inPieces, snapshotText } from '../../agent/test/stored.ts';
import { makeFolderDurably, replaceDurably } from '../../kit/src/durable.ts';
import { Random } from '../../server/test/random.ts';
import { marks } from './trace.ts';

export type AgentMark =
  | { joining: number }
  | { joined: number }
  | { configuring: number }
  | { configured: number }
  /** How many calls of the story; durable ones outlast a power cut, the others within a second. */
  | { telling: number }
  | { durable: number }
  | { ticking: number }
  | { ticked: number }
  | { batch: string; accounts: number[] }
  | { acknowledging: string }
  | { acknowledged: string };

export const stateIn = (folder: string) => join(folder, 'made', 'state');
export const confIn = (folder: string) => join(folder, 'squid', 'squid.conf');
export const confOf = (version: number) => `# of version ${version}\n`.repeat(200);
const noon = 1_800_014_400;
const ticks = 40;

/**
 * The first ends in the middle; the second dies of a disk that fails, and the third meets one and
 * lives on.
 */
export function agentLives(random: Random): NodeJS.ProcessEnv[] {
  const failing = () => ({
    POWERCUT_FAIL_NAME: 'usage.journal',
    POWERCUT_FAIL_AT: String(random.between(3, ticks)),
  });
  return [{}, { ...failing(), POWERCUT_DIES: 'of its disk' }, failing()].map((life, number) => ({
    ...life,
    POWERCUT_LIFE: String(number),
    POWERCUT_SEED: String(random.between(1, 2 ** 30)),
  }));
}

async function live(folder: string, number: number): Promise<void> {
  const file = openSync(join(folder, marks), 'a');
  const mark = (mark: AgentMark) => writeSync(file, `${JSON.stringify(mark)}\n`);
  const state_dir = stateIn(folder);
  if (number > 0) return count(state_dir, mark, number);
  let joins = 0;
  const control = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response
      .writeHead(201)
      .end(JSON.stringify({ node: joins, server: 'fra1', token: `ewn_${joins}` }));
  }).listen(0, '127.0.0.1');
  await once(control, 'listening');
  const url = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;
  for (const again of [false, true]) {
    joins += 1;
    mark({ joining: joins });
    await joinNetwork({ state_dir, url, code: 'code', name: 'node', again });
    mark({ joined: joins });
  }
  control.close();
  control.closeAllConnections();

  makeFolderDurably(join(folder, 'squid'));
  for (const version of [1, 2, 3]) {
    mark({ configuring: version });
    replaceDurably(confIn(folder), confOf(version));
    mark({ configured: version });
  }
  await Promise.all([follow(state_dir, mark), count(state_dir, mark, number)]);
  process.kill(process.pid, 'SIGKILL');
}

async function follow(state_dir: string, mark: (mark: AgentMark) => void): Promise<void> {
  const dir = policyFolder(state_dir);
  let store = await Store.open(dir);
  let revision = 0;
  for (const step of story) {
    if (step === 'compact') await store.compact();
    else if (step === 'reopen') {
      await store.close();
      store = await Store.open(dir);
    } else {
      revision += 1;
      mark({ telling: revision });
      if ('replaced' in step) {
        await store.replace(
          inPieces(snapshotText(step.replaced, step.records), 1500),
          step.heard_at,
        );
      } else store.append(step.revision, step.heard_at, step.records);
    }
    if (typeof step === 'string' || 'replaced' in step) mark({ durable: revision });
  }
  await store.close();
  mark({ durable: revision });
}

async function count(
  state_dir: string,
  mark: (mark: AgentMark) => void,
  number: number,
): Promise<void> {
  const random = new Random(Number(process.env.POWERCUT_SEED));
  const log = pino({ level: 'silent' });
  let journal = await Journal.open(journalPath(state_dir), { log });
  const tick = async (account: number) => {
    mark({ ticking: account });
    // A long cursor, so that the journal is written again now and then.
    const cursor = `${account} ${'x'.repeat(random.between(0, 100_000))}`;
    const rows = [{ account, user: 1, at: noon, up: 1, down: 0 }];
    await journal.append({ rows, cursor, counted: [], settled: [], carry: [] });
    mark({ ticked: account });
    if (random.next() < 0.5) return;
    const batch = await journal.next();
    if (!batch) return;
    const name = `${batch.boot} ${batch.seq}`;
    mark({ batch: name, accounts: batch.rows.map((row) => row.account) });
    if (random.next() < 0.5) return;
    mark({ acknowledging: name });
    await journal.acknowledged(batch.seq);
    mark({ acknowledged: name });
  };
  for (let more = 1; more <= ticks; more += 1) {
    await tick(number * ticks + more).catch((error) => {
      if (error.code !== 'EIO') throw error;
      if (process.env.POWERCUT_DIES) process.kill(process.pid, 'SIGKILL');
    });
    if (more === ticks / 2) {
      await journal.close();
      journal = await Journal.open(journalPath(state_dir), { log });
    }
  }
}

if (import.meta.main) await live(process.argv[2] as string, Number(process.env.POWERCUT_LIFE));
