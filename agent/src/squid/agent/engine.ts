// The engine for busy nodes: Squids carry the traffic, their deciders decide each request, and this
// file makes them one engine.
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { EndOrder, Position } from '../../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../../kit/src/serial_queue.ts';
import { mayDial, ownAddresses } from '../../address.ts';
import { connectionCaps } from '../../connection_caps.ts';
import { isWanted } from '../../connection_groups.ts';
import type {
  Engine,
  EngineCounts,
  Explanation,
  OpenConnection,
  Poll,
  Stored,
} from '../../engine.ts';
import { EndedUses, type ExitUse, type OpenUse } from '../../exit_use.ts';
import { explainDestination } from '../../explain_destination.ts';
import { type Fault, faultsOf } from '../../faults.ts';
import { decideWithin, isDrained } from '../../policy/decide.ts';
import type { Question } from '../../policy/decision.ts';
import type { LastUsed } from '../../policy/last_used.ts';
import { type Listener, Policy } from '../../policy/policy.ts';
import type { Refusal } from '../../policy/refusals.ts';
import type { Revoked } from '../../policy/sessions.ts';
import { Resolver } from '../../resolver.ts';
import { Replica, readServer } from '../../store/replica.ts';
import {
  type Elsewhere,
  type Holding,
  keyOf,
  sumOfHoldings,
  withOthers,
} from '../../user_counts.ts';
import { refusalOf } from '../conf/destinations.ts';
import type { CaughtUp, Opened } from '../protocol.ts';
import { killSockets, listSockets, type Socket, sourceOf } from '../sockets.ts';
import { carriedBytes, forgedFault } from './claims.ts';
import { payloadOf, type TrackedSquid } from './connection.ts';
import { Connections } from './connections.ts';
import { countsOf } from './counts.ts';
import { cursorOfSquids } from './cursor.ts';
import { DeciderAbsent, DeciderSilent } from './decider_link.ts';
import { DestroyedSockets } from './destroyed_sockets.ts';
import { Fleet, loadingSeconds } from './fleet.ts';
import type { MeterLine } from './meter_log.ts';
import { findSquidUser } from './unix_user.ts';
import type { Worker, WorkerOptions } from './worker.ts';

export type SquidOptions = Omit<WorkerOptions, 'user' | 'connections' | 'onRevoked' | 'onStart'>;

/** A log is rotated at this size. A new log means a new decider, which loads, so this is rare. */
const maxMeterBytes = 2 ** 30;

/**
 * Starts the engine. A Squid that an earlier agent left running is taken over. Errors: a fault that
 * keeps Squid from running here at all.
 */
export async function startSquid(options: SquidOptions): Promise<Engine> {
  const engine = new SquidEngine(options);
  try {
    await engine.start();
  } catch (error) {
    // The Squids are already watched, and the caller gets no engine that it could stop.
    await engine.stop({ leave_running: true }).catch(() => {});
    throw error;
  }
  return engine;
}

class SquidEngine implements Engine {
  readonly name = 'squid';
  readonly #options: SquidOptions;
  readonly #fleet: Fleet;
  readonly #connections: Connections;
  /** For the connection log. */
  readonly #endedUses: EndedUses;
  readonly #destroyed: DestroyedSockets;
  /** By Squid: the sockets that were destroyed before its last start. */
  readonly #destroyedAtStart = new Map<number, ReadonlyMap<string, Socket>>();
  /** By Squid: how often this agent started it. */
  readonly #starts = new Map<number, number>();
  /** The client connections of the last list. */
  #sockets: readonly Socket[] = [];
  /** Where to listen, as a decider last reported. */
  #listeners: ReadonlyMap<number, Listener> = new Map();
  /** All ports since the start, since connections outlive the port that they came in on. */
  readonly #pastListeners = new Map<number, Listener>();
  /** The policy in this process, only while no decider holds it. */
  #replica: Replica | undefined;
  #isDrained = false;
  /** Whether nothing was opened or taken over yet, which lets a new node start quickly. */
  #isNew = true;
  #closingFault: string | undefined;
  /** Set when the engine is stopped: the sockets destroyed by then, unless its Squids continue. */
  #stopped: { destroyed: ReadonlyMap<string, Socket> | undefined } | undefined;
  readonly #queue = new SerialQueue();
  /** Resolves names of questions with the same servers as Squid, which cannot be asked. */
  readonly #resolver: Resolver;

