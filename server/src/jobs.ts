// Jobs: work that runs by itself, such as expiries, purges, new billing periods, and nodes that go
// offline.

import { type Own, ownedByLog } from '../../kit/src/owner.ts';
import { SerialQueue } from '../../kit/src/serial_queue.ts';
import { requireAccount, sweepLimits } from './accounts/accounts.ts';
import { purgeRemovedEntries, sweepEntries, sweepProofs } from './authlist/authlist.ts';
import { AuditBound, removeOldAudit } from './changes/audit.ts';
import { dropAuditMonths, makeAuditMonths } from './changes/audit_months.ts';
import { purgeStoredResponses } from './changes/stored_responses.ts';
import type { Config } from './config.ts';
import type { Context } from './context.ts';
import { sweepServerLimits } from './contract_servers/contract_servers.ts';
import type { Actor, Transaction } from './db/database.ts';
import { GeoWatch } from './geo/geo.ts';
import { listHashKeys, renewHashes } from './keys/hash_keys.ts';
import { reportHeldKeys, sweepSigningKeys } from './keys/signing_keys.ts';
import { purgeRemoved } from './lists/removals.ts';
import {
  pruneChanges,
  purgeEndOrders,
  purgeErasedUsers,
  purgeHistory,
  purgeHoldings,
  purgeInvites,
  purgeQuestions,
  purgeRefusals,
  purgeUseQuestions,
  purgeWatches,
  sampleNodes,
  sweepOfflineNodes,
} from './nodes/nodes.ts';
import { purgeOverrides, purgeRemovedOverrides, sweepOverrides } from './overrides/overrides.ts';
import { purgeAttempts, purgeCodes, sweepSessions } from './sign_in/sign_in.ts';
import { removeOldJournals, removeOldUserPeriods, UsageRollUp } from './usage/usage.ts';
import { sweepUserLimits } from './users/users.ts';

interface Job {
  name: string;
  every_seconds: number;
  /**
   * A wrong clock would make it destroy data too early, so it is held back while the wall clock
   * cannot be trusted.
   */
  purges: boolean;
  /**
   * Not until the process and its database have been up for this long: nodes must be able to report
   * first.
   */
  after_seconds?: (config: Config) => number;
  /** Processes one batch of `limit` records; returns how many there were. */
  run: (tx: Transaction, limit: number, ctx: Context) => Promise<number>;
}

/** Small batches, so that a sweep never delays other writers for long. */
export const batch = 500;
const usageJournalsKeptSeconds = 45 * 86_400;
/** Usage is counted for 40 days, in a period that may have begun a month earlier. */
const userPeriodsKeptSeconds = 100 * 86_400;

