// What Squid's clients transferred: final counts from its log, interim and last ones from the kernel.
import type { Finished, Poll, Traffic } from '../engine.ts';
import type { LogPosition, MeterLog } from './meter_log.ts';
import type { Socket } from './sockets.ts';

export interface Owner {
  account: number;
  user: number;
}

/** One Squid: its log, the ports that it listens on, and which of them carry TLS. */
export interface Metered {
  log: MeterLog;
  ports: readonly number[];
  tls_ports: ReadonlySet<number>;
}

/** Stored with what was counted: how far each log was read, and what was logged of connections that live on. */
interface Cursor {
  logs: Record<string, LogPosition>;
  bases: Record<string, [cookie: string, up: number, down: number]>;
}

/** A client connection that the kernel knew at the last poll. */
interface Known {
  socket: Socket;
  owner: Owner | undefined;
  /** Bytes of its requests that are over, billed or not. */
  base_up: number;
  base_down: number;
  /** What was last told of its request that is not over. */
  open: Traffic | undefined;
}

/** The kernel counts TLS bytes; what they carry is a little less, and the first ones are the handshake. */
const tls_share = 0.97;
const tls_handshake_bytes = 8192;
/** Owners are told of what came since the last two polls; Squid's death is noticed a moment later. */
const polls_lately = 5;
/** So many polls a connection that is gone is waited for in the log. */
const patience = 30;

export class SquidTraffic {
  readonly #listSockets: (ports: readonly number[]) => Promise<Socket[]>;
  readonly #ownerOf: (connection: string) => Owner | undefined;
  #known = new Map<string, Known>();
  /** Gone from the kernel, told as open before, and not in the log yet. */
  readonly #awaited = new Map<string, { known: Known; polls: number }>();
  /** From a stored cursor, until the kernel shows the connections again. */
  #stored: Cursor['bases'] = {};
  #isRestored = false;
  /** The connections of which the last polls found lines, the newest first. */
  #lately: ReadonlySet<string>[] = [];

  constructor(options: {
    listSockets: (ports: readonly number[]) => Promise<Socket[]>;
    /** Whose connection it is, by the latest decision. */
    ownerOf: (connection: string) => Owner | undefined;
  }) {
    this.#listSockets = options.listSockets;
    this.#ownerOf = options.ownerOf;
  }

