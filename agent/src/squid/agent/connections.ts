// The client connections of this node's Squids: all that the agent knows of each, from its first request to its last byte.
//
// The owner of a connection is the authority by which a decider let it in: it says who pays for the
// bytes, and when the connection must be closed. Three sources speak of a connection, by its name
// `SOURCE:PORT>LOCALPORT`:
//   - the kernel's list, each second: which connections there are, and their bytes so far;
//   - the deciders, Squid's helper processes that hold the policy: the owners. They hear each list,
//     and have their own half of what is known (decider/connections.ts);
//   - Squid's log: the exact bytes of each request or tunnel that is over, and who pays for them.
//
//                the kernel lists it             a decider died
//   (unknown) ──────────────────────► unowned ────────────────────► suspect ──3 lists──► closed
//       │                                │                             │
//       │ a leaving decider              │ a decider tells its owner   │ a decider tells its owner
//       │ tells its owner                ▼                             │
//       └───────────► unlisted ───────► open ◄─────────────────────────┘
//                        the kernel      │
//                        lists it        │ revoked
//                                        ▼
//                                     closing
//
//   From each of these, when the kernel lists it no more:
//       ──► ended      if bytes of it were counted ahead: until its line in the log corrects them
//       ──► unlisted   if its owner is known: until a decider has responded to such a list
//       ──► (unknown)  otherwise, and after that
import type { Finished, Poll, Traffic } from '../../engine.ts';
import type { Authority } from '../../policy/decide.ts';
import type { Opened } from '../protocol.ts';
import type { Socket } from '../sockets.ts';
import type { LogPosition, MeterLog } from './meter_log.ts';

export type State =
  /** A decider let it in; the kernel's list does not show it: not yet, or no longer. */
  | 'unlisted'
  /** Listed without an owner: most likely no request was let in on it yet. */
  | 'unowned'
  /** Without an owner, and a decider died that may have let it in: since it could never be revoked, it is closed. */
  | 'suspect'
  /** Listed, and its owner is known. */
  | 'open'
  /** Revoked: the kernel was told to close it, and lists it still. */
  | 'closing'
  /** Gone. Bytes of it were counted ahead; its line in the log, which is to come, says how many there were. */
  | 'ended';

interface Connection {
  state: State;
  /** The number of its Squid. */
  squid: number;
  /** As a decider told last. */
  owner: Authority | undefined;
  /** A leaving decider told its owner: the next list may be from before the connection. */
  isAnnounced: boolean;
  /** As the kernel listed it last; undefined while unlisted. */
  socket: Socket | undefined;
  /** Bytes of its requests that are over, billed or not. */
  base: Bytes;
  /** The bytes of its request that is not over, as the last poll told them. */
  ahead: Traffic | undefined;
  /** Lists that it has been a suspect in, or polls since it ended. */
  waited: number;
}

interface Bytes {
  up: number;
  down: number;
}

/** A Squid, as far as its connections are concerned. */
export interface TrackedSquid {
  readonly number: number;
  readonly log: MeterLog;
  /** The ports that it listens on. Undefined: not known yet. */
  readonly ports: readonly number[] | undefined;
  readonly tls_ports: ReadonlySet<number>;
  /**
   * Tells its deciders which connections are listed, and hands the owners that they tell to `take`.
   * False: no decider responded, and no connection may be forgotten by this list.
   */
  tellDeciders(listed: string[], take: (owners: Opened) => void): Promise<boolean>;
}

/** Stored with what was counted: how far each log was read, and what was logged of connections that live on. */
interface Cursor {
  logs: Record<string, LogPosition>;
  bases: Record<string, [cookie: string, up: number, down: number]>;
}

/** The kernel counts TLS bytes; the bytes inside are a little less, and the first ones are the handshake. */
const tls_share = 0.97;
const tls_handshake_bytes = 8192;
/** A Squid's death is noticed a moment after it: by then a few polls have read its log. */
const polls_lately = 5;
/** After so many polls the line of a connection that ended is not waited for any more. */
const longest_wait_for_line = 30;
/** Lists after a decider's death in which suspects are looked for: the first may be from just before it. */
const searched_lists = 2;
/** In so many lists a decider may tell the owner of a suspect: the next decider responds within one. */
const most_lists_of_suspect = 3;

