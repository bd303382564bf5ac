// The client connections of this node's Squids: everything that the agent knows of each, from the
// first request to the last byte.
import type { Finished, Poll, Stored, Traffic } from '../../engine.ts';
import type { Authority } from '../../policy/decision.ts';
import type { Opened } from '../protocol.ts';
import { boot, type Socket } from '../sockets.ts';
import { Claims } from './claims.ts';
import {
  type Bytes,
  beyond,
  type Connection,
  create,
  larger,
  list,
  openTraffic,
  type State,
  sum,
  type TrackedSquid,
} from './connection.ts';
import { basesOf, type Cursor, cursorOfSquids, isSame, leave, restore } from './cursor.ts';
import type { MeterLine } from './meter_log.ts';

/** The death of a Squid is noticed late: this many polls may have read its log by then. */
const recentPolls = 5;
/**
 * How long to wait for the line of an ended connection. Squid writes it when the other end is
 * closed; on a full disk, never.
 */
const longestWaitSeconds = 600;
/**
 * The number of lists after a decider's death that are searched for suspects: the first may be
 * older than the death.
 */
const searchedLists = 2;
/** A suspect is closed after this many lists. A new decider needs one to report its owner. */
const maxListsOfSuspect = 3;

/** A connection on the kernel's list, with an owner. */
type Listed = Connection & { socket: Socket; owner: Authority };

const isListed = (connection: Connection): connection is Listed =>
  connection.socket !== undefined && connection.owner !== undefined;

export class Connections {
  readonly #listSockets: (ports: readonly number[]) => Promise<Socket[]>;
  readonly #closeSuspects: (squid: number, connections: string[]) => void;
  /** Connections that have not ended, by name. */
  #live = new Map<string, Connection>();
  /** Connections in the state `ended`, by name. A live one may already have the same name. */
  #ended = new Map<string, Connection>();
  /** By Squid: how many more lists are searched for suspects. */
  readonly #searches = new Map<number, number>();
  /** The logs and sockets at the engine's start: a new journal begins after them. */
  #journalStart: { logs: Cursor['logs']; sockets: Socket[] } = { logs: {}, sockets: [] };
  /** The cursor of the last poll, which the state here belongs to. */
  #lastCursor: Cursor | undefined;
  /** From the last polls, newest first: by name, bytes of lines without a listed connection. */
  #recentLines: Map<string, Bytes & { squid: number }>[] = [];
  /** From the last lists, newest first: by name, vanished connections with no bytes ahead. */
  #gone: Map<string, Connection>[] = [];
  readonly #claims: Claims;
  readonly #onLine: (line: MeterLine) => void;
  readonly #onLost: (name: string, connection: Connection, traffic: Traffic) => void;
  #isImplausible = false;
  /**
   * The cookies of destroyed sockets that were counted with a dead Squid. No later Squid had those
   * connections.
   */
  readonly #countedCookies = new Set<string>();

  constructor(options: {
    listSockets: (ports: readonly number[]) => Promise<Socket[]>;
    /** Called with the suspects to close, at each list until they are gone. */
    closeSuspects: (squid: number, connections: string[]) => void;
    /**
     * The bytes that the machine sent and received since it booted; undefined: not known, and lines
     * are not bounded.
     */
    carried?: () => number | undefined;
    /** Called with each line that counts. */
    onLine?: (line: MeterLine) => void;
    /** Called for a connection with traffic that no line reports: its Squid died. */
    onLost?: (name: string, connection: Connection, traffic: Traffic) => void;
  }) {
    this.#claims = new Claims(options.carried ?? (() => undefined));
    this.#listSockets = options.listSockets;
    this.#closeSuspects = options.closeSuspects;
    this.#onLine = options.onLine ?? (() => {});
    this.#onLost = options.onLost ?? (() => {});
  }

