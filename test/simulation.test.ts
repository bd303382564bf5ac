// Hundreds of short lives of a control plane and five machines, each decided by one seed, in which
// everything goes wrong.

import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { bareEnvironment } from './bare_environment.ts';
import { deepTest } from './deep_test.ts';
import { effort, tries } from './effort.ts';
import { newSeed } from './seed.ts';
import type { Life } from './simulation/lives.ts';
import type { Conduct } from './simulation/vpn.ts';

const simulations = tries(2000, { setting: 'EXITWARD_TEST_SIMULATIONS' });
/** Replays one life. */
const given = process.env.EXITWARD_TEST_SEED;
const first = newSeed();
const seeds = Array.from({ length: given ? 1 : simulations }, (_, at) => first + at);

/** In so many lives each of these happens. */
const enough = 400;
const wanted = [
  // The network.
  ...['cut', 'lossy', 'deaf', 'slow', 'break', 'request-lost', 'answer-lost', 'timeout', 'silence'],
  'full',
  // The machines.
  ...['kill', 'torn', 'stop', 'power-loss', 'engine-death', 'compaction', 'duplicate', 'closed'],
  // The control plane.
  ...['center-death', 'backup', 'restore', 'undo', 'succession'],
  ...['refused-409', 'left-out', 'together'],
  // The decisions about requests, and the states of custom DNS entries.
  ...['allowed', 'stale', 'contract_expired', 'contract_suspended', 'expired_token', 'over_limit'],
  ...['old_token_version', 'inactive_user', 'no_proxy_flag', 'server_not_on_contract', 'not_ready'],
  ...['login-allow', 'login-challenge', 'tunnel-ended'],
  ...['active', 'pending', 'expiring', 'expired', 'still-open'],
  // Looks at the open connections.
  ...['look', 'look-groups', 'look-missing'],
  // Limits of users, and orders to end connections.
  ...['user-limits', 'user_expired', 'not_for_user', 'user_limit_reached'],
  ...['limit-quiet', 'limit-passed', 'limit-passed-in-trouble', 'limit-ended'],
  ...['limit-refused', 'limit-refused-alone'],
  ...['order', 'order-taken', 'order-late', 'order-ended', 'order-in-quiet'],
];

/** Lives that were once wrong, or taken for it by what the watch of the simulation did not know. */
const pastSeeds = {
  'a node that heard of an emptied authlist, and not yet of its undoing in the same commit, is no liar': 1_282_474_987,
  'a node that heard of emptied custom DNS, and not yet of its undoing in the same commit, is no liar': 826_402_991,
  'a node that reads slowly is told nothing that an account did after it had left the server': 1_700_002_458,
  'a node that heard that an account was taken off its server, and not yet that it is back by the same commit, is no liar': 67_874_636,
  'usage of an honest node that carries what its machine can is not held': 377_959_919,
  'a node where a user has just an address, comes after those with connections': 1245,
  'a node that has to end a connection too many learns of that in time': 1_541_241_295,
  'a VPN whose agent is dead counts what the proxies of its machine had': 1_174_380_465,
  'a login that a change refuses while it is under way counts no address': 2_073_221_335,
  'an address keeps its place when the node where it came first has it no more': 1_575_786_545,
};

/** Of lives with a VPN; from 5 on with limits of users and orders, too. */
const twelveFrom = (first: number) => Array.from({ length: 12 }, (_, at) => first + 10 * at);

/** All lives of this run, in a process for each core. */
let all: Promise<Life[]> | undefined;

const program = fileURLToPath(new URL('simulation/lives.ts', import.meta.url));

/** The lives of these seeds, in a process of their own. Errors: what went wrong in one of them. */
async function live(of: readonly number[], core = 0, conduct: Conduct = 'sound'): Promise<Life[]> {
  const child = fork(program, [conduct, ...of.map(String)], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: { ...process.env, ...bareEnvironment },
  });
  // On one core its threads wake each other at once, which takes a fifth less. Without taskset it
  // is slower.
  execFile('taskset', ['-acp', String(core), String(child.pid)], () => {});
  const lives: Life[] = [];
  let said = '';
  child.on('message', (life) => lives.push(life as Life));
  child.stderr?.on('data', (text) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(said);
  return lives;
}

/** Those of this run's lives that have these seeds, in their order. */
async function livesOf(of: readonly number[]): Promise<Life[]> {
  all ??= liveAll();
  const bySeed = new Map((await all).map((life) => [life.seed, life]));
  return of.flatMap((seed) => bySeed.get(seed) ?? []);
}

async function liveAll(): Promise<Life[]> {
  console.log(`simulation: ${seeds.length} from EXITWARD_TEST_SEED=${first}`);
  const past = effort === 'deep' ? Object.values(pastSeeds) : [];
  const every = [...past, ...seeds];
  const processes = Math.min(availableParallelism(), every.length);
  const shares = Array.from({ length: processes }, (_, share) =>
    every.filter((_, index) => index % processes === share),
  );
  return (await Promise.all(shares.map((share, core) => live(share, core)))).flat();
}

describe('the simulated network', { timeout: 3_600_000 }, () => {
  test('the same seed gives the same life, to the last event', async () => {
    // Two of ten have a VPN, and people who look at the open connections; one of these has users
    // with limits, too.
    const few = seeds.slice(0, 10);
    const again = await live(few);
    expect(again).toEqual(await livesOf(few));
    expect(new Set(again.map(({ digest }) => digest)).size).toBe(few.length);
  });

  deepTest.each(Object.entries(pastSeeds))('%s', async (_, seed) => {
    expect(await livesOf([seed])).toHaveLength(1);
  });

  deepTest.each<[string, Conduct, RegExp, first?: number]>([
    ['keeps tunnels that may no longer be', 'keeps-tunnels', /is open, and should not be/],
    ['tells bytes of tunnels again', 'tells-again', /counted \d+, transferred \d+/],
    ['repeats an earlier answer to a look', 'repeats-answers', /a look at .* shows/],
    ['hides what users with limits have there', 'hides-holdings', /passes .* by \d+ for 5 s/, 5],
    ['believes in other nodes for ever', 'endless-lease', /refuses user .* of \d+ within 8 s/, 5],
    ['carries an order out again', 'repeats-orders', /has no order for it that it took/, 5],
  ])('a node that %s is found', async (_, conduct, says, first = 10) => {
    const faulty = live(twelveFrom(first), 0, conduct);
    await expect(faulty).rejects.toThrow(says);
  });

  test('nothing false is ever served, shown or counted, and all is well after the healing', async () => {
    const lives = await livesOf(seeds);
    expect(lives).toHaveLength(seeds.length);
    const counts = new Map<string, number>();
    for (const [event, often] of lives.flatMap((life) => life.counts)) {
      counts.set(event, (counts.get(event) ?? 0) + often);
    }
    console.log([...counts].map(([event, often]) => `${event} ${often}`).join(', '));
    if (seeds.length >= enough) expect(wanted.filter((event) => !counts.has(event))).toEqual([]);
  });
});