  /** What was transferred since the cursor, and which connections are over. One call at a time. */
  async poll(
    cursor: unknown,
    squids: readonly Metered[],
    now: number,
  ): Promise<Poll & { ended: Set<string> }> {
    const { logs, bases } = (cursor ?? { logs: {}, bases: {} }) as Cursor;
    if (!this.#isRestored) this.#stored = bases;
    this.#isRestored = true;
    const finished: Finished[] = [];
    const logged = new Map<string, { up: number; down: number }>();
    // The log first: what ends after it was read is still there, or told at the next poll.
    const positions = this.#readLogs(squids, logs, finished, logged);
    this.#lately = [new Set(logged.keys()), ...this.#lately.slice(0, polls_lately - 1)];
    const sockets = await this.#listSockets(squids.flatMap(({ ports }) => ports));
    const tls = new Set(squids.flatMap(({ tls_ports }) => Array.from(tls_ports)));
    const ended = this.#compare(sockets, logged, finished, now);
    const open: Traffic[] = [];
    for (const [connection, known] of this.#known) {
      if (this.#awaited.has(connection)) continue;
      known.owner = this.#ownerOf(connection) ?? known.owner;
      known.open = openTraffic(known, tls.has(known.socket.port));
      if (known.open) open.push(known.open);
    }
    return { finished, open, ended, cursor: { logs: positions, bases: this.#bases() } };
  }

  /**
   * Counts to their end the connections of a Squid that died: by what the kernel said when it
   * destroyed them, or by what it last knew. Call it after a poll that began after its death.
   */
  died(
    ports: readonly number[],
    destroyed: ReadonlyMap<string, Socket>,
    tls_ports: ReadonlySet<number>,
    now: number,
  ): Finished[] {
    const finished: Finished[] = [];
    const all = [
      ...this.#known,
      ...Array.from(this.#awaited, ([name, { known }]) => [name, known] as const),
    ];
    for (const [connection, known] of all) {
      if (!ports.includes(known.socket.port)) continue;
      this.#known.delete(connection);
      this.#awaited.delete(connection);
      const last = destroyed.get(connection);
      if (last?.cookie === known.socket.cookie) {
        // The client's end, which comes in answer to Squid's, looks like a byte: rather one too few.
        known.socket = { ...last, up: Math.max(known.socket.up, last.up - 1) };
      }
      const told = openTraffic(known, tls_ports.has(known.socket.port)) ?? known.open;
      if (told) finished.push({ ...told, at: now });
    }
    const counted = new Set(all.map(([connection]) => connection));
    for (const [connection, last] of destroyed) {
      if (!ports.includes(last.port) || counted.has(connection)) continue;
      // It came after the last poll. What is in the log is over, and counted by its line.
      if (this.#lately.some((names) => names.has(connection))) continue;
      const socket = { ...last, up: Math.max(0, last.up - 1) };
      const owner = this.#ownerOf(connection);
      const young = { socket, owner, base_up: 0, base_down: 0, open: undefined };
      const told = openTraffic(young, tls_ports.has(last.port));
      if (told) finished.push({ ...told, at: now });
    }
    return finished;
  }

  #readLogs(
    squids: readonly Metered[],
    logs: Cursor['logs'],
    finished: Finished[],
    logged: Map<string, { up: number; down: number }>,
  ): Cursor['logs'] {
    const positions: Cursor['logs'] = {};
    for (const { log } of squids) {
      const { lines, position } = log.read(logs[log.path]);
      if (position) positions[log.path] = position;
      for (const { connection, owner, up, down, at } of lines) {
        const awaited = this.#awaited.get(connection);
        const known = awaited?.known ?? this.#known.get(connection);
        const { open } = known ?? {};
        // What was told of it went to somebody else, or to nobody as it turns out: it is taken back.
        const isOthers = open && (open.account !== owner?.account || open.user !== owner.user);
        if (isOthers) finished.push({ ...open, up: 0, down: 0, at });
        if (owner) finished.push({ connection, ...owner, up, down, at });
        // The first line after a connection went is that connection's last.
        if (this.#awaited.delete(connection)) continue;
        const sum = logged.get(connection);
        logged.set(connection, { up: up + (sum?.up ?? 0), down: down + (sum?.down ?? 0) });
        if (known) {
          known.base_up += up;
          known.base_down += down;
          known.open = undefined;
        }
      }
    }
    return positions;
  }

  /** Takes the kernel's list; answers which connections are over. */
  #compare(
    sockets: readonly Socket[],
    logged: ReadonlyMap<string, { up: number; down: number }>,
    finished: Finished[],
    now: number,
  ): Set<string> {
    const before = this.#known;
    this.#known = new Map();
    for (const socket of sockets) {
      const known = before.get(socket.connection);
      if (known?.socket.cookie === socket.cookie) {
        known.socket = socket;
        this.#known.set(socket.connection, known);
        before.delete(socket.connection);
        continue;
      }
      const stored = this.#stored[socket.connection];
      const sum = logged.get(socket.connection);
      const isStored = stored?.[0] === socket.cookie;
      this.#known.set(socket.connection, {
        socket,
        owner: undefined,
        // Lines of an earlier connection of this name may be among them: then it is told a little late.
        base_up: (sum?.up ?? 0) + (isStored ? stored[1] : 0),
        base_down: (sum?.down ?? 0) + (isStored ? stored[2] : 0),
        open: undefined,
      });
    }
    this.#stored = {};
    for (const [connection, known] of before) {
      if (known.open) this.#awaited.set(connection, { known, polls: 0 });
    }
    this.#giveUp(finished, now);
    const ended = new Set([...before.keys(), ...logged.keys()]);
    for (const connection of this.#known.keys()) ended.delete(connection);
    return ended;
  }

  /** A connection whose line never came counts as it was last told. */
  #giveUp(finished: Finished[], now: number): void {
    for (const [connection, awaited] of this.#awaited) {
      awaited.polls += 1;
      if (awaited.polls <= patience) continue;
      this.#awaited.delete(connection);
      const { open } = awaited.known;
      if (open) finished.push({ ...open, at: now });
    }
  }

  #bases(): Cursor['bases'] {
    const bases: Cursor['bases'] = {};
    for (const [connection, { socket, base_up, base_down }] of this.#known) {
      // A tunnel is a connection's only request: nothing was logged of it before.
      if (base_up + base_down > 0) bases[connection] = [socket.cookie, base_up, base_down];
    }
    return bases;
  }
}

/** The bytes of a connection's request that is not over; undefined when there are none, or nobody owns them. */
function openTraffic(known: Known, tls: boolean): Traffic | undefined {
  const { socket, owner, base_up, base_down } = known;
  if (!owner) return undefined;
  const payload = (bytes: number) =>
    tls ? Math.floor(bytes * tls_share) - tls_handshake_bytes : bytes;
  const up = Math.max(0, payload(socket.up) - base_up);
  const down = Math.max(0, payload(socket.down) - base_down);
  return up + down > 0 ? { connection: socket.connection, ...owner, up, down } : undefined;
}
