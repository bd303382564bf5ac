// A proxy machine of the simulation: a disk, an engine, and an agent that is started, stopped,
// killed, and unplugged.
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Clock } from '../../agent/src/clock.ts';
import type { ControlError } from '../../agent/src/control_error.ts';
import type { OpenConnection, Stored } from '../../agent/src/engine.ts';
import { EndOrders, type OrderReports } from '../../agent/src/link/end_orders.ts';
import { type HoldingReports, HoldingsReporter } from '../../agent/src/link/holdings_reporter.ts';
import { Link } from '../../agent/src/link/link.ts';
import { Watches } from '../../agent/src/link/watches.ts';
import type { Rules } from '../../agent/src/policy/decision.ts';
import type { Reason } from '../../agent/src/policy/denials.ts';
import { ChangesReader } from '../../agent/src/store/changes_file.ts';
import { changesPath, listGenerations } from '../../agent/src/store/generations.ts';
import { Store } from '../../agent/src/store/store.ts';
import { Journal } from '../../agent/src/usage/journal.ts';
import { Meter } from '../../agent/src/usage/meter.ts';
import { Sender } from '../../agent/src/usage/sender.ts';
import { type Elsewhere, keyOf } from '../../agent/src/user_counts.ts';
import type { EndOrder, LargestGroups, Position } from '../../kit/src/node_interface.ts';
import type { Random } from '../../server/test/random.ts';
import type { Joined } from './center.ts';
import { type Exchange, SimulatedEngine } from './engine.ts';
import { type Door, Line, Wire } from './network.ts';
import { type Owner, type Scheduler, settled, type Trace } from './scheduler.ts';
import type { Conduct } from './vpn.ts';

const log = pino({ level: 'silent' });

/** From one sign of life of the control plane to the next. */
const longestSilenceSeconds = 17;

/** Hears when connections of users with limits are refused, and when orders end some. */
export interface Ends {
  onExcess(machine: Machine, of: { account: number; user: number }, reason: Reason): void;
  /** The control plane did not answer a report about limits or orders, or it did. */
  onAnswer(machine: Machine, isAnswered: boolean): void;
  /** The engine begins to end connections. Returns a function that is called when it has. */
  onEnd(machine: Machine, order: EndOrder): () => void;
}

/** One run of the agent's process. */
interface Agent {
  isAlive: boolean;
  store: Store;
  journal: Journal;
  wire: Wire;
  link: Link | undefined;
  stopping: AbortController;
}

export interface MachineOptions {
  joined: Joined;
  dir: string;
  door: Door;
  rules: Rules;
  poll_seconds: number;
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** None: it has no VPN. */
  conduct: Conduct | undefined;
  /** Hears of limits of users and of orders; none: the agent knows nothing of either. */
  ends: Ends | undefined;
  /** The engine ended a connection that is no longer allowed. */
  onRevoked: (machine: Machine, exchange: Exchange, reason: Reason) => void;
  /** The agent said that this is applied. */
  onClaim: (machine: Machine) => void;
}

export class Machine implements Owner {
  readonly name: string;
  readonly joined: Joined;
  readonly line: Line;
  readonly engine: SimulatedEngine;
  readonly #options: MachineOptions;
  #agent: Agent | undefined;
  #isOff = false;
  /** The last order that it carried out, for a conduct. */
  #lastOrder: EndOrder | undefined;
  /**
   * The position that its agent claimed last to have applied, as far as its disk cannot have lost
   * it.
   */
  claimed: Position | undefined;
  /** Whether the control plane knows that, since the machine lost its memory. */
  isHeard = true;
  /** Epoch seconds at which the control plane was last heard. */
  heard_at = 0;

  constructor(options: MachineOptions) {
    const { joined, rules, scheduler, random, trace, conduct, ends } = options;
    this.#options = options;
    this.joined = joined;
    this.name = joined.name;
    mkdirSync(options.dir);
    const onContact = () => {
      this.heard_at = scheduler.now();
    };
    const shared = { owner: this, scheduler, trace };
    this.line = new Line({ ...shared, random: random.fork(), onContact });
    this.engine = new SimulatedEngine({
      ...shared,
      dir: this.#policyDir,
      rules,
      conduct,
      random: random.fork(),
      onExcess: (of, reason) => ends?.onExcess(this, of, reason),
      onRevoked: (exchange, reason) => options.onRevoked(this, exchange, reason),
    });
  }

  get isRunning(): boolean {
    return this.#agent !== undefined;
  }
  /** Whether its agent and engine run and follow the control plane over a sound line. */
  get isWell(): boolean {
    const isFollowing = this.#agent?.link?.status().state === 'following';
    const isHeard = this.#options.scheduler.now() - this.heard_at <= longestSilenceSeconds;
    return isFollowing && isHeard && this.engine.isUp && this.line.isWell;
  }

