// Hundreds of short lives of a control plane and five machines, each decided by one seed, in which everything goes wrong.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestClock } from '../server/test/harness.ts';
import { type Beginning, begin } from './simulation/center.ts';
import { type Outcome, Simulation } from './simulation/simulation.ts';

const simulations = Number(process.env.EXITWARD_TEST_SIMULATIONS ?? (process.env.CI ? 2000 : 200));
/** Replays one life. */
const given = process.env.EXITWARD_TEST_SEED;
const first = given ? Number(given) : Math.floor(Math.random() * 2 ** 31);
const seeds = Array.from({ length: given ? 1 : simulations }, (_, at) => first + at);

/** So many lives have each of these. */
const enough = 200;
const wanted = [
  // The network.
  ...['cut', 'lossy', 'deaf', 'slow', 'break', 'request-lost', 'answer-lost', 'timeout', 'silence'],
  'full',
  // The machines.
  ...['kill', 'torn', 'stop', 'power-loss', 'engine-death', 'compaction', 'duplicate', 'closed'],
  // The control plane.
  ...['center-death', 'backup', 'restore', 'undo', 'succession'],
  ...['refused-409', 'left-out', 'together'],
  // What became of requests, and of custom DNS entries.
  ...['allowed', 'stale', 'contract_expired', 'contract_suspended', 'expired_token', 'over_limit'],
  ...['old_token_version', 'inactive_user', 'no_proxy_flag', 'server_not_on_contract', 'not_ready'],
  ...['active', 'pending', 'expiring', 'expired', 'still-open'],
];

let dir: string;
let beginning: Beginning;

beforeAll(async () => {
  // In memory where there is such a folder: what a disk loses is simulated, too.
  dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'exitward-simulation-'));
  beginning = await begin(join(dir, 'beginning'), new TestClock());
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function simulate(seed: number): Promise<Outcome> {
  const simulation = new Simulation(seed, beginning, join(dir, 'life'));
  try {
    return await simulation.run();
  } catch (error) {
    const replay = `Replay it with EXITWARD_TEST_SEED=${seed}; what came before:\n${simulation.trace}`;
    throw new Error(`${(error as Error).message}\n${replay}`, { cause: error });
  }
}

describe('the simulated network', () => {
  test('the same seed gives the same life, to the last event', { timeout: 120_000 }, async () => {
    for (const seed of seeds.slice(0, 3)) {
      const [one, again] = [await simulate(seed), await simulate(seed)];
      expect(again).toEqual(one);
    }
    if (!given) expect((await simulate(first)).digest).not.toBe((await simulate(first + 1)).digest);
  });

  test('nothing false is ever served, shown or counted, and all is well after the healing', {
    timeout: 1_800_000,
  }, async () => {
    console.log(`simulation: ${seeds.length} from EXITWARD_TEST_SEED=${first}`);
    const counts = new Map<string, number>();
    for (const seed of seeds) {
      const outcome = await simulate(seed);
      for (const [what, often] of outcome.counts) counts.set(what, (counts.get(what) ?? 0) + often);
    }
    console.log([...counts].map(([what, often]) => `${what} ${often}`).join(', '));
    if (seeds.length >= enough) expect(wanted.filter((what) => !counts.has(what))).toEqual([]);
  });
});
