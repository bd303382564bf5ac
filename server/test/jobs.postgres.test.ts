// Jobs: purges that wait for a clock they can trust, and sweeps in batches.

import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { changeAccount, sweepLimits } from '../src/accounts/accounts.ts';
import { markTokensUsed } from '../src/api_tokens/api_tokens.ts';
import type { Clock } from '../src/clock.ts';
import type { Actor } from '../src/db/database.ts';
import { batch, ClockGuard, jobs, runAllJobs, startJobs } from '../src/jobs.ts';
import { sweepOfflineNodes } from '../src/nodes/nodes.ts';
import { LastUsed } from '../src/observed/last_used.ts';
import { eachApp } from './apps.ts';

const tester: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };
const hour = 3600;

/** Two clocks that the test moves together or apart. */
class TwoClocks implements Clock {
  wall: number;
  monotonic = 1000;

  constructor(wall: number) {
    this.wall = wall;
  }
  now(): number {
    return this.wall;
  }
  steady(): number {
    return this.monotonic;
  }
  /** Time passes. */
  pass(seconds: number): void {
    this.wall += seconds;
    this.monotonic += seconds;
  }
}

eachApp((t) => {
  describe('the clock guard', () => {
    /**
     * The newest write in the database is of now; the guard's own clocks start where the test says.
     */
    async function guardAt(wall: number) {
      await t.server(`at-${Math.random().toString(36).slice(2, 8)}`);
      const clock = new TwoClocks(wall);
      const guard = await ClockGuard.watch({ ...t.running.ctx, clock });
      return { clock, guard };
    }

    test('trusts a clock that goes with the steady one, however long nothing is written', async () => {
      const { clock, guard } = await guardAt(t.now());
      expect(await guard.trusts()).toBe(true);
      for (let days = 0; days < 90; days += 1) {
        clock.pass(86_400);
        expect(await guard.trusts()).toBe(true);
      }
    });

    test.each([hour + 1, 40 * 86_400, -hour - 1, -40 * 86_400])(
      'holds purges back when the wall clock jumps by %i seconds, until it has gone evenly for an hour',
      async (jump) => {
        const { clock, guard } = await guardAt(t.now() + Math.max(0, -jump));
        clock.pass(2 * hour);
        await guard.trusts();
        clock.wall += jump;
        expect(await guard.trusts()).toBe(false);
        clock.pass(hour - 1);
        expect(await guard.trusts()).toBe(false);
        clock.pass(2);
        expect(await guard.trusts()).toBe(true);
      },
    );

    test('takes less than an hour for the correction that it is', async () => {
      const { clock, guard } = await guardAt(t.now());
      for (const step of [hour - 1, -hour + 1, 60, -60]) {
        clock.wall += step;
        clock.pass(10);
        expect(await guard.trusts()).toBe(true);
      }
    });

    test('a clock that goes wrong again and again is not trusted in between', async () => {
      const { clock, guard } = await guardAt(t.now());
      for (let times = 0; times < 5; times += 1) {
        clock.wall += 2 * hour;
        clock.pass(hour / 2);
        expect(await guard.trusts()).toBe(false);
      }
    });

    test.each([hour + 1, 400 * 86_400])(
      'started %i seconds after the newest write, it waits an hour: the clock may be wrong',
      async (ahead) => {
        const { clock, guard } = await guardAt(t.now() + ahead);
        expect(await guard.trusts()).toBe(false);
        // Writes of this very clock prove nothing.
        clock.pass(hour - 1);
        expect(await guard.trusts()).toBe(false);
        clock.pass(1);
        expect(await guard.trusts()).toBe(true);
      },
    );

    test('while the database holds writes of more than an hour ahead nothing is purged', async () => {
      const { clock, guard } = await guardAt(t.now() - 3 * hour);
      clock.pass(hour + 1);
      expect(await guard.trusts()).toBe(false);
      clock.pass(hour);
      expect(await guard.trusts()).toBe(true);
    });
  });

  describe('sweeps', () => {
    const entries = 1300;

    /** Entries that have expired, more than a batch of them. */
    async function expiredEntries(name: string) {
      const built = await t.account(name);
      const { id, port_scheme_id } = built.account;
      await t.write(async (tx) => {
        await tx.insertMany(
          'authlist',
          Array.from({ length: entries }, (_, at) => ({
            account_id: id,
            id: at + 1,
            port_scheme_id,
            ip: `2001:db8:${id.toString(16)}::${(at + 1).toString(16)}`,
            user_id: 1,
            expiry: tx.now - 1,
          })),
        );
        await tx.run('insert into counters (account_id, list, last) values ($1, $2, $3)', [
          id,
          'authlist held',
          entries,
        ]);
      });
      const rows = async () => {
        const counted = await t.running.ctx.db.one<{ rows: number; held: number }>(
          `select (select count(*) from authlist where account_id = $1) as rows,
             (select last from counters where account_id = $1 and list = 'authlist held') as held`,
          [id],
        );
        expect(counted?.held).toBe(counted?.rows);
        return counted?.rows as number;
      };
      return { id, rows };
    }

    test('work in batches, and a sweep that was cut short goes on where it was', async () => {
      const { rows } = await expiredEntries('cut-short');
      const job = jobs.find(({ name }) => name === 'expired authlist');
      // One batch, and then the process is gone.
      const removedCount = await t.running.ctx.db.write(tester, async (tx) =>
        job?.run(tx, batch, t.running.ctx),
      );
      expect(removedCount).toBe(500);
      expect(await rows()).toBe(entries - 500);
      await runAllJobs(t.running.ctx);
      expect(await rows()).toBe(0);
      await runAllJobs(t.running.ctx);
    });

    test('let other writes pass between their batches', async () => {
      const { rows } = await expiredEntries('beside');
      const order: string[] = [];
      const sweep = runAllJobs(t.running.ctx).then(() => order.push('sweep'));
      const write = t
        .write(async (tx) => tx.run('update network set maintenance = 0'))
        .then(() => order.push('write'));
      await Promise.all([sweep, write]);
      expect(order).toEqual(['write', 'sweep']);
      expect(await rows()).toBe(0);
    });

    /** Starts the jobs, lets their first timers ring, and stops them once the metrics say this. */
    async function runUntil(says: string, ctx = t.running.ctx): Promise<void> {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      try {
        const stop = await startJobs(ctx);
        vi.advanceTimersByTime(5000);
        await vi.waitFor(
          async () => expect(await ctx.metrics.registry.metrics()).toContain(says),
          90_000,
        );
        await stop();
      } finally {
        vi.useRealTimers();
      }
    }

    test('are held back, and say so, while the clock is not trusted; then run by themselves', async () => {
      const { rows } = await expiredEntries('by-itself');
      const clock = new TwoClocks(t.now() + 10 * 86_400);
      await runUntil('exitward_sweeps_total{job="expired authlist",outcome="held back"} 1', {
        ...t.running.ctx,
        clock,
      });
      expect(await rows()).toBe(entries);
      await runUntil('exitward_sweeps_total{job="expired authlist",outcome="ok"} 1');
      expect(await rows()).toBe(0);
      expect(await t.running.ctx.metrics.registry.metrics()).toContain(
        `exitward_swept_records_total{job="expired authlist"} ${entries}`,
      );
    });
  });

  describe('nodes that go offline', () => {
    const stored = (id: number) =>
      t.running.ctx.db.one<{ live: number }>('select live from nodes where id = $1', [id]);

    /** A node that acknowledged, and was then silent for ten minutes. */
    async function silentNode(server: string): Promise<number> {
      await t.server(server);
      const node = await t.node(server);
      await node.snapshot();
      await node.ack();
      t.clock.advance(600);
      return node.id;
    }

    test('are offline only when this process could have heard them for as long, and its database answered; a failure that lasts is logged once a minute', async () => {
      const id = await silentNode('silent');
      const { ctx } = t.running;
      const clock = new TwoClocks(t.now());
      let isAway = false;
      const away = async () => {
        throw new Error('the database is away');
      };
      const db = new Proxy(ctx.db, {
        get(target, name) {
          if (isAway && (name === 'one' || name === 'write')) return away;
          const value = Reflect.get(target, name) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const outcomes = async () => {
        const { values } = await ctx.metrics.sweeps.get();
        const ours = values.filter(({ labels }) => labels.job === 'lost nodes');
        return ours.reduce((sum, { value }) => sum + value, 0);
      };
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const lines: string[] = [];
      const log = pino({}, { write: (line) => void lines.push(line) });
      const logged = () => lines.filter((line) => line.includes('lost nodes')).length;
      const stop = await startJobs({ ...ctx, clock, db, log });
      /**
       * Lets these seconds pass and the job take its turn; answers whether the node is still live.
       */
      const liveAfter = async (seconds: number) => {
        clock.pass(seconds);
        const before = await outcomes();
        vi.advanceTimersByTime(5000);
        await vi.waitFor(async () => expect(await outcomes()).toBe(before + 1), 90_000);
        return (await stored(id))?.live;
      };
      try {
        expect(await liveAfter(ctx.config.node_lost_seconds - 1)).toBe(1);
        isAway = true;
        expect(await liveAfter(0)).toBe(1);
        expect(await liveAfter(59)).toBe(1);
        expect(logged()).toBe(1);
        expect(await liveAfter(1)).toBe(1);
        expect(logged()).toBe(2);
        isAway = false;
        expect(await liveAfter(ctx.config.node_lost_seconds - 1)).toBe(1);
        expect(await liveAfter(1)).toBe(0);
      } finally {
        await stop();
        vi.useRealTimers();
      }
    });

    test('are handled a batch at a time', async () => {
      await runAllJobs(t.running.ctx);
      const ids = [await silentNode('many1'), await silentNode('many2'), await silentNode('many3')];
      expect(await t.write((tx) => sweepOfflineNodes(tx, 60, 2))).toBe(2);
      expect(await t.write((tx) => sweepOfflineNodes(tx, 60, 2))).toBe(1);
      for (const id of ids) expect(await stored(id)).toEqual({ live: 0 });
    });
  });

  describe('the last use of API tokens', () => {
    /** Writes the last uses through a database that counts its transactions. */
    async function transactionsOf(used: LastUsed): Promise<number> {
      const { ctx } = t.running;
      let transactions = 0;
      const write: typeof ctx.db.write = (actor, action) => {
        transactions += 1;
        return ctx.db.write(actor, action);
      };
      await used.write({ ...ctx, db: { write } as typeof ctx.db });
      return transactions;
    }
    const nothing = async () => {};
    const collector = () =>
      new LastUsed({
        api_tokens: markTokensUsed,
        operator_tokens: nothing,
        sessions: nothing,
        authlist_entries: nothing,
      });
    const stored = async (account_id: number) => {
      const sql = 'select last_used_at from api_tokens where account_id = $1';
      return (await t.running.ctx.db.one<{ last_used_at: number }>(sql, [account_id]))
        ?.last_used_at;
    };

    test('is noted at each request, a cached response too', async () => {
      const built = await t.account('noted');
      const { ctx } = t.running;
      // The second and third responses come from the cache.
      for (let times = 0; times < 3; times += 1) {
        t.clock.advance(1);
        expect((await t.as(built).get('/users')).status).toBe(200);
        await ctx.lastUsed.write(ctx);
        expect(await stored(built.account.id)).toBe(t.now());
      }
      const { values } = await ctx.metrics.cacheHits.get();
      expect(values).toMatchObject([{ value: 2 }]);
    });

    test('is written once per token, however often and by however many clients it was used', async () => {
      const { account } = await t.account('busy');
      const used = collector();
      for (let at = 1; at <= 20_000; at++) used.api_tokens.note(account.id, 1, at);
      expect(await transactionsOf(used)).toBe(1);
      expect(await stored(account.id)).toBe(20_000);
      expect(await transactionsOf(used)).toBe(0);
    });

    test('of many tokens is written in small transactions', async () => {
      const used = collector();
      for (let at = 1; at <= 1200; at++) used.api_tokens.note(1_000_000 + at, 1, at);
      expect(await transactionsOf(used)).toBe(3);
    });

    test('that cannot be written is written the next time, and no earlier one takes its place', async () => {
      const { account } = await t.account('away');
      const { ctx } = t.running;
      const used = collector();
      used.api_tokens.note(account.id, 1, 30);
      const write = () => Promise.reject(new Error('The disk is full.'));
      await used.write({ ...ctx, db: { write } as never });
      used.api_tokens.note(account.id, 1, 20);
      await used.write(ctx);
      expect(await stored(account.id)).toBe(30);
      used.api_tokens.note(account.id, 1, 10);
      await used.write(ctx);
      expect(await stored(account.id)).toBe(30);
    });
  });

  test('the limits sweep looks only at accounts whose billing period has ended', async () => {
    const start = t.now() - 86_400;
    const built = await t.account('over', { start, expiry: start + 400 * 86_400, limit_bytes: 0 });
    const changed = await t.write((tx) => changeAccount(tx, built.account, { limit_bytes: 0 }));
    expect(changed.over_limit).toBe(1);
    expect(await t.write((tx) => sweepLimits(tx, 500))).toBe(0);
    t.clock.advance(32 * 86_400);
    expect(await t.write((tx) => sweepLimits(tx, 500))).toBe(1);
    // Still over, in the new period: evaluated again when that ends.
    expect(await t.write((tx) => sweepLimits(tx, 500))).toBe(0);
  });
});
