// Limits of a user across nodes, simulated: the control plane's rules, the counts and the reports
// of five nodes, connections by chance, and nodes that are cut off. One global count judges by how
// much and for how long a limit was passed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { HoldingsReporter } from '../agent/src/link/holdings_reporter.ts';
import type { Authority } from '../agent/src/policy/decision.ts';
import { Policy } from '../agent/src/policy/policy.ts';
import type { UserLimits } from '../agent/src/policy/records.ts';
import { UserCounts } from '../agent/src/user_counts.ts';
import { contractRecord, userRecord } from '../agent/test/node_records.ts';
import { reportHoldings } from '../server/src/nodes/nodes.ts';
import type { NodeRow } from '../server/src/nodes/store.ts';
import { startTestApp, type TestApp } from '../server/test/harness.ts';
import type { TestNode } from '../server/test/node.ts';
import { Random } from '../server/test/random.ts';
import { tries } from './effort.ts';
import { newSeed } from './seed.ts';

const nodeCount = 5;
/** As the limits are documented. */
const longestSeconds = 5;
const limits = { connections: 3, addresses: 2, address_seconds: 60 } satisfies UserLimits;
const log = pino({ level: 'silent' });
const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1', '2001:db8:0:1::1'];

/** A node with real counts and reports; its clients move a byte each second. */
class Node {
  readonly counts: UserCounts;
  readonly reporter: HoldingsReporter;
  /** The source of each open connection. */
  readonly open = new Map<string, string>();
  isCut = false;
  readonly #authority: Authority;
  readonly #now: () => number;

  constructor(t: TestApp, test_node: TestNode, authority: Authority, policy: Policy) {
    this.#authority = authority;
    this.#now = () => t.now();
    this.counts = new UserCounts(() => policy);
    const { ctx } = t.running;
    const actor = { kind: 'node' as const, name: 'node', address: '', request_id: '' };
    this.reporter = new HoldingsReporter({
      engine: { held: () => this.counts.held(t.now()), share: (of) => this.counts.share(of) },
      control: {
        reportHoldings: async (whole, users) => {
          const sql = 'select * from nodes where id = $1';
          const row = await ctx.db.one<NodeRow>(sql, [test_node.id]);
          if (this.isCut || !row) throw new Error('the control plane is not reachable');
          return reportHoldings(ctx, actor, row, { whole, users });
        },
      },
      clock: { now: this.#now, steady: this.#now, sleep: async () => {} },
      log,
    });
  }

  connect(name: string, source: string): boolean {
    const reason = this.counts.objectionTo(source, this.#authority, this.#now(), name);
    if (reason) return false;
    this.counts.admit(name, source, this.#authority, this.#now());
    this.open.set(name, source);
    return true;
  }

  close(name: string): void {
    this.counts.close(name);
    this.open.delete(name);
  }

  async second(): Promise<void> {
    for (const name of this.open.keys()) this.counts.moved(name, this.#now());
    await this.reporter.look();
    for (const { connection } of this.counts.excess(this.#now())) this.close(connection);
  }
}

/** By how much a limit was passed at most, and for how many seconds without a break. */
class Judge {
  readonly limit: number;
  maxExcess = 0;
  longest = 0;
  #since = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** A count that may be over in a moment. */
  peak(count: number): void {
    this.maxExcess = Math.max(this.maxExcess, count - this.limit);
  }

  look(count: number): void {
    this.peak(count);
    this.#since = count > this.limit ? this.#since + 1 : 0;
    this.longest = Math.max(this.longest, this.#since);
  }
}

test('a limit is passed for a few seconds at most, by no more than one count for each node', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-limits-'));
  const t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  await t.server('fra1');
  const { account } = await t.account('acme', { servers: ['fra1'] });
  const user = await t.running.ctx.db.one<{ id: number }>(
    'select id from users where account_id = $1',
    [account.id],
  );
  const policy = new Policy();
  policy.apply(contractRecord(account.id));
  policy.apply(userRecord(account.id, { limits }, user?.id));
  const of = { account: account.id, user: user?.id ?? 0 };
  const authority: Authority = { by: 'authlist', ...of, entry: 1, ip: '192.0.2.1' };
  const testNodes: TestNode[] = [];
  for (let at = 0; at < nodeCount; at += 1) testNodes.push(await t.node('fra1', `fra1-${at}`));
  for (const node of testNodes) await node.start();
  const nodes = testNodes.map((node) => new Node(t, node, authority, policy));
  const random = new Random(newSeed());
  const connections = new Judge(limits.connections);
  const places = new Judge(limits.addresses);
  let [names, refused, admitted, cutUntil, cutLately] = [0, 0, 0, 0, 0];
  const seconds = tries(300, { atLeast: 200 });
  for (let second = 0; second < seconds; second += 1) {
    // Jobs notice lost nodes; each second they would take most of the time.
    if (second % 10 !== 0) t.clock.advance(1);
    else {
      await t.pass(1);
      for (const [at, node] of testNodes.entries()) if (!nodes[at]?.isCut) await node.ack();
    }
    const roll = random.between(0, 99);
    // Now and then all at once; mostly one after the other.
    const at = roll < 4 ? nodes : [random.one(nodes)];
    const source = random.one(addresses);
    for (const node of roll < 45 ? at : []) {
      const isIn = node.connect(`c${++names}`, roll < 4 ? random.one(addresses) : source);
      if (isIn) admitted += 1;
      else refused += 1;
    }
    if (roll >= 80) {
      const node = random.one(nodes);
      const [name] = node.open.keys();
      if (name !== undefined) node.close(name);
    }
    if (second % 100 === 60) {
      random.one(nodes).isCut = true;
      cutUntil = second + 20;
    }
    if (second === cutUntil) for (const node of nodes) node.isCut = false;
    if (nodes.some(({ isCut }) => isCut)) cutLately = second;
    const counts = () => {
      const open = nodes.flatMap((node) => [...node.open.values()]);
      return [open.length, new Set(open).size] as const;
    };
    const before = counts();
    await Promise.all(nodes.map((node) => node.second()));
    // A node that is cut off goes on with what it heard, and others with what they heard of it.
    const isWhole = second - cutLately > longestSeconds || cutLately === 0;
    if (!isWhole) continue;
    for (const [at, judge] of [connections, places].entries()) {
      judge.peak(before[at] ?? 0);
      judge.look(counts()[at] ?? 0);
    }
  }
  console.log(`a limit passed: ${JSON.stringify({ connections, places })}`);
  expect([admitted > 20, refused > 20]).toEqual([true, true]);
  for (const judge of [connections, places]) {
    expect(judge.longest).toBeLessThanOrEqual(longestSeconds);
    expect(judge.maxExcess).toBeLessThanOrEqual(judge.limit * (nodeCount - 1));
  }
  for (const node of testNodes) node.stop();
  await t.stop();
  rmSync(folder, { recursive: true });
});
