// The control plane of the simulation: the real rooms on a real SQLite database, without sockets
// and timers.
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { OpenConnection } from '../../agent/src/engine.ts';
import type { Elsewhere } from '../../agent/src/user_counts.ts';
import type {
  HoldingsReport,
  LargestGroups,
  Position,
  UsageBatch,
} from '../../kit/src/node_interface.ts';
import type { Clock } from '../../server/src/clock.ts';
import { type Config, readConfig } from '../../server/src/config.ts';
import type { Context } from '../../server/src/context.ts';
import type { Actor, Database, Transaction } from '../../server/src/db/database.ts';
import { restoreSqlite } from '../../server/src/db/restore.ts';
import { openSqlite } from '../../server/src/db/sqlite.ts';
import { conflict } from '../../server/src/errors.ts';
import { batch, jobs } from '../../server/src/jobs.ts';
import { createContext, openStorage } from '../../server/src/main.ts';
import { ensureNetwork } from '../../server/src/network.ts';
import { Feed } from '../../server/src/nodes/feed.ts';
import {
  acknowledge,
  authenticateNode,
  createInvite,
  endConnections,
  joinNode,
  type EndOrder as Order,
  openConnections,
  reportConnections,
  reportEnded,
  reportHoldings,
  reportUsage,
  takeEndOrder,
} from '../../server/src/nodes/nodes.ts';
import { Snapshots } from '../../server/src/nodes/snapshot.ts';
import { Metrics } from '../../server/src/observed/metrics.ts';
import { createPortScheme } from '../../server/src/port_schemes/port_schemes.ts';
import { requireServer } from '../../server/src/servers/servers.ts';
import { changeUser, createUser, requireUserNamed } from '../../server/src/users/users.ts';
import { builders } from '../../server/test/builders.ts';
import type { Door, Response } from './network.ts';
import { ofRealTime, type Scheduler, type Trace } from './scheduler.ts';
import { Tables } from './tables.ts';

const actor: Actor = { kind: 'system', name: 'simulation', address: '', request_id: '' };
export const lostSeconds = 30;
/** So short that now and then a node finds its place in the log gone. */
const changesKeptSeconds = 12;
const due = ['end overrides', 'lost nodes', 'expired authlist', 'limits', 'prune changes'];
/** In lives with limits of users and orders to end connections. */
const dueOfLimits = ['forget holdings', 'forget end orders'];

export interface Joined {
  name: string;
  server: string;
  server_id: number;
  node_id: number;
  token: string;
}

/** The start of every simulation, made once: the network, its nodes, the accounts. */
export interface Beginning {
  dir: string;
  file: string;
  config: Config;
  ctx: Context;
  nodes: Joined[];
}

export const accounts = ['acme', 'globex', 'initech'];
export const users = ['alice', 'bob'];
export const servers = ['ams1', 'fra1', 'lon1'];
/** Two of the servers have two nodes. */
const nodeNames = ['ams1-a', 'ams1-b', 'fra1-a', 'fra1-b', 'lon1-a'];

export async function begin(dir: string, clock: Clock): Promise<Beginning> {
  mkdirSync(dir, { recursive: true });
  const config = readConfig({
    EXITWARD_DATABASE_URL: `sqlite:${join(dir, 'first.db')}`,
    EXITWARD_DATA_DIR: dir,
    EXITWARD_NODE_LOST_SECONDS: String(lostSeconds),
    // Some more than the engines carry, in the worst of seconds: an honest node is never held.
    EXITWARD_NODE_MAX_BYTES_PER_SECOND: '100000',
  });
  const overrides = { clock, log: pino({ level: 'silent' }) };
  const db = await openStorage(config, overrides);
  const never = new AbortController().signal;
  const ctx = await createContext(config, db, overrides, new Metrics(), never);
  await ensureNetwork(ctx);
  const write = <T>(action: (tx: Transaction) => Promise<T>) => db.write(actor, action);
  const build = builders(ctx, write);
  await write((tx) =>
    createPortScheme(tx, { name: 'high', bases: [{ base: 20_000, service: 'proxy' }] }),
  );
  for (const server of servers) await build.server(server, { port_schemes: ['default', 'high'] });
  for (const [at, name] of accounts.entries()) {
    const built = await build.account(name, {
      servers: servers.filter((_, index) => index !== at),
      port_scheme: name === 'initech' ? 'high' : 'default',
    });
    await write(async (tx) => {
      await createUser(tx, built.account, { name: 'bob', flags: { proxy: true } });
      // So that it is no administrator who is locked out.
      const alice = await requireUserNamed(tx, built.account.id, 'alice');
      await changeUser(tx, alice, { flags: { admin: false } });
    });
  }
  const nodes: Joined[] = [];
  for (const name of nodeNames) {
    const { code } = await write(async (tx) =>
      createInvite(tx, ctx.secrets, await requireServer(tx, name.slice(0, 4))),
    );
    const body = { code, name, version: 'simulated' };
    const { node, server, token } = await write((tx) => joinNode(tx, ctx.secrets, body));
    nodes.push({ name, server: server.name, server_id: server.id, node_id: node.id, token });
  }
  const file = join(dir, 'beginning.db');
  await db.backup(file);
  await db.close();
  return { dir, file, config: { ...config, changes_kept_seconds: changesKeptSeconds }, ctx, nodes };
}