export class Connections {
  readonly #listSockets: (ports: readonly number[]) => Promise<Socket[]>;
  readonly #closeSuspects: (squid: number, connections: string[]) => void;
  /** Those that have not ended, by name. */
  readonly #live = new Map<string, Connection>();
  /** Those in the state `ended`, by name: another one may have the name already. */
  readonly #ended = new Map<string, Connection>();
  /** By Squid: lists in which suspects are still to be looked for. */
  readonly #searches = new Map<number, number>();
  /** From a stored cursor, until the kernel has listed the connections again. */
  #stored: Cursor['bases'] | undefined;
  /** The connections of which the last polls found lines, the newest first. */
  #lately: ReadonlySet<string>[] = [];

  constructor(options: {
    listSockets: (ports: readonly number[]) => Promise<Socket[]>;
    /** Called for the suspects whose time is over, at each list until they are gone. */
    closeSuspects: (squid: number, connections: string[]) => void;
  }) {
    this.#listSockets = options.listSockets;
    this.#closeSuspects = options.closeSuspects;
  }

  /** Undefined: unknown. */
  stateOf(connection: string): State | undefined {
    return (this.#live.get(connection) ?? this.#ended.get(connection))?.state;
  }

  // ---- Deciders ---------------------------------------------------------------------------

  /** Notes the owners that a leaving decider tells. */
  announce(squid: number, owners: Opened): void {
    this.#setOwners(squid, owners);
    for (const [connection] of owners) {
      const one = this.#live.get(connection);
      if (one) one.isAnnounced = true;
    }
  }

  /** The connections of a Squid whose owners are known. */
  owners(squid: number): Opened {
    return [...this.#live].flatMap(([connection, { squid: number, owner }]) =>
      number === squid && owner ? [[connection, owner] as [string, Authority]] : [],
    );
  }

  /** Has the next lists searched for suspects: a decider is gone that did not tell the owners it knew. */
  search(squid: number): void {
    this.#searches.set(squid, searched_lists);
  }

  /** Notes that a connection is revoked and about to be closed; false when that was known. */
  revoke(connection: string): boolean {
    const one = this.#live.get(connection);
    if (one?.state === 'closing') return false;
    if (one?.socket) one.state = 'closing';
    return true;
  }

  #setOwners(squid: number, owners: Opened): void {
    for (const [connection, owner] of owners) {
      const one = this.#live.get(connection);
      if (!one) {
        this.#live.set(connection, create(squid, { owner }));
        continue;
      }
      one.owner = owner;
      if (one.state === 'unowned' || one.state === 'suspect') one.state = 'open';
    }
  }

