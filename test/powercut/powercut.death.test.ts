// Power cuts: from the record of a program's lives, disks as a cut may leave them at any moment;
// what was acknowledged is on all of them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { judge } from '../../server/src/doctor/database.ts';
import { Random } from '../../server/test/random.ts';
import { deepTest } from '../deep_test.ts';
import { tries } from '../effort.ts';
import { agentFaults } from './agent_check.ts';
import { type AgentMark, agentLives } from './agent_life.ts';
import { Disk, rules } from './disk.ts';
import type { LogMark } from './log_life.ts';
import { serverFaults } from './server_check.ts';
import { type ServerMark, serverLives } from './server_life.ts';
import { type Call, marksOf, recordTrace, withoutRewrites, withoutSync } from './trace.ts';

const cuts = tries(60, { setting: 'EXITWARD_TEST_POWER_CUTS', atLeast: 3 });
const controlTries = 60;

type Check<Mark> = (folder: string, marks: Mark[]) => Promise<string[]>;

/** The faults that a cut behind so many calls leads to. */
async function cut<Mark>(trace: Call[], at: number, random: Random, check: Check<Mark>) {
  const rule = random.one(rules);
  const folder = mkdtempSync(join(tmpdir(), 'exitward-after-cut-'));
  try {
    const calls = trace.slice(0, at);
    new Disk(calls, rule, random).copyTo(folder);
    // A check that does not come through has met one: a database that cannot be read.
    const faults = await check(folder, marksOf<Mark>(calls)).catch((error: Error) => [
      String(error.cause ?? error),
    ]);
    return faults.map((fault) => `at call ${at} of ${trace.length}, names by ${rule}: ${fault}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lives<Mark>(
  name: 'server' | 'agent',
  livesOf: (random: Random) => NodeJS.ProcessEnv[],
  check: Check<Mark>,
  share: number,
) {
  describe(`the ${name}`, () => {
    const times = Math.ceil(cuts * share);
    const random = Random.printed(`power cuts of the ${name}`);
    let recorded: Call[];
    beforeAll(async () => {
      recorded = await recordTrace(`${name}_life.ts`, livesOf(random));
    }, 240_000);

    test(`keeps all that it acknowledged, wherever the power fails (${times} cuts)`, {
      timeout: 120_000 + times * 5000,
    }, async () => {
      expect(recorded.filter(({ call }) => call === 'fsync').length).toBeGreaterThan(30);
      // The disk failed in two of the lives.
      expect(recorded.filter(({ call }) => call === 'failed')).toHaveLength(2);
      const faults: string[] = [];
      const beside = callsBeside(recorded);
      for (let done = 0; done < times; done += 1) {
        const at = done % 4 === 0 ? random.one(beside) : random.between(1, recorded.length);
        faults.push(...(await cut(recorded, at, random.fork(), check)));
      }
      expect(faults).toEqual([]);
    });

    for (const [what, without, of, cutsOf] of controls[name]) {
      deepTest(`control: ${what} is seen`, { timeout: 600_000 }, async () => {
        const trace = without(recorded, (path) => of.test(path));
        const places = cutsOf(trace);
        const faults: string[] = [];
        for (let tries = 0; tries < controlTries && faults.length === 0; tries += 1) {
          faults.push(...(await cut(trace, random.one(places), random.fork(), check)));
        }
        expect(faults).not.toEqual([]);
      });
    }
  });
}

/**
 * The syncs that could have been left out: of the database (as `synchronous = off` does), of keys,
 * of usage; and that a start writes again what it finds, of which the disk may have lost a part.
 * And behind how many calls a cut shows it.
 */
const controls: Record<
  'server' | 'agent',
  Array<[what: string, without: typeof withoutSync, of: RegExp, cutsOf: typeof callsBeside]>
> = {
  server: [
    ['a database that is not synced', withoutSync, /\.db(-wal)?$/, callsFrom(0.3)],
    ['a keys file that has its name before its content', withoutSync, /keys\.json/, callsFrom(0)],
    ['a start that trusts the log which it finds', withoutRewrites, /\.db-wal$/, callsOfLoss],
  ],
  agent: [['a journal that is not synced', withoutSync, /usage\.journal/, callsFrom(0.5)]],
};

/** All from this part of the lives on. */
function callsFrom(part: number): typeof callsBeside {
  return (trace) => trace.map((_, at) => at + 1).slice(Math.floor(part * trace.length));
}

/**
 * Those behind a flush of the log that failed, until the log is folded into the database: so long
 * it lacks what was lost.
 */
function callsOfLoss(trace: Call[]): number[] {
  const names = new Map<number, string>();
  let isLost = false;
  return trace.flatMap(({ call, inode, path }, at) => {
    if (call === 'create') names.set(inode, path);
    if (call === 'failed' && names.get(inode)?.endsWith('-wal')) isLost = true;
    if (call === 'fsync' && names.get(inode)?.endsWith('/exitward.db')) isLost = false;
    return isLost ? [at + 1] : [];
  });
}

/**
 * How many calls were made up to each one that is not the database's: there are few, and each of
 * them matters.
 */
function callsBeside(trace: Call[]): number[] {
  const names = new Map<number, string>();
  return trace.flatMap(({ call, inode, path }, at) => {
    if (call === 'create') names.set(inode, path);
    return /\.db|marks/.test(names.get(inode) ?? '') ? [] : [at + 1];
  });
}

lives<ServerMark>('server', serverLives, serverFaults, 2 / 3);
// A cut of the agent takes a hundredth of the time, and the journal is rewritten in few moments.
lives<AgentMark>('agent', agentLives, agentFaults, 20);

test.each([
  ['of the log: it is folded again once the disk works again', '-wal', false],
  ['of the database: the log is kept until a restart, and that is a fault', 'exitward.db', true],
] as const)('a flush that failed, %s', { timeout: 60_000 }, async (_, name, hasFailed) => {
  const trace = await recordTrace('log_life.ts', [{ POWERCUT_FAILS: name }]);
  const database = trace.find(({ call, path }) => call === 'create' && path === 'exitward.db');
  const folds = trace.flatMap(({ call, inode }, at) =>
    call === 'fsync' && inode === database?.inode ? [at] : [],
  );
  const failed = trace.findIndex(({ call }) => call === 'failed');
  expect(folds.some((at) => at < failed)).toBe(true);
  expect(folds.some((at) => at > failed)).toBe(!hasFailed);
  const [facts] = marksOf<LogMark>(trace);
  expect(facts?.has_failed).toBe(hasFailed);
  expect(judge(facts as LogMark)[0]?.state).toBe(hasFailed ? 'fault' : 'ok');
});