  constructor(options: SquidOptions) {
    this.#options = options;
    this.#resolver = new Resolver(options.config.dns_servers, options.clock);
    this.#connections = new Connections({
      listSockets: async (ports) => {
        const sockets = await listSockets(ports, options.config.listen_host);
        this.#sockets = sockets;
        this.#closeWaiting(sockets);
        return sockets;
      },
      closeSuspects: (squid, connections) => this.#closeSuspects(squid, connections),
      carried: carriedBytes,
      onLine: (line) => this.#noteUse(line),
      onLost: (name, { since, moved_at }, { account, user }) => {
        const until = moved_at ?? options.clock.now();
        const use = this.#useOf(name, { account, user, since: since ?? until });
        if (use) this.#endedUses.note({ ...use, until });
      },
    });
    this.#endedUses = new EndedUses(options.config.connection_log.mode !== 'off');
    this.#fleet = new Fleet({
      ...options,
      user: findSquidUser(),
      connections: this.#connections,
      onRevoked: (revoked, over) => this.#close(revoked, over),
      onStart: (squid) => {
        this.#starts.set(squid, (this.#starts.get(squid) ?? 0) + 1);
        this.#destroyedAtStart.set(squid, this.#destroyed.recent());
      },
    });
    this.#destroyed = new DestroyedSockets(
      join(options.config.state_dir, 'destroyed.sockets'),
      options.log,
      options.config.listen_host,
    );
  }

  async start(): Promise<void> {
    await this.#fleet.start();
    this.#isNew = this.#fleet.active.length === 0;
    const squids = this.#fleet.workers.map((worker) => this.#tracked(worker));
    await this.#connections.begin(squids, this.#options.clock.now());
    this.#watchPorts();
  }

  /** One call at a time: the link waits for each. */
  catchUp(): Promise<Position | undefined> {
    return this.#queue.run(() => this.#catchUp());
  }

  *connections(): Generator<OpenConnection> {
    const { config, clock } = this.#options;
    const now = clock.now();
    for (const [
      name,
      { socket, owner, since = now, moved_at = now },
    ] of this.#connections.listed()) {
      const listener = this.#pastListeners.get(socket.port - config.port_shift);
      if (owner.by === 'probe' || !listener) continue;
      yield {
        ...{ ...factsOf(name, listener), authority: owner, since, last_byte_at: moved_at },
        ...payloadOf(socket, listener.tls),
      };
    }
  }

  *usesUnderWay(): Generator<OpenUse> {
    const now = this.#options.clock.now();
    for (const [name, { socket, owner, since = now }] of this.#connections.listed()) {
      const use = owner.by !== 'probe' && this.#useOf(name, { ...owner, since });
      // Its destination is known later, from its lines in the log.
      if (use) yield { ...use, key: socket.cookie.replaceAll(' ', '-'), is_provisional: true };
    }
  }

  takeEndedUses(): ReturnType<Engine['takeEndedUses']> {
    return this.#endedUses.take();
  }

  #noteUse({ connection, owner, at, use }: MeterLine): void {
    const { address, source_port, listener } = this.#endsOf(connection);
    if (!owner || !use) return;
    const service = listener?.tls ? 'proxy-https' : 'proxy';
    this.#endedUses.note({ service, ...owner, address, source_port, ...use, until: at });
  }

  /** A use, when only the client's connection is known. */
  #useOf(
    name: string,
    { account, user, since }: Pick<ExitUse, 'account' | 'user' | 'since'>,
  ): ExitUse | undefined {
    const { address, source_port, listener } = this.#endsOf(name);
    if (!listener) return undefined;
    const service = listener.tls ? 'proxy-https' : 'proxy';
    return { service, account, user, address, source_port, exit_ip: listener.exit_ip, since };
  }

  #endsOf(name: string) {
    const [source_port, port] = name
      .slice(name.lastIndexOf(':') + 1)
      .split('>')
      .map(Number);
    const listener = this.#pastListeners.get((port ?? 0) - this.#options.config.port_shift);
    return { address: sourceOf(name), source_port, listener };
  }

  async end(order: EndOrder): Promise<number> {
    const { config } = this.#options;
    const owners = new Map(
      (await Promise.all(this.#fleet.active.map((worker) => this.#owners(worker, order)))).flat(),
    );
    const ports = this.#fleet.active.flatMap(({ squid }) => squid.ports);
    const named = (await listSockets(ports, config.listen_host)).flatMap(({ connection, port }) => {
      const owner = owners.get(connection);
      const listener = this.#pastListeners.get(port - config.port_shift);
      if (!owner || owner.by === 'probe' || !listener) return [];
      const isOrdered = isWanted(order, { ...factsOf(connection, listener), ...owner });
      return isOrdered ? [connection] : [];
    });
    for (const connection of named) this.#connections.revoke(connection);
    await this.#kill(named);
    return named.length;
  }

  /**
   * The current owners of connections. Only the decider knows the newest; if it is of an earlier
   * version and does not answer, they are at most a second old.
   */
  async #owners({ squid, link }: Worker, { account }: EndOrder): Promise<Opened> {
    try {
      await link.connected(loadingSeconds * 1000);
      return (await link.ask('owners', { account })).flat();
    } catch (error) {
      this.#options.log.warn({ err: error, squid: squid.number }, 'a decider sends no owners');
      return this.#connections.owners(squid.number);
    }
  }

  async takeLastUsed(): Promise<LastUsed[]> {
    return (await Promise.all(this.#fleet.workers.map(({ link }) => link.takeLastUsed()))).flat();
  }

  held(): Holding[] {
    return sumOfHoldings(this.#fleet.workers.flatMap(({ link }) => link.held));
  }

  /** Each Squid counts on its own, so for each one the other Squids are elsewhere, too. */
  share(elsewhere: readonly Elsewhere[]): void {
    const { workers } = this.#fleet;
    const held = workers.map(({ link }) => link.held);
    for (const [at, { link, squid }] of workers.entries()) {
      const [before, after] = [held.slice(0, at).flat(), held.slice(at + 1).flat()];
      link.share(withOthers(elsewhere, before, after), this.#moved(squid.number, held[at] ?? []));
    }
  }

  /** When the connections of these users last carried a byte. */
  #moved(squid: number, held: readonly Holding[]): Array<[connection: string, at: number]> {
    if (held.length === 0) return [];
    const users = new Set(held.map(keyOf));
    return [...this.#connections.listed()].flatMap(([name, { owner, moved_at, squid: number }]) => {
      const isTheirs = number === squid && owner.by !== 'probe' && users.has(keyOf(owner));
      return isTheirs && moved_at !== undefined ? [[name, moved_at]] : [];
    });
  }

  takeRefusals(): Refusal[] {
    return this.#fleet.workers.flatMap(({ link }) => link.takeRefusals());
  }

  explain(question: Question): Promise<Explanation> {
    const { config, clock } = this.#options;
    const own = [...ownAddresses(), ...[...this.#listeners.values()].map(({ exit_ip }) => exit_ip)];
    this.#resolver.followMachine();
    const mayBe = (ip: string) => mayDial(ip, config.allowed, (address) => own.includes(address));
    return explainDestination(question, () => this.#explain(question), {
      resolver: this.#resolver,
      clock,
      judge: (name) => refusalOf(name, mayBe),
    });
  }

  async #explain(question: Question): Promise<Explanation> {
    const [worker] = this.#fleet.active;
    const { rules, clock } = this.#options;
    const decideHere = () => {
      const { policy = new Policy(), position } = this.#replica ?? {};
      const objectionTo = () => undefined;
      return { verdict: decideWithin(objectionTo, policy, rules, question, clock.now()), position };
    };
    const { verdict, position } = worker
      ? (await worker.link.ask('explain', question))[0]
      : decideHere();
    if (!position) throw new Error('This node has no policy yet.');
    return { decision: verdict, position };
  }

  listeners(): ReadonlyMap<number, Listener> {
    return this.#listeners;
  }

  isDrained = (): boolean => this.#isDrained;

  counts(): EngineCounts {
    const { port_shift } = this.#options.config;
    return countsOf(this.#fleet.workers, this.#sockets, this.#starts, port_shift);
  }

  faults(): Fault[] {
    const isFault = (fault: string | undefined) => fault !== undefined;
    const closing = [this.#closingFault].filter(isFault);
    const counting = this.#fleet.workers.map(({ meter }) => meter.fault).filter(isFault);
    const isForged = this.#fleet.workers.some(({ meter }) => meter.isForged);
    const forged = isForged || this.#connections.isImplausible ? [forgedFault] : [];
    return [
      ...this.#fleet.faults(),
      ...faultsOf('engine', closing),
      ...faultsOf('usage', counting),
      ...faultsOf('squid_log', forged),
    ];
  }

  async stop(options: { leave_running: boolean }): Promise<void> {
    await this.#fleet.stop(options);
    this.#replica?.close();
    if (this.#stopped) return;
    this.#stopped = { destroyed: options.leave_running ? undefined : this.#destroyed.recent() };
    this.#destroyed.stop();
  }

  // ---- Catching up ------------------------------------------------------------------------

  async #catchUp(): Promise<Position | undefined> {
    if (this.#fleet.active.length === 0) await this.#listen(await this.#findListeners());
    if (this.#fleet.active.length > 0) {
      const position = await this.#catchUpDeciders();
      if (this.#fleet.active.length > 0) {
        this.#replica?.close();
        this.#replica = undefined;
        return position;
      }
    }
    const { policy, position } = await this.#holdPolicy();
    this.#isDrained = isDrained(policy, this.#options.rules);
    return position;
  }

  async #catchUpDeciders(): Promise<Position | undefined> {
    const caughtUp = await Promise.all(this.#fleet.active.map((worker) => this.#ask(worker)));
    this.#close(caughtUp.flatMap(({ revoked }) => revoked));
    this.#isDrained = caughtUp.some(({ drained }) => drained);
    const listeners = caughtUp.findLast(({ listeners }) => listeners)?.listeners;
    if (listeners)
      await this.#listen(
        new Map(listeners.map((listener) => [listener.port, soundListener(listener)])),
      );
    return lowest(caughtUp.map(({ position }) => position));
  }

  async #ask(worker: Worker): Promise<CaughtUp> {
    const { squid } = worker;
    try {
      if (squid.findProcess() === undefined) throw new Error('it does not run');
      const responses = await this.#askPresent(worker);
      worker.fault = undefined;
      return { ...responses.at(-1), revoked: responses.flatMap((response) => response.revoked) };
    } catch (error) {
      this.#noteSilence(worker, error);
      throw new Error(`Squid ${squid.number}: ${(error as Error).message}.`);
    }
  }

  /** Asks again if a decider left meanwhile: it was replaced. */
  async #askPresent({ link }: Worker): Promise<CaughtUp[]> {
    await link.connected(loadingSeconds * 1000);
    try {
      return await link.ask('catch_up', undefined);
    } catch (error) {
      if (!(error instanceof DeciderAbsent)) throw error;
      await link.connected(loadingSeconds * 1000);
      return await link.ask('catch_up', undefined);
    }
  }

  /** Ends a connected but silent decider: Squid starts another. */
  #noteSilence(worker: Worker, error: unknown): void {
    if (!(error instanceof DeciderSilent)) return;
    worker.fault = `The decider of Squid ${worker.squid.number} did not answer, and was ended.`;
    worker.squid.killDeciders();
  }

  async #listen(listeners: ReadonlyMap<number, Listener>): Promise<void> {
    try {
      await this.#fleet.listen([...listeners.values()]);
      this.#listeners = listeners;
      for (const [port, listener] of listeners) this.#pastListeners.set(port, listener);
    } finally {
      this.#watchPorts();
    }
  }

  /**
   * Where to listen before any decider is connected. At the first start the server's record in the
   * snapshot decides, since a decider corrects that at once; the whole policy decides if the
   * snapshot has no such record, or a decider has reported that it has no policy.
   */
  async #findListeners(): Promise<ReadonlyMap<number, Listener>> {
    const policy = this.#isNew ? await readServer(this.#options.dir) : undefined;
    this.#isNew = false;
    if (policy && policy.listeners.size > 0) return policy.listeners;
    return (await this.#holdPolicy()).policy.listeners;
  }

  async #holdPolicy(): Promise<Replica> {
    this.#replica ??= new Replica(this.#options.dir, this.#options.unstored);
    await this.#replica.catchUp();
    return this.#replica;
  }

  #watchPorts(): void {
    this.#destroyed.watch(this.#fleet.active.flatMap(({ squid }) => squid.ports));
  }

  /**
   * A decider reports revoked connections each second until they are closed; left open ones, once.
   */
  #close(revoked: readonly Revoked[], over = 0): void {
    const { config, log } = this.#options;
    const closes = config.on_revoke === 'close';
    for (const revocation of revoked) {
      if (closes && !this.#connections.revoke(revocation.connection)) continue;
      log.info({ ...revocation, closed: closes }, 'a connection is revoked');
    }
    if (over > 0) {
      log.info({ connections: over }, 'revoked connections have ended, or are allowed again');
    }
    if (closes) this.#startKilling(revoked.map(({ connection }) => connection));
  }

  #closeSuspects(squid: number, connections: readonly string[]): void {
    const { config, log } = this.#options;
    if (config.on_revoke === 'leave') return;
    log.warn({ squid, connections }, 'connections without an owner are closed');
    this.#startKilling(connections);
  }

  /** Clients without an admitted request must not take a Squid's descriptors from the others. */
  #closeWaiting(sockets: readonly Socket[]): void {
    const caps = connectionCaps(this.#options.config.caps);
    for (const { squid, waiting, knowsOwners } of this.#fleet.active) {
      // After the agent's start no owners are known, until a decider has reported them.
      if (!knowsOwners) continue;
      const ports = new Set(squid.ports);
      const ofSquid = sockets
        .filter(({ port }) => ports.has(port))
        .map(({ connection }) => connection);
      const isWaiting = (connection: string) => this.#connections.stateOf(connection) === 'unowned';
      const tooMany = waiting.tooMany(ofSquid, isWaiting, caps);
      if (tooMany.length === 0) continue;
      this.#options.log.warn(
        { squid: squid.number, connections: tooMany.length },
        'too many connections wait without an admitted request: the oldest are closed',
      );
      this.#startKilling(tooMany);
    }
  }

  /** Resolves when they are closed. Errors: the kernel's, which also become a fault. */
  async #kill(named: readonly string[]): Promise<void> {
    const ports = new Set(this.#fleet.workers.flatMap(({ squid }) => squid.ports));
    // The names come from deciders, and must not lead to other connections of this machine.
    const connections = named.filter((name) =>
      ports.has(Number(name.slice(name.lastIndexOf('>') + 1))),
    );
    if (connections.length === 0) return;
    try {
      await killSockets(connections, this.#options.config.listen_host);
      this.#closingFault = undefined;
    } catch (error) {
      this.#closingFault = `Connections cannot be closed: ${(error as Error).message}.`;
      this.#options.log.error({ err: error }, 'closing connections failed');
      throw error;
    }
  }

  /** Does not wait for the kernel, which would delay the next change. */
  #startKilling(named: readonly string[]): void {
    this.#kill(named).catch(() => {});
  }

  // ---- Traffic ----------------------------------------------------------------------------

  async poll(
    cursor: unknown,
    stored: Stored = { cursor, counted: new Map() },
    isExtra = false,
  ): Promise<Poll> {
    const { workers, active } = this.#fleet;
    const { clock } = this.#options;
    const dead = this.#stopped?.destroyed
      ? workers
      : active.filter((worker) => worker.dead_since !== undefined && !worker.isSettled);
    const squids = workers.map((worker) => this.#tracked(worker));
    const poll = await this.#connections.poll(cursor, squids, clock.now(), stored, isExtra);
    const destroyed = dead.length > 0 ? this.#destroyedSockets() : new Map<string, Socket>();
    for (const worker of dead) {
      poll.finished.push(...this.#connections.died(this.#tracked(worker), destroyed, clock.now()));
      worker.isSettled = true;
    }
    if (this.#stopped) return poll;
    this.#tidy(stored.cursor);
    return poll;
  }

  #destroyedSockets(): ReadonlyMap<string, Socket> {
    return this.#stopped ? (this.#stopped.destroyed ?? new Map()) : this.#destroyed.recent();
  }

  #tracked(worker: Worker): TrackedSquid {
    const { squid, meter, link } = worker;
    return {
      number: squid.number,
      log: meter,
      ports: squid.listeners && squid.ports,
      tls_ports: squid.tls_ports,
      start: squid.start_id,
      destroyed: this.#destroyedAtStart.get(squid.number),
      sendList: async (listed, take) => {
        // A Squid that should not run has no connections.
        if (!this.#fleet.active.includes(worker)) return true;
        try {
          await link.takeList(listed, take);
          worker.fault = undefined;
          worker.knowsOwners = true;
          return true;
        } catch (error) {
          // The other owners come with a later list.
          this.#noteSilence(worker, error);
          return false;
        }
      },
    };
  }

  /** Tidies files. Errors are only logged: the counts are already taken, and must not be lost. */
  #tidy(cursor: unknown): void {
    try {
      this.#destroyed.bound();
      this.#rotate(cursor);
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'the files with the counts of Squid cannot be shortened or rotated',
      );
    }
  }

  /** Rotates logs whose lines are read and stored, up to the cursor. */
  #rotate(cursor: unknown): void {
    const logs = cursorOfSquids(cursor)?.logs ?? {};
    for (const { meter, squid } of this.#fleet.active) {
      if (!meter.mayRotate(maxMeterBytes, logs[meter.path])) continue;
      meter.rotate();
      squid.reopenLogs();
    }
  }
}

/** The facts by which connections to a listener are grouped, next to their user. */
function factsOf(connection: string, { exit_ip, tls }: Listener) {
  return { service: tls ? 'proxy-https' : 'proxy', address: sourceOf(connection), exit_ip };
}

/**
 * Checks a listener from a decider, which becomes part of a configuration. Errors: it is invalid.
 */
function soundListener(listener: Listener): Listener {
  const { port, exit_ip, tls } = listener;
  if (Number.isInteger(port) && isIP(exit_ip) !== 0 && typeof tls === 'boolean') return listener;
  throw new Error('A decider sent an invalid listener.');
}

/** The lowest position; undefined if any is undefined. */
function lowest(positions: ReadonlyArray<Position | undefined>): Position | undefined {
  let least = positions[0];
  for (const position of positions) {
    if (!position || !least) return undefined;
    if (position.revision < least.revision) least = position;
  }
  return least;
}