/** A batch that the database has counted. */
export interface Counted {
  server_id: number;
  rows: UsageBatch['rows'];
  /** Bytes that were left out. */
  left_out: number;
}

/** Ids, and addresses. */
export type LookFilter = Parameters<typeof openConnections>[1];

/** Ids, addresses and a service. */
export type EndFilter = Order['filter'];

/** A node's answer to a look that the database has, as its engine was when the answer was made. */
export interface TakenAnswer {
  /** The node's, and its server's. */
  name: string;
  server: string;
  connections: readonly OpenConnection[];
  /** The accounts that were on the server before it was taken, and afterwards. */
  served: ReadonlySet<number>;
  /** Epoch seconds. */
  at: number;
}

/** Processes die here, and the system under them does not: nothing has to be flushed. */
const noPowerCut = async () => {};

export class Center implements Door {
  readonly #beginning: Beginning;
  readonly #scheduler: Scheduler;
  readonly #trace: Trace;
  readonly #file: string;
  readonly #clock: Clock;
  #ctx!: Context;
  #feed!: Feed;
  #snapshots!: Snapshots;
  /** When its process began, in steady seconds. */
  #opened = 0;
  isUp = false;
  tables!: Tables;
  /** Hears of each commit, before anybody else could read anything newer. */
  onCommit = () => {};
  /** Batches by node, boot and number, as far as the database knows them. */
  counted = new Map<string, Counted>();
  /** All batches that a database ever counted. */
  readonly everCounted = new Map<string, Counted>();
  /** Answers to looks by watch and node, as far as the database knows them. */
  #answers = new Map<number, Map<number, TakenAnswer>>();
  /** Hears that a node took an order, and that it said what became of one. */
  onTaken = (_node_id: number, _order: number) => {};
  onEnded = (_node_id: number, _order: number) => {};
  /** Ends when all requests that take a thread beside this one are answered. */
  working: Promise<unknown> = Promise.resolve();
  #backup:
    | {
        file: string;
        counted: Map<string, Counted>;
        answers: Map<number, Map<number, TakenAnswer>>;
      }
    | undefined;
  #backups = 0;