  /** Undefined: unknown. */
  stateOf(name: string): State | undefined {
    return (this.#live.get(name) ?? this.#ended.get(name))?.state;
  }

  /** Whether lines with impossible claims were left out since the agent started. */
  get isImplausible(): boolean {
    return this.#isImplausible;
  }

  // ---- Deciders ---------------------------------------------------------------------------

  /** Notes the owners that a leaving decider reports. */
  announce(squid: number, owners: Opened): void {
    this.#setOwners(squid, owners);
    for (const [name] of owners) {
      const connection = this.#live.get(name);
      if (connection) connection.isAnnounced = true;
    }
  }

  /** The connections with an owner that the kernel listed last, by name. */
  *listed(): Generator<[name: string, Listed]> {
    for (const [name, connection] of this.#live) {
      if (isListed(connection)) yield [name, connection];
    }
  }

  /** The connections of a Squid with a known owner. */
  owners(squid: number): Opened {
    return [...this.#live].flatMap(([name, { squid: number, owner }]) =>
      number === squid && owner ? [[name, owner] as [string, Authority]] : [],
    );
  }

  /** Searches the next lists for suspects: a decider died without reporting its owners. */
  search(squid: number): void {
    this.#searches.set(squid, searchedLists);
  }

  /** Notes that a connection is revoked and will be closed; false if it already was. */
  revoke(name: string): boolean {
    const connection = this.#live.get(name);
    if (connection?.state === 'closing') return false;
    if (connection?.socket) connection.state = 'closing';
    return true;
  }

  #setOwners(squid: number, owners: Opened): void {
    for (const [name, owner] of owners) {
      const connection = this.#live.get(name);
      if (!connection) {
        this.#live.set(name, create(squid, { owner }));
        continue;
      }
      connection.owner = owner;
      if (connection.state === 'unowned' || connection.state === 'suspect')
        connection.state = 'open';
    }
  }