export const jobs: readonly Job[] = [
  { name: 'end overrides', every_seconds: 1, purges: true, run: sweepOverrides },
  {
    name: 'lost nodes',
    every_seconds: 5,
    purges: false,
    // A node could not acknowledge while no server was running.
    after_seconds: (config) => config.node_lost_seconds,
    run: (tx, limit, { config }) => sweepOfflineNodes(tx, config.node_lost_seconds, limit),
  },
  { name: 'sample nodes', every_seconds: 60, purges: false, run: sampleNodes },
  { name: 'purge history', every_seconds: 600, purges: true, run: purgeHistory },
  { name: 'limits', every_seconds: 30, purges: false, run: sweepLimits },
  { name: 'server limits', every_seconds: 30, purges: false, run: sweepServerLimits },
  { name: 'user limits', every_seconds: 30, purges: false, run: sweepUserLimits },
  { name: 'expired authlist', every_seconds: 5, purges: true, run: sweepEntries },
  {
    name: 'authlist proofs',
    every_seconds: 60,
    purges: false,
    run: (tx, limit, { config }) => sweepProofs(tx, limit, config.authlist_proof),
  },
  { name: 'purge overrides', every_seconds: 60, purges: true, run: purgeOverrides },
  { name: 'purge invitations', every_seconds: 3600, purges: true, run: purgeInvites },
  { name: 'end sessions', every_seconds: 60, purges: true, run: sweepSessions },
  { name: 'purge sign-in codes', every_seconds: 3600, purges: true, run: purgeCodes },
  { name: 'forget sign-in attempts', every_seconds: 600, purges: true, run: purgeAttempts },
  { name: 'forget questions', every_seconds: 30, purges: false, run: purgeQuestions },
  { name: 'forget holdings', every_seconds: 60, purges: false, run: purgeHoldings },
  {
    name: 'forget questions about exits',
    every_seconds: 30,
    purges: false,
    run: purgeUseQuestions,
  },
  { name: 'purge erased users', every_seconds: 3600, purges: true, run: purgeErasedUsers },
  { name: 'forget watches', every_seconds: 15, purges: false, run: purgeWatches },
  { name: 'forget end orders', every_seconds: 30, purges: false, run: purgeEndOrders },
  {
    name: 'forget refusals',
    every_seconds: 600,
    purges: true,
    run: (tx, limit, { config }) => purgeRefusals(tx, config.refusals_kept_seconds, limit),
  },
  { name: 'end signing keys', every_seconds: 60, purges: true, run: sweepSigningKeys },
  {
    name: 'report keys',
    every_seconds: 15,
    purges: false,
    run: async (tx, _most, { secrets }) => reportHeldKeys(tx, secrets, await listHashKeys(tx)),
  },
  {
    name: 'renew hashes',
    every_seconds: 15,
    purges: false,
    run: (tx, limit, { secrets, config }) => renewHashes(tx, limit, secrets, config.keys_file),
  },
  { name: 'end removals', every_seconds: 600, purges: true, run: purgeRemoved },
  { name: 'purge removed entries', every_seconds: 600, purges: true, run: purgeRemovedEntries },
  { name: 'purge removed overrides', every_seconds: 600, purges: true, run: purgeRemovedOverrides },
  { name: 'purge stored responses', every_seconds: 600, purges: true, run: purgeStoredResponses },
  {
    name: 'purge usage journals',
    every_seconds: 600,
    purges: true,
    run: (tx, limit) => removeOldJournals(tx, tx.now - usageJournalsKeptSeconds, limit),
  },
  {
    name: 'purge usage of users',
    every_seconds: 3600,
    purges: true,
    run: (tx, limit) => removeOldUserPeriods(tx, tx.now - userPeriodsKeptSeconds, limit),
  },
  {
    name: 'prune changes',
    every_seconds: 60,
    purges: true,
    run: (tx, limit, { config }) => pruneChanges(tx, tx.now - config.changes_kept_seconds, limit),
  },
  {
    name: 'purge audit',
    every_seconds: 3600,
    purges: true,
    run: (tx, limit, { config, db }) =>
      removeOldAudit(tx, db.engine, tx.now - config.audit_kept_seconds, limit),
  },
];

const system: Actor = { kind: 'system', name: 'sweep', address: '', request_id: '' };
const maxJumpSeconds = 3600;

const settlingSeconds = 3600;

/**
 * Decides whether the wall clock can be trusted with deleting data. If it jumps relative to the
 * steady clock, or at the start is far from the newest write in the database (after a long pause,
 * or because it is wrong: these look the same), nothing is deleted until it has run evenly for an
 * hour. Nor is anything while the database holds writes from its future.
 */
export class ClockGuard {
  readonly #ctx: Context;
  #wall: number;
  #steady: number;
  /** Steady seconds. */
  #trustedFrom: number;
  #trusts = true;