  constructor(beginning: Beginning, dir: string, scheduler: Scheduler, trace: Trace) {
    this.#beginning = beginning;
    this.#scheduler = scheduler;
    this.#trace = trace;
    this.#file = join(dir, 'center.db');
    this.#clock = { now: () => scheduler.now(), steady: () => scheduler.time };
    copyFileSync(beginning.file, this.#file);
  }

  get db(): Database {
    return this.#ctx.db;
  }
  get ctx(): Context {
    return this.#ctx;
  }

  async open(): Promise<void> {
    const db = await openSqlite(this.#file, { clock: this.#clock, sync: noPowerCut });
    // While another thread folds the log of a long life, a write tries again and again.
    const write = db.write.bind(db);
    db.write = (by, action) => ofRealTime(write(by, action));
    const { ctx, config } = this.#beginning;
    this.#ctx = { ...ctx, config, clock: this.#clock, db };
    this.#feed = new Feed(this.#ctx, { beats: false });
    this.#snapshots = new Snapshots(this.#ctx);
    this.tables = new Tables(this.#file, ctx.secrets);
    db.listen(() => this.onCommit());
    this.#opened = this.#clock.steady();
    this.isUp = true;
    this.onCommit();
  }

  /** Its process ends, well or badly: what was committed is there. */
  async close(): Promise<void> {
    this.isUp = false;
    this.#feed.close();
    this.tables.close();
    await this.#ctx.db.close();
  }

  write<T>(action: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#ctx.db.write(actor, action);
  }

  beat(): void {
    if (this.isUp) void this.#feed.beat();
  }

  /** The jobs that are due, as one group. */
  runJobs(withLimits: boolean): void {
    if (!this.isUp) return;
    const { config } = this.#ctx;
    for (const job of jobs) {
      const isEarly = this.#clock.steady() - this.#opened < (job.after_seconds?.(config) ?? 0);
      const isDue = due.includes(job.name) || (withLimits && dueOfLimits.includes(job.name));
      if (isDue && !isEarly) this.#do(this.write((tx) => job.run(tx, batch, this.#ctx)));
    }
  }

  async backUp(dir: string): Promise<void> {
    this.#backups += 1;
    const file = join(dir, `backup-${this.#backups}.db`);
    await this.#ctx.db.backup(file);
    this.#backup = {
      ...{ file, counted: new Map(this.counted) },
      answers: structuredClone(this.#answers),
    };
  }

  get hasBackup(): boolean {
    return this.#backup !== undefined;
  }

  /** Puts the last backup in place, while it is down. */
  async restore(): Promise<void> {
    if (!this.#backup) return;
    await restoreSqlite(this.#file, this.#backup.file, this.#clock);
    this.counted = new Map(this.#backup.counted);
    this.#answers = structuredClone(this.#backup.answers);
  }

  // ---- What nodes ask -----------------------------------------------------------------------

  async snapshot(token: string, response: Response): Promise<void> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    const lines = this.#snapshots.open(node);
    this.#do(
      (async () => {
        for await (const piece of lines) response.write(piece as Buffer);
        response.end();
      })(),
    );
  }

  /** As the route does it. */
  async changes(token: string, { epoch, revision }: Position, response: Response): Promise<void> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    await this.write((tx) => acknowledge(tx, node.id, epoch, revision));
    if (!(await this.#feed.reaches(epoch, revision))) {
      throw conflict('The log of changes no longer reaches back to this revision.', {
        code: 'snapshot_needed',
      });
    }
    this.#feed.open(node, response as never, epoch, revision);
  }

  async acknowledge(token: string, { epoch, revision }: Position): Promise<void> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    await this.write((tx) => acknowledge(tx, node.id, epoch, revision));
  }

  async reportUsage(token: string, batch: UsageBatch) {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    const outcome = await this.write((tx) =>
      reportUsage(tx, node.id, batch, this.#ctx.config.node_max_bytes_per_second),
    );
    if (outcome.held)
      throw new Error(`usage of an honest node was held: ${node.name} ${batch.seq}`);
    if (outcome.counted) this.#noteCounted(node, batch, outcome.left_out);
    else this.#trace.note('duplicate', `${node.name} ${batch.seq}`);
    return outcome;
  }

  /** `held`: the connections that the engine had open when the answer was made. */
  reportConnections(
    token: string,
    watch: number,
    largest: LargestGroups,
    held: readonly OpenConnection[],
  ): Promise<void> {
    const reporting = this.#takeConnections(token, watch, largest, held);
    this.working = Promise.allSettled([this.working, reporting]);
    return reporting;
  }

  async #takeConnections(
    token: string,
    watch: number,
    largest: LargestGroups,
    held: readonly OpenConnection[],
  ): Promise<void> {
    const { db, secrets, clock } = this.#ctx;
    const node = await authenticateNode(db, secrets, token);
    const before = await this.#servedBy(node.server_id);
    await reportConnections({ db, secrets, clock }, actor, node, watch, largest);
    const after = await this.#servedBy(node.server_id);
    const answers = this.#answers.get(watch) ?? new Map<number, TakenAnswer>();
    this.#answers.set(watch, answers);
    answers.set(node.id, {
      ...{ name: node.name, server: node.name.slice(0, 4), connections: held, at: clock.now() },
      served: new Set([...before].filter((account) => after.has(account))),
    });
  }

  async reportHoldings(token: string, report: HoldingsReport): Promise<Elsewhere[]> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    return reportHoldings(this.#ctx, actor, node, report);
  }

  async takeOrder(token: string, order: number): Promise<void> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    await takeEndOrder(this.#ctx, actor, node, order).catch((error) => {
      this.#trace.note('order-late', `${node.name} ${order}`);
      throw error;
    });
    this.onTaken(node.id, order);
  }

  async reportEnded(token: string, order: number, ended: number): Promise<void> {
    const node = await authenticateNode(this.db, this.#ctx.secrets, token);
    await reportEnded(this.db, actor, node, order, ended);
    this.onEnded(node.id, order);
  }

  /** Orders to end connections. Returns the number of the order, and the nodes that may take it. */
  async end(filter: EndFilter): Promise<{ order: number; nodes: string[] }> {
    const { db, secrets } = this.#ctx;
    const clock = this.#hurriedClock();
    const order = { filter, by: undefined, names: {} };
    const outcome = await endConnections({ db, secrets, clock }, (give) =>
      this.write((tx) => give(tx, order)),
    );
    const last = await db.one<{ id: number }>('select max(id) as id from end_orders');
    const nodes = outcome.missing.filter(({ reason }) => reason !== 'offline');
    return { order: last?.id ?? 0, nodes: nodes.map(({ node }) => node) };
  }

  /** People do not wait for answers: each time on this clock is much later. */
  #hurriedClock(): Clock {
    let steady = 0;
    return {
      now: () => this.#clock.now(),
      steady: () => {
        steady += 1000;
        return steady;
      },
    };
  }

  async #servedBy(server_id: number): Promise<Set<number>> {
    const rows = await this.db.all<{ account_id: number }>(
      'select account_id from contract_servers where server_id = $1',
      [server_id],
    );
    return new Set(rows.map(({ account_id }) => account_id));
  }