  /** Sends a Squid's deciders the current list, and applies their response. */
  async #sendList(squid: TrackedSquid, isExtra: boolean): Promise<void> {
    const { number, ports } = squid;
    // The ports are unknown. An empty list would make the deciders drop all open connections.
    if (!ports) return;
    const listed = [...this.#live].flatMap(([name, connection]) =>
      connection.squid === number && connection.socket ? [name] : [],
    );
    const take = (owners: Opened) => this.#setOwners(number, owners);
    if (!(await squid.sendList(listed, take))) return;
    for (const [name, connection] of this.#live) {
      if (connection.squid !== number) continue;
      if (connection.state === 'unlisted' && !connection.isAnnounced) this.#live.delete(name);
      connection.isAnnounced = false;
    }
    const overdue = isExtra ? [] : this.#countSuspects(number);
    if (overdue.length > 0) this.#closeSuspects(number, overdue);
  }

  /** Finds new suspects on a list, and counts it for earlier ones; returns those to close. */
  #countSuspects(squid: number): string[] {
    const searches = this.#searches.get(squid) ?? 0;
    if (searches > 0) this.#searches.set(squid, searches - 1);
    const overdue: string[] = [];
    for (const [name, connection] of this.#live) {
      if (connection.squid !== squid || !connection.socket || connection.owner) continue;
      if (connection.state === 'suspect') {
        connection.waited += 1;
        if (connection.waited >= maxListsOfSuspect) overdue.push(name);
      } else if (searches > 0) {
        connection.state = 'suspect';
        connection.waited = 0;
      }
    }
    return overdue;
  }

  // ---- Traffic ----------------------------------------------------------------------------

  /** To be called once, at the engine's start, before any traffic is reported. */
  async begin(squids: readonly TrackedSquid[], now?: number): Promise<void> {
    const sockets = await this.#listSockets(squids.flatMap(({ ports }) => ports ?? []));
    const logs: Cursor['logs'] = {};
    for (const { log } of squids) {
      const end = await log.end(now);
      if (end) logs[log.path] = end;
    }
    this.#journalStart = { logs, sockets };
  }

  /**
   * The traffic since the cursor. One call at a time. Extra polls do not count for suspects. After
   * an error, the next call reports the traffic.
   */
  async poll(
    cursor: unknown,
    squids: readonly TrackedSquid[],
    now: number,
    stored: Pick<Stored, 'counted'> = { counted: new Map() },
    isExtra = false,
  ): Promise<Poll> {
    const from = cursorOfSquids(cursor);
    const isNext = this.#lastCursor !== undefined && isSame(from, this.#lastCursor);
    const logs = from?.logs ?? this.#journalStart.logs;
    const starts = squids.map(({ start }) => start);
    // The log is read before the list, so a request that ends in between is not missed: its line is
    // read at the next poll.
    const parts = await Promise.all(squids.map(({ log }) => log.read(logs[log.path], now)));
    const sockets = await this.#listSockets(squids.flatMap(({ ports }) => ports ?? []));
    if (!isNext) {
      this.#restore(from, squids, stored);
      const newest = Math.max(0, ...Object.values(logs).map((log) => log.newest));
      // A new journal begins with this agent.
      this.#claims.begin(now - newest, !from || from.boot === boot, from?.carried);
    }
    this.#claims.look(now);
    const finished: Finished[] = [];
    const logged = new Map<string, Bytes>();
    const others = [isExtra ? 1 : 0, isExtra ? recentPolls : recentPolls - 1] as const;
    const recent = new Map(isExtra ? this.#recentLines[0] : []);
    this.#recentLines = [recent, ...this.#recentLines.slice(...others)];
    this.#gone = [new Map(isExtra ? this.#gone[0] : []), ...this.#gone.slice(...others)];
    const positions: Cursor['logs'] = {};
    for (const [index, { entries, position }] of parts.entries()) {
      const squid = squids[index] as TrackedSquid;
      const ofSquid = new Set<string>();
      if (position) positions[squid.log.path] = position;
      for (const entry of entries) {
        if ('start' in entry) {
          const destroyed = entry.start === squid.start ? squid.destroyed : undefined;
          finished.push(...this.#finish(squid, destroyed, entry.at));
          // Lines of a dead Squid do not belong to any listed connection.
          for (const connection of ofSquid) logged.delete(connection);
        } else {
          const { connection } = entry;
          ofSquid.add(connection);
          if (this.#takeLine(entry, finished, logged)) continue;
          recent.set(connection, { ...sum(recent.get(connection), entry), squid: squid.number });
        }
      }
    }
    // If a Squid was started meanwhile, the lines of listed connections may come later.
    const listed = squids.filter(({ ports, start }, index) => ports && start === starts[index]);
    this.#takeList(listed, sockets, logged, now);
    this.#giveUp(finished, now);
    await Promise.all(listed.map((squid) => this.#sendList(squid, isExtra)));
    const tls = new Set(squids.flatMap(({ tls_ports }) => Array.from(tls_ports)));
    const open: Traffic[] = [];
    for (const [name, connection] of this.#live) {
      if (this.#ended.has(name)) continue;
      // Reported bytes stay reported until their line comes.
      connection.ahead = openTraffic(connection, tls) ?? connection.ahead;
      if (connection.ahead) open.push(connection.ahead);
    }
    const withoutStart = [...this.#ended].filter(([, { isLeft }]) => isLeft);
    // A new cursor is written to disk, so on an idle machine it must not change.
    const isIdle = parts.every(({ entries }) => entries.length === 0);
    const carried = isIdle ? (from as Cursor | undefined)?.carried : this.#claims.carried;
    this.#lastCursor = { logs: positions, bases: basesOf(withoutStart, this.#live), boot, carried };
    return { finished, open, cursor: this.#lastCursor };
  }

  /** Counts a dead Squid's connections to their end. To be called after a poll since its death. */
  died(squid: TrackedSquid, destroyed: ReadonlyMap<string, Socket>, now: number): Finished[] {
    const finished = this.#finish(squid, destroyed, now);
    for (const [name, { squid: number }] of this.#live) {
      if (number === squid.number) this.#live.delete(name);
    }
    return finished;
  }

  /**
   * Counts and drops the connections of a dead Squid, by the kernel's last counts of its sockets
   * (`destroyed`), or else by its last list.
   */
  #finish(squid: TrackedSquid, destroyed: TrackedSquid['destroyed'], now: number): Finished[] {
    this.#addYoung(squid, destroyed ?? new Map());
    // The next Squid's connections may have the same names.
    for (const names of this.#recentLines) {
      for (const [name, line] of names) if (line.squid === squid.number) names.delete(name);
    }
    const finished: Finished[] = [];
    for (const all of [this.#live, this.#ended, ...this.#gone]) {
      for (const [name, connection] of all) {
        const { socket, owner, isAnnounced } = connection;
        if (connection.squid !== squid.number || !socket) continue;
        all.delete(name);
        // Without the kernel's counts, this Squid died earlier. The owner may be that of the next
        // connection of this name, with a later Squid.
        const next = { owner, isAnnounced, over: socket.cookie };
        if (!destroyed && owner && all === this.#live) {
          all.set(name, create(connection.squid, next));
        }
        const last = destroyed?.get(socket.cookie);
        // The kernel counts the client's FIN as a byte. Rather one byte too few.
        if (last) connection.socket = { ...last, up: Math.max(socket.up, last.up - 1) };
        else if (all !== this.#live && !connection.ahead) continue;
        const final = openTraffic(connection, squid.tls_ports) ?? connection.ahead;
        if (!final) continue;
        finished.push({ ...final, at: now });
        this.#onLost(name, connection, final);
      }
    }
    return finished;
  }

  /**
   * Adds the connections of a dead Squid that began after the last poll, each with the bytes of its
   * name's lines.
   */
  #addYoung(squid: TrackedSquid, destroyed: ReadonlyMap<string, Socket>): void {
    const newest = new Map<string, Socket>();
    for (const last of destroyed.values()) {
      if (!squid.ports?.includes(last.port) || this.#countedCookies.has(last.cookie)) continue;
      this.#countedCookies.add(last.cookie);
      newest.set(last.connection, last);
    }
    for (const [name, last] of newest) {
      const { socket, owner, base = sum(), over } = this.#live.get(name) ?? {};
      if (socket || over === last.cookie) continue;
      const lines = this.#recentLines.flatMap((names) => names.get(name) ?? []);
      // TLS adds an unknown number of bytes to those of a line.
      if (lines.length > 0 && squid.tls_ports.has(last.port)) continue;
      const ended = [this.#ended, ...this.#gone].map((all) => all.get(name)?.socket?.cookie);
      if (ended.includes(last.cookie)) continue;
      const young = { owner, base: larger(base, sum(...lines)), socket: { ...last, up: 0 } };
      this.#live.set(name, create(squid.number, young));
    }
  }

  /** Starts again from the stored state, but keeps the owners. */
  #restore(
    from: Cursor | undefined,
    squids: readonly TrackedSquid[],
    { counted }: Pick<Stored, 'counted'>,
  ): void {
    const owned = [...this.#live].filter(([, { owner }]) => owner);
    const { live, ended } = from
      ? restore(from, counted.values())
      : { live: leave(this.#journalStart.sockets, squids), ended: new Map() };
    this.#recentLines = [];
    this.#gone = [];
    this.#live = new Map(live);
    this.#ended = new Map(ended);
    for (const [name, { squid, owner, isAnnounced }] of owned) {
      const connection = this.#live.get(name);
      if (connection) Object.assign(connection, { owner, isAnnounced, state: 'open' });
      else this.#live.set(name, create(squid, { owner, isAnnounced }));
    }
  }

  /** Applies a line; returns whether its connection is listed, or ended and waiting for it. */
  #takeLine(line: MeterLine, finished: Finished[], logged: Map<string, Bytes>): boolean {
    const { connection: name, owner, up, down, at } = line;
    const live = this.#live.get(name);
    const gone = live?.socket ? undefined : this.#gone.find((poll) => poll.has(name));
    const connection = this.#ended.get(name) ?? gone?.get(name) ?? live;
    const { ahead, isLeft, base = sum() } = connection ?? {};
    const rest = isLeft ? beyond({ up, down }, base) : { up, down };
    // If the line is left out, the kernel's own counts replace it.
    const counted = larger(beyond(connection?.socket ?? sum(), base), ahead ?? sum());
    if (owner && !this.#claims.admit(rest, counted)) {
      this.#isImplausible = true;
      return true;
    }
    this.#onLine(line);
    // Takes back bytes that were counted ahead for another user, or that are not billed after all.
    const isOwn = ahead && ahead.account === owner?.account && ahead.user === owner.user;
    if (ahead && !isOwn) finished.push({ ...ahead, up: 0, down: 0, at });
    const trafficName = isOwn ? ahead.connection : name;
    if (owner) finished.push({ connection: trafficName, ...owner, ...rest, at });
    // The first line after a connection's end is its last.
    if (this.#ended.delete(name)) return true;
    // A request that was counted ahead has no other line.
    if (!ahead) logged.set(name, sum({ up, down }, logged.get(name)));
    if (!connection) return false;
    // Part of this request was before the journal began. Rather too much is left out.
    connection.base = sum(connection.base, { up, down });
    connection.isLeft = false;
    connection.ahead = undefined;
    return live?.socket !== undefined;
  }

  /** Applies the kernel's list of these Squids. */
  #takeList(
    squids: readonly TrackedSquid[],
    sockets: readonly Socket[],
    logged: ReadonlyMap<string, Bytes>,
    now: number,
  ): void {
    const squidOf = new Map(
      squids.flatMap(({ number, ports = [] }) => ports.map((port) => [port, number])),
    );
    const numbers = new Set(squids.map(({ number }) => number));
    const missing = new Map(this.#live);
    for (const socket of sockets) {
      const { connection, cookie, port } = socket;
      const squid = squidOf.get(port);
      if (squid === undefined) continue;
      const previous = missing.get(connection);
      missing.delete(connection);
      if (previous?.socket?.cookie === cookie) {
        list(previous, socket, now);
        previous.squid = squid;
        continue;
      }
      if (previous) this.#end(connection, previous, now);
      // If these lines are from an earlier connection of this name, bytes are reported a little
      // late.
      const base = logged.get(connection);
      const { owner, isAnnounced } = previous ?? {};
      const created = create(squid, { owner, isAnnounced, socket, base });
      list(created, socket, now);
      this.#live.set(connection, created);
    }
    for (const [name, connection] of missing) {
      const { squid, owner, isAnnounced } = connection;
      if (!connection.socket || !numbers.has(squid)) continue;
      this.#end(name, connection, now);
      const next = { owner, isAnnounced, over: connection.socket.cookie };
      if (owner) this.#live.set(name, create(squid, next));
      else this.#live.delete(name);
    }
  }

  /** Ends a connection that is gone. If bytes were reported or left out, it waits for its line. */
  #end(name: string, connection: Connection, now: number): void {
    if (!connection.ahead && !connection.isLeft) this.#gone[0]?.set(name, connection);
    else this.#ended.set(name, { ...connection, state: 'ended', ended_at: now });
  }

  /** Stops waiting for lines that never come. The bytes counted ahead stand. */
  #giveUp(finished: Finished[], now: number): void {
    for (const [name, connection] of this.#ended) {
      connection.ended_at ??= now;
      if (now - connection.ended_at < longestWaitSeconds) continue;
      this.#ended.delete(name);
      if (!connection.ahead) continue;
      finished.push({ ...connection.ahead, at: now });
      this.#onLost(name, connection, connection.ahead);
    }
  }
}