  get #policyDir(): string {
    return join(this.#options.dir, 'policy');
  }
  get #journalPath(): string {
    return join(this.#options.dir, 'usage.journal');
  }

  // ---- The agent ----------------------------------------------------------------------------

  async start(): Promise<void> {
    if (this.#agent || this.#isOff) return;
    const { joined, door, poll_seconds, scheduler, trace, onClaim } = this.#options;
    trace.note('start', this.name);
    const onFault = (error: Error) => {
      scheduler.fault ??= error;
    };
    const store = await Store.open(this.#policyDir, { onFault });
    const journal = await Journal.open(this.#journalPath, { log });
    const isAlive = () => agent.isAlive;
    const agent: Agent = {
      isAlive: true,
      store,
      journal,
      link: undefined,
      stopping: new AbortController(),
      wire: new Wire({
        line: this.line,
        door,
        token: joined.token,
        isAlive,
        onClaim: (position) => {
          this.claimed = position;
          onClaim(this);
        },
        onHeard: () => {
          this.isHeard = true;
        },
      }),
    };
    this.#agent = agent;
    const clock = scheduler.clockOf(this, isAlive);
    const control = agent.wire;
    const engine = this.#engineOf(agent);
    const watches = new Watches({ ...this.#watched(control), clock, log });
    const { orders, holdings } = this.#ends(agent, clock);
    const link = new Link({
      ...{ store, engine, control, clock, log, onRecord: (record) => watches.note(record) },
      ...(orders && { onOrder: (id, order) => void orders.note(id, order) }),
      onFollowing: () => holdings?.retry(),
    });
    agent.link = link;
    const parts = [
      link,
      ...(holdings ? [holdings] : []),
      watches,
      new Meter({ engine, journal, clock, log, poll_seconds }),
      new Sender({ journal, control, clock, log, report_seconds: 3 }),
    ];
    for (const part of parts) part.run(agent.stopping.signal).catch(onFault);
  }

  /** Shows the control plane what the engine has open. */
  #watched(control: Wire) {
    let held: OpenConnection[] = [];
    const earlier = new Map<number, LargestGroups>();
    return {
      engine: {
        connections: () => {
          held = this.engine.connections();
          return held;
        },
      },
      control: {
        reportConnections: (watch: number, largest: LargestGroups) => {
          const isFaulty = this.#options.conduct === 'repeats-answers';
          const said = (isFaulty && earlier.get(watch)) || largest;
          earlier.set(watch, largest);
          return control.reportConnections(watch, said, held);
        },
      },
    };
  }

  /** The parts of the agent that end connections by limits of users and by orders. */
  #ends(agent: Agent, clock: Clock): { orders?: EndOrders; holdings?: HoldingsReporter } {
    const { ends, conduct } = this.#options;
    if (!ends) return {};
    const end = async (order: EndOrder) => {
      if (!agent.isAlive) throw new Error('the agent was killed');
      this.#lastOrder = order;
      const done = ends.onEnd(this, order);
      const ended = await this.engine.end(order);
      done();
      return ended;
    };
    if (conduct === 'repeats-orders' && this.#lastOrder) void end(this.#lastOrder).catch(() => {});
    /** Whether the control plane answered: a refusal of its own is an answer. */
    const noted = async <T>(answer: Promise<T>): Promise<T> => {
      try {
        const answered = await answer;
        ends.onAnswer(this, true);
        return answered;
      } catch (error) {
        ends.onAnswer(this, (error as ControlError).isOurs === true);
        throw error;
      }
    };
    const control: OrderReports & HoldingReports = {
      takeOrder: (order) => noted(agent.wire.takeOrder(order)),
      reportEnded: (order, ended) => noted(agent.wire.reportEnded(order, ended)),
      reportHoldings: ({ users, ...report }) => {
        const shown = conduct === 'hides-holdings' ? [] : users;
        return noted(agent.wire.reportHoldings({ ...report, users: shown }));
      },
    };
    const shared = new Map<string, Elsewhere>();
    const share = (elsewhere: readonly Elsewhere[]) => {
      if (!agent.isAlive) return;
      if (conduct !== 'endless-lease') return this.engine.share(elsewhere);
      for (const held of elsewhere) shared.set(keyOf(held), held);
      this.engine.share([...shared.values()]);
    };
    const held = () => this.engine.held();
    return {
      orders: new EndOrders({ engine: { end }, control, clock, log }),
      holdings: new HoldingsReporter({
        ...{ engine: { held, share }, control, clock, log },
      }),
    };
  }

  #engineOf(agent: Agent) {
    return {
      catchUp: () =>
        new Promise<Position | undefined>((resolve, reject) => {
          this.engine.catchUp((error, position) => {
            if (!agent.isAlive) return;
            if (error) reject(error);
            else resolve(position);
          });
        }),
      poll: (cursor: unknown, stored: Stored) =>
        this.engine.poll(cursor, stored, () => agent.isAlive),
      explain: () => Promise.reject(new Error('there are no questions in the simulation')),
    };
  }

  /** As the system stops it for an upgrade. The engine goes on. */
  async stop(): Promise<void> {
    const agent = this.#agent;
    if (!agent) return;
    this.#options.trace.note('stop', this.name);
    agent.stopping.abort();
    await settled();
    await this.kill();
  }

  /** It does nothing any more, from here on. The files that it had written are there. */
  async kill(): Promise<void> {
    const agent = this.#agent;
    if (!agent) return;
    this.#options.trace.note('kill', this.name);
    this.#agent = undefined;
    agent.isAlive = false;
    const partials = readdirSync(this.#policyDir)
      .filter((name) => name.endsWith('.partial'))
      .map((name) => join(this.#policyDir, name))
      .map((path) => ({ path, bytes: readFileSync(path) }));
    agent.wire.die();
    await settled();
    await agent.store.close();
    await agent.journal.close();
    for (const { path, bytes } of partials) writeFileSync(path, bytes);
  }

  /**
   * Lets something happen to the agent, and kills it in the midst: what it wrote meanwhile is there
   * up to anywhere, and of what it sent afterwards nothing.
   */
  async dieDuring(run: () => void): Promise<void> {
    const { random, trace } = this.#options;
    const files = [this.#journalPath, ...this.#changesPaths()].map((path) => measure(path));
    const forgetReported = this.engine.rememberReported();
    this.line.hold();
    run();
    await settled();
    if (!this.#agent) return this.line.release(this.line.held);
    await this.kill();
    let isTorn = false;
    for (const before of files) {
      const after = measure(before.path);
      if (after.inode !== before.inode || after.size <= before.size) continue;
      const size = random.between(before.size, after.size);
      const [first = ''] = readFileSync(before.path).subarray(before.size).toString().split('\n');
      truncateSync(before.path, size);
      if (before.path === this.#journalPath && size < before.size + Buffer.byteLength(first) + 1) {
        forgetReported();
      }
      if (size < after.size) isTorn = true;
    }
    if (isTorn) trace.note('torn', this.name);
    this.line.release(isTorn ? 0 : random.between(0, this.line.held));
  }

  async compact(): Promise<void> {
    if (!this.#agent?.store.position) return;
    this.#options.trace.note('compaction', this.name);
    await this.#agent.store.compact();
  }

  // ---- The machine --------------------------------------------------------------------------

  /**
   * The power fails: of the changes of the last second any part may be there, or rubbish in its
   * place.
   */
  async losePower(): Promise<void> {
    const { trace, random, scheduler } = this.#options;
    if (this.#isOff) return;
    trace.note('power-loss', this.name);
    this.#isOff = true;
    await this.kill();
    this.engine.die({ withLog: true });
    this.claimed = undefined;
    this.isHeard = false;
    const path = this.#changesPaths().at(-1);
    if (path === undefined) return;
    const durable = durableBytes(path, scheduler.now() - 2);
    const size = random.between(durable, measure(path).size);
    const rubbish = random.between(0, 2) === 0 ? measure(path).size - size : 0;
    truncateSync(path, size);
    const file = openSync(path, 'r+');
    if (rubbish > 0) writeSync(file, Buffer.alloc(rubbish), 0, rubbish, size);
    closeSync(file);
  }

  /** Starts all that does not run. */
  async powerOn(): Promise<void> {
    this.#isOff = false;
    await this.startEngine();
    await this.start();
  }

  async startEngine(): Promise<void> {
    if (!this.#isOff && !this.engine.isUp) await this.engine.start();
  }

  #changesPaths(): string[] {
    const dir = this.#policyDir;
    return listGenerations(dir).changes.map((generation) => changesPath(dir, generation));
  }
}

function measure(path: string): { path: string; size: number; inode: number } {
  const { size, ino: inode } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0, ino: 0 };
  return { path, size, inode };
}

/** How many bytes of changes were heard until then. */
function durableBytes(path: string, until: number): number {
  const changes = new ChangesReader(path);
  let bytes = 0;
  for (let line = changes.next(); line; line = changes.next()) {
    if ('heard_at' in line && line.heard_at > until) break;
    bytes = changes.offset;
  }
  changes.close();
  return bytes;
}