  /** A look at the open connections: what it shows, and the answers that it can be made of. */
  async look(filter: LookFilter) {
    const { db, secrets } = this.#ctx;
    const clock = this.#hurriedClock();
    const shown = await openConnections({ db, secrets, clock }, filter, undefined, {
      maxRows: 1000,
    });
    const { account_id, user_id, address, exit_ip, server_id, node_id } = filter;
    const key = JSON.stringify({ account_id, user_id, address, exit_ip, server_id, node_id });
    const watch = await db.one<{ id: number }>(
      'select id from connection_watches where filter = $1',
      [key],
    );
    const { nodes } = this.#beginning;
    const expected: string[] = [];
    for (const node of nodes) {
      if (node.server_id !== (server_id ?? node.server_id)) continue;
      if (node.node_id !== (node_id ?? node.node_id)) continue;
      const served = await this.#servedBy(node.server_id);
      if (account_id === undefined || served.has(account_id)) expected.push(node.name);
    }
    const answers = [...(this.#answers.get(watch?.id ?? 0) ?? new Map()).values()];
    return { shown, expected, answers: answers.filter(({ name }) => expected.includes(name)) };
  }

  #noteCounted(
    node: { id: number; server_id: number },
    batch: UsageBatch,
    left_out: number[],
  ): void {
    const isLeftOut = new Set(left_out);
    if (left_out.length > 0) this.#trace.note('left-out', `${node.id} ${left_out.length}`);
    const bytes = batch.rows
      .filter((_, index) => isLeftOut.has(index))
      .reduce((sum, { up, down }) => sum + up + down, 0);
    const counted: Counted = {
      server_id: node.server_id,
      rows: batch.rows.filter((_, index) => !isLeftOut.has(index)),
      left_out: bytes,
    };
    const key = `${node.id} ${batch.boot} ${batch.seq}`;
    if (this.counted.has(key)) throw new Error(`a batch was counted twice: ${key}`);
    this.counted.set(key, counted);
    this.everCounted.set(key, counted);
  }

  #do(work: Promise<unknown>): void {
    work.catch((error: Error) => {
      this.#scheduler.fault ??= error;
    });
  }
}