  /** Tells a Squid's deciders the list that was taken, and takes their response. */
  async #tellDeciders(squid: TrackedSquid, isExtra: boolean): Promise<void> {
    const { number, ports } = squid;
    // An empty list would have them forget all that is open.
    if (!ports) return;
    const listed = [...this.#live].flatMap(([connection, one]) =>
      one.squid === number && one.socket ? [connection] : [],
    );
    const take = (owners: Opened) => this.#setOwners(number, owners);
    if (!(await squid.tellDeciders(listed, take))) return;
    for (const [connection, one] of this.#live) {
      if (one.squid !== number) continue;
      if (one.state === 'unlisted' && !one.isAnnounced) this.#live.delete(connection);
      one.isAnnounced = false;
    }
    const overdue = isExtra ? [] : this.#countSuspects(number);
    if (overdue.length > 0) this.#closeSuspects(number, overdue);
  }

  /** Searches a list for suspects, and counts it for those that are known; returns those to close. */
  #countSuspects(squid: number): string[] {
    const searches = this.#searches.get(squid) ?? 0;
    if (searches > 0) this.#searches.set(squid, searches - 1);
    const overdue: string[] = [];
    for (const [connection, one] of this.#live) {
      if (one.squid !== squid || !one.socket || one.owner) continue;
      if (one.state === 'suspect') {
        one.waited += 1;
        if (one.waited >= most_lists_of_suspect) overdue.push(connection);
      } else if (searches > 0) {
        one.state = 'suspect';
        one.waited = 0;
      }
    }
    return overdue;
  }

  // ---- Traffic ----------------------------------------------------------------------------

  /** The traffic since the cursor. One call at a time; those that are extra count for no waiting. */
  async poll(
    cursor: unknown,
    squids: readonly TrackedSquid[],
    now: number,
    isExtra = false,
  ): Promise<Poll> {
    const { logs, bases } = (cursor ?? { logs: {}, bases: {} }) as Cursor;
    this.#stored ??= bases;
    const finished: Finished[] = [];
    const logged = new Map<string, Bytes>();
    // The log first: a request that ends after it was read is still listed, or read at the next poll.
    const positions = this.#readLogs(squids, logs, finished, logged);
    const lately = isExtra ? [...(this.#lately[0] ?? []), ...logged.keys()] : logged.keys();
    this.#lately = [
      new Set(lately),
      ...this.#lately.slice(isExtra ? 1 : 0, isExtra ? polls_lately : polls_lately - 1),
    ];
    const sockets = await this.#listSockets(squids.flatMap(({ ports }) => ports ?? []));
    this.#takeList(squids, sockets, logged);
    if (!isExtra) this.#giveUp(finished, now);
    await Promise.all(squids.map((squid) => this.#tellDeciders(squid, isExtra)));
    const tls = new Set(squids.flatMap(({ tls_ports }) => Array.from(tls_ports)));
    const open: Traffic[] = [];
    for (const [connection, one] of this.#live) {
      if (this.#ended.has(connection)) continue;
      one.ahead = openTraffic(one, tls);
      if (one.ahead) open.push(one.ahead);
    }
    return { finished, open, cursor: { logs: positions, bases: this.#bases() } };
  }

  /**
   * Counts to their end the connections of a Squid that died: by what the kernel said when it
   * destroyed them, or by what it last listed. Call it after a poll that began after the death.
   */
  died(squid: TrackedSquid, destroyed: ReadonlyMap<string, Socket>, now: number): Finished[] {
    for (const [connection, last] of destroyed) {
      const { socket, owner } = this.#ended.get(connection) ?? this.#live.get(connection) ?? {};
      // It came after the last poll. One that is in the log is over, and counted by its line.
      const isYoung = !socket && !this.#lately.some((names) => names.has(connection));
      if (!isYoung || !squid.ports?.includes(last.port)) continue;
      this.#live.set(connection, create(squid.number, { owner, socket: { ...last, up: 0 } }));
    }
    const finished: Finished[] = [];
    for (const all of [this.#live, this.#ended]) {
      for (const [connection, one] of all) {
        if (one.squid !== squid.number) continue;
        all.delete(connection);
        const last = destroyed.get(connection);
        if (one.socket && last?.cookie === one.socket.cookie) {
          // The client's end, which comes in response to Squid's, looks like a byte: rather one too few.
          one.socket = { ...last, up: Math.max(one.socket.up, last.up - 1) };
        }
        const final = openTraffic(one, squid.tls_ports) ?? one.ahead;
        if (final) finished.push({ ...final, at: now });
      }
    }
    return finished;
  }

  #readLogs(
    squids: readonly TrackedSquid[],
    logs: Cursor['logs'],
    finished: Finished[],
    logged: Map<string, Bytes>,
  ): Cursor['logs'] {
    const positions: Cursor['logs'] = {};
    for (const { log } of squids) {
      const { lines, position } = log.read(logs[log.path]);
      if (position) positions[log.path] = position;
      for (const { connection, owner, up, down, at } of lines) {
        const one = this.#ended.get(connection) ?? this.#live.get(connection);
        const ahead = one?.ahead;
        // Bytes that were counted ahead for another user, or turn out to be billed to none, are taken back.
        const isOthers = ahead && (ahead.account !== owner?.account || ahead.user !== owner.user);
        if (isOthers) finished.push({ ...ahead, up: 0, down: 0, at });
        if (owner) finished.push({ connection, ...owner, up, down, at });
        // The first line after a connection ended is that connection's last.
        if (this.#ended.delete(connection)) continue;
        logged.set(connection, sum({ up, down }, logged.get(connection)));
        if (!one) continue;
        one.base = sum(one.base, { up, down });
        one.ahead = undefined;
      }
    }
    return positions;
  }

  /** Takes the kernel's list. */
  #takeList(
    squids: readonly TrackedSquid[],
    sockets: readonly Socket[],
    logged: ReadonlyMap<string, Bytes>,
  ): void {
    const squidOf = new Map(
      squids.flatMap(({ number, ports = [] }) => ports.map((port) => [port, number])),
    );
    const missing = new Map(this.#live);
    for (const socket of sockets) {
      const { connection, cookie, port } = socket;
      const squid = squidOf.get(port) ?? 0;
      const known = missing.get(connection);
      missing.delete(connection);
      if (known?.socket?.cookie === cookie) {
        Object.assign(known, { socket, squid });
        continue;
      }
      if (known) this.#end(connection, known);
      const [of, up = 0, down = 0] = this.#stored?.[connection] ?? [];
      const stored = of === cookie ? { up, down } : undefined;
      // Lines of an earlier connection of this name may be among those logged: then it is told a little late.
      const base = sum(stored, logged.get(connection));
      const { owner, isAnnounced } = known ?? {};
      this.#live.set(connection, create(squid, { owner, isAnnounced, socket, base }));
    }
    for (const [connection, one] of missing) {
      if (!one.socket) continue;
      this.#end(connection, one);
      const { squid, owner, isAnnounced } = one;
      if (owner) this.#live.set(connection, create(squid, { owner, isAnnounced }));
      else this.#live.delete(connection);
    }
    if (squids.every(({ ports }) => ports)) this.#stored = {};
  }

  /** The connection is gone. Bytes of it that were counted ahead have a line in the log that is to come. */
  #end(connection: string, one: Connection): void {
    if (one.ahead) this.#ended.set(connection, { ...one, state: 'ended', waited: 0 });
  }

  /** A connection whose line never came counts as it was counted ahead. */
  #giveUp(finished: Finished[], now: number): void {
    for (const [connection, one] of this.#ended) {
      one.waited += 1;
      if (one.waited <= longest_wait_for_line) continue;
      this.#ended.delete(connection);
      if (one.ahead) finished.push({ ...one.ahead, at: now });
    }
  }

  #bases(): Cursor['bases'] {
    const bases: Cursor['bases'] = { ...this.#stored };
    for (const [connection, { socket, base }] of this.#live) {
      // A tunnel is a connection's only request: nothing was logged of it before.
      if (socket && base.up + base.down > 0) {
        bases[connection] = [socket.cookie, base.up, base.down];
      }
    }
    return bases;
  }
}

type Found = Partial<Pick<Connection, 'owner' | 'isAnnounced' | 'socket' | 'base'>>;

/** A connection that a list shows, by its socket, or whose owner a decider told. */
function create(squid: number, found: Found): Connection {
  const { owner, socket, isAnnounced = false, base = sum() } = found;
  const state = socket === undefined ? 'unlisted' : owner ? 'open' : 'unowned';
  return { state, squid, owner, isAnnounced, socket, base, ahead: undefined, waited: 0 };
}

/** The bytes of a connection's request that is not over; undefined when there are none, or no owner pays. */
function openTraffic(
  { owner, base, socket }: Connection,
  tls_ports: ReadonlySet<number>,
): Traffic | undefined {
  if (!socket || !owner || owner.by === 'probe') return undefined;
  const { account, user } = owner;
  const isTls = tls_ports.has(socket.port);
  const payload = (bytes: number) =>
    isTls ? Math.floor(bytes * tls_share) - tls_handshake_bytes : bytes;
  const up = Math.max(0, payload(socket.up) - base.up);
  const down = Math.max(0, payload(socket.down) - base.down);
  return up + down > 0 ? { connection: socket.connection, account, user, up, down } : undefined;
}

function sum(...all: Array<Bytes | undefined>): Bytes {
  const total = { up: 0, down: 0 };
  for (const bytes of all) {
    total.up += bytes?.up ?? 0;
    total.down += bytes?.down ?? 0;
  }
  return total;
}