  private constructor(ctx: Context, newest: number) {
    this.#ctx = ctx;
    this.#wall = ctx.clock.now();
    this.#steady = ctx.clock.steady();
    const isFar = newest !== 0 && Math.abs(this.#wall - newest) > maxJumpSeconds;
    this.#trustedFrom = this.#steady + (isFar ? settlingSeconds : 0);
  }

  /** Call it before anything is written with this clock. */
  static async watch(ctx: Context): Promise<ClockGuard> {
    return new ClockGuard(ctx, await newestTime(ctx));
  }

  async trusts(): Promise<boolean> {
    const { clock, log } = this.#ctx;
    const [now, steady] = [clock.now(), clock.steady()];
    const jumped = now - (this.#wall + (steady - this.#steady));
    if (Math.abs(jumped) > maxJumpSeconds) {
      [this.#wall, this.#steady] = [now, steady];
      this.#trustedFrom = steady + settlingSeconds;
    }
    const trusts =
      steady >= this.#trustedFrom && (await newestTime(this.#ctx)) <= now + maxJumpSeconds;
    if (trusts !== this.#trusts) {
      log.warn(
        trusts
          ? 'the wall clock goes evenly; purges go on'
          : 'the wall clock is far from what was expected; nothing is purged until it has gone evenly for an hour',
      );
    }
    this.#trusts = trusts;
    return trusts;
  }
}

async function newestTime(ctx: Context): Promise<number> {
  const row = await ctx.db.one<{ newest_time: number }>('select newest_time from network');
  return row?.newest_time ?? 0;
}

/**
 * Runs a job to its end, or until `stopped` returns true, a batch at a time; it can resume at any
 * point. Returns how many records it processed.
 */
async function runJob(ctx: Context, job: Job, stopped = () => false): Promise<number> {
  let all = 0;
  for (;;) {
    const count = await ctx.db.write(system, (tx) => job.run(tx, batch, ctx));
    all += count;
    if (count < batch || stopped()) return all;
    // Other work first: a large purge runs while requests are served.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Runs every job once; tests use it to move time. */
export async function runAllJobs(ctx: Context): Promise<void> {
  await ctx.lastUsed.write(ctx);
  await ctx.callers.look(ctx);
  for (const job of jobs) await runJob(ctx, job);
  await makeAuditMonths(ctx.db, ctx.clock.now());
  await dropOldMonths(ctx);
  await new AuditBound(ctx.config.audit_records_per_account).look(ctx.db);
  await rollUpOf(ctx).look(ctx.clock.now());
  await new GeoWatch(ctx.db, ctx.geoip, ctx.clock).look();
}

/** The delay before a call verifies an address. */
const callersSeconds = 5;
/**
 * How often files and inventory are checked; two checks in a row find a file that no one is
 * writing.
 */
const geoSeconds = 5;
const auditBoundSeconds = 600;
const rollUpSeconds = 3600;
const auditMonthsSeconds = 3600;

function dropOldMonths({ db, clock, config }: Context): Promise<number> {
  return dropAuditMonths(db, clock.now() - config.audit_kept_seconds);
}

function rollUpOf({ db, config }: Context): UsageRollUp {
  const startOf = async (account_id: number) => (await requireAccount(db, account_id)).start;
  return new UsageRollUp(db, config, startOf);
}

/** A job that goes on failing is logged again after so long: some run every second. */
const quietSeconds = 60;

/** Starts the jobs, and storing last uses. Returns the function that stops them. */
export async function startJobs(ctx: Context): Promise<() => Promise<void>> {
  const guard = await ClockGuard.watch(ctx);
  let stopped = false;
  /** Since when each job has not failed, in steady seconds. */
  const began = ctx.clock.steady();
  const wellSince = new Map<string, number>();
  /** When the failure of each job that fails now was last logged, in steady seconds. */
  const loggedAt = new Map<string, number>();
  const due = async (
    { name, purges, after_seconds }: Pick<Job, 'name' | 'purges' | 'after_seconds'>,
    work: () => Promise<number>,
  ) => {
    if (stopped) return;
    const upSeconds = ctx.clock.steady() - (wellSince.get(name) ?? began);
    try {
      if (purges && !(await guard.trusts())) {
        ctx.metrics.sweeps.inc({ job: name, outcome: 'held back' });
        return;
      }
      if (after_seconds && upSeconds < after_seconds(ctx.config)) {
        // Fails while the database is offline, and then the wait begins again.
        await newestTime(ctx);
        ctx.metrics.sweeps.inc({ job: name, outcome: 'held back' });
        return;
      }
      const count = await work();
      loggedAt.delete(name);
      ctx.metrics.sweeps.inc({ job: name, outcome: 'ok' });
      if (count > 0) ctx.metrics.swept.inc({ job: name }, count);
    } catch (error) {
      const now = ctx.clock.steady();
      wellSince.set(name, now);
      ctx.metrics.sweeps.inc({ job: name, outcome: 'failed' });
      if (now - (loggedAt.get(name) ?? -Infinity) < quietSeconds) return;
      loggedAt.set(name, now);
      ctx.log.warn({ job: name, err: error }, 'a sweep failed and will be tried again');
    }
  };
  const sweeps = new Rounds(ctx.log);
  const timers = jobs.map((job) =>
    sweeps.every(job.every_seconds, () => due(job, () => runJob(ctx, job, () => stopped))),
  );
  timers.push(sweeps.every(60, () => ctx.lastUsed.write(ctx)));
  timers.push(sweeps.every(callersSeconds, () => ctx.callers.look(ctx)));
  // Checks of a large network take seconds, and no sweep should wait for them.
  const looks = new Rounds(ctx.log);
  const audits = new AuditBound(ctx.config.audit_records_per_account);
  const lookAtAudit = () =>
    due({ name: 'bound audit', purges: false }, () => audits.look(ctx.db, () => stopped));
  timers.push(looks.every(auditBoundSeconds, lookAtAudit));
  const makeMonths = () =>
    due({ name: 'make audit months', purges: false }, () =>
      makeAuditMonths(ctx.db, ctx.clock.now()),
    );
  looks.add(makeMonths);
  timers.push(looks.every(auditMonthsSeconds, makeMonths));
  const dropMonths = () =>
    due({ name: 'drop audit months', purges: true }, () => dropOldMonths(ctx));
  timers.push(looks.every(auditMonthsSeconds, dropMonths));
  const rollUp = rollUpOf(ctx);
  const rollUpUsage = () =>
    due({ name: 'roll up usage', purges: true }, () => rollUp.look(ctx.clock.now(), () => stopped));
  timers.push(looks.every(rollUpSeconds, rollUpUsage));
  const geo = new GeoWatch(ctx.db, ctx.geoip, ctx.clock);
  const lookAtGeo = () => due({ name: 'geo status', purges: false }, () => geo.look(() => stopped));
  if (ctx.config.geoip.length > 0) {
    looks.add(lookAtGeo);
    timers.push(looks.every(geoSeconds, lookAtGeo));
  }
  for (const timer of timers) timer.unref();
  return async () => {
    stopped = true;
    for (const timer of timers) clearInterval(timer);
    await Promise.all([sweeps.end(), looks.end()]);
    await ctx.lastUsed.write(ctx);
  };
}

/**
 * Work that runs one piece after another, some of it regularly. Each piece waits at most once, so
 * that a slow disk does not pile it up.
 */
class Rounds {
  readonly #own: Own;
  readonly #queue = new SerialQueue();

  constructor(log: Context['log']) {
    this.#own = ownedByLog(log);
  }

  /** Work that fails is logged by its owner, and the work after it still runs. */
  add(work: () => Promise<void>): Promise<void> {
    this.#own(() => this.#queue.run(work))();
    return this.end();
  }
  every(seconds: number, work: () => Promise<void>): NodeJS.Timeout {
    let waits = false;
    const look = this.#own(async () => {
      if (waits) return;
      waits = true;
      await this.add(work).finally(() => {
        waits = false;
      });
    });
    return setInterval(look, seconds * 1000);
  }
  /** Resolves when all work that was added is done. */
  end(): Promise<void> {
    return this.#queue.idle();
  }
}
