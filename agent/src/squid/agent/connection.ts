// One client connection of a Squid, as the agent knows it: its state, its owner, and its bytes.
//
// The owner of a connection is the authority by which a decider let it in: it says who pays for the
// bytes, and when the connection must be closed. Three sources report on a connection, by its name
// `SOURCE:PORT>LOCALPORT`:
//   - the kernel's list, each second: which connections there are, and their bytes so far;
//   - the deciders, which hold the policy: the owners. They get each list (decider/connections.ts);
//   - Squid's log: the exact bytes of each finished request or tunnel, and who pays for them.
//
//                the kernel lists it             a decider died
//   (unknown) ──────────────────────► unowned ────────────────────► suspect ──3 lists──► closed
//       │                                │                             │
//       │ a leaving decider              │ a decider reports           │ a decider reports
//       │ reports its owner              ▼ its owner                   │ its owner
//       └───────────► unlisted ───────► open ◄─────────────────────────┘
//                        the kernel      │
//                        lists it        │ revoked
//                                        ▼
//                                     closing
//
//   From each of these, when the kernel no longer lists it:
//       ──► ended      if bytes were counted ahead: until its line in the log corrects them
//       ──► unlisted   if its owner is known: until a decider has responded to such a list
//       ──► (unknown)  otherwise, and after that
//
// Bytes counted ahead are set off against the connection's own line, the next of its name
// (docs/decisions/0033).
import type { Traffic } from '../../engine.ts';
import type { Authority } from '../../policy/decision.ts';
import type { Opened } from '../protocol.ts';
import type { Socket } from '../sockets.ts';
import type { MeterLog } from './meter_log.ts';

export type State =
  /** A decider let it in, but it is not on the kernel's list: not yet, or no longer. */
  | 'unlisted'
  /** Listed without an owner: most likely no request on it has been admitted yet. */
  | 'unowned'
  /**
   * Without an owner after a decider died that may have let it in. It will be closed, since it
   * could never be revoked.
   */
  | 'suspect'
  /** Listed, with a known owner. */
  | 'open'
  /** Revoked: the kernel was asked to close it, and still lists it. */
  | 'closing'
  /** Gone, with bytes counted ahead. Its line in the log will have the exact number. */
  | 'ended';

export interface Connection {
  state: State;
  /** The number of its Squid. */
  squid: number;
  /** As a decider last reported. */
  owner: Authority | undefined;
  /** A leaving decider reported its owner. The next list may be older than the connection. */
  isAnnounced: boolean;
  /** As the kernel last listed it; undefined while unlisted. */
  socket: Socket | undefined;
  /**
   * When the kernel first listed it in this run, and last listed it with more bytes; epoch seconds.
   * Undefined while unlisted.
   */
  since: number | undefined;
  moved_at: number | undefined;
  /** Bytes of its finished requests, billed or not. */
  base: Bytes;
  /**
   * `base` was before the journal began: the next line contains bytes that must not be reported.
   */
  isLeft: boolean;
  /** The last reported bytes of its unfinished request, under a name that is never reused. */
  ahead: Traffic | undefined;
  /** The cookie of the previous connection of this name, which is over. */
  over: string | undefined;
  /** In how many lists it has been a suspect. */
  waited: number;
  /** When it ended, in epoch seconds. */
  ended_at: number | undefined;
}

export interface Bytes {
  up: number;
  down: number;
}

/** The properties of a Squid that its connections depend on. */
export interface TrackedSquid {
  readonly number: number;
  readonly log: MeterLog;
  /** The ports that it listens on; undefined: not known yet. */
  readonly ports: readonly number[] | undefined;
  readonly tls_ports: ReadonlySet<number>;
  /** The last start by this agent; it changes with each new Squid. */
  readonly start?: string | undefined;
  /** By cookie: the last counts of the sockets that were destroyed before that start. */
  readonly destroyed?: ReadonlyMap<string, Socket> | undefined;
  /**
   * Sends its deciders the list of connections, and passes the owners that they report to `take`.
   * False: no decider responded, so this list must not drop any connection.
   */
  sendList(listed: string[], take: (owners: Opened) => void): Promise<boolean>;
}

/**
 * The kernel counts TLS bytes. The payload is a little less, and the first bytes are the handshake.
 */
const tlsShare = 0.97;
const tlsHandshakeBytes = 8192;

type ConnectionParts = Partial<
  Pick<Connection, 'owner' | 'isAnnounced' | 'socket' | 'base' | 'isLeft' | 'ahead' | 'over'>
>;

/** A connection that is on a list, with its socket, or whose owner a decider reported. */
export function create(squid: number, parts: ConnectionParts): Connection {
  const { owner, socket, isAnnounced = false, base = sum(), isLeft = false, ahead, over } = parts;
  const state = socket === undefined ? 'unlisted' : owner ? 'open' : 'unowned';
  const times = { since: undefined, moved_at: undefined, waited: 0, ended_at: undefined };
  return { state, squid, owner, isAnnounced, socket, base, isLeft, ahead, over, ...times };
}

/** The bytes of a socket without those of TLS; rather too few than too many. */
export function payloadOf({ up, down }: Socket, isTls: boolean): Bytes {
  const payload = (bytes: number) =>
    isTls ? Math.max(0, Math.floor(bytes * tlsShare) - tlsHandshakeBytes) : bytes;
  return { up: payload(up), down: payload(down) };
}

/** Notes that the kernel lists a connection with this socket. */
export function list(connection: Connection, socket: Socket, now: number): void {
  const { up, down } = connection.socket ?? { up: 0, down: 0 };
  const isMoved = socket.up + socket.down > up + down;
  connection.since ??= now;
  // The clock may have been set back.
  connection.moved_at = isMoved ? now : Math.min(connection.moved_at ?? now, now);
  connection.socket = socket;
}

/**
 * The bytes of a connection's unfinished request; undefined if there are none, or no owner pays.
 */
export function openTraffic(
  { owner, base, socket, squid, ahead }: Connection,
  tls_ports: ReadonlySet<number>,
): Traffic | undefined {
  if (!socket || !owner || owner.by === 'probe') return undefined;
  const { account, user } = owner;
  const { up, down } = beyond(payloadOf(socket, tls_ports.has(socket.port)), base);
  if (up + down === 0) return undefined;
  const connection = ahead?.connection ?? `${socket.connection} ${socket.cookie} ${squid}`;
  return { connection, account, user, up, down };
}

export function sum(...all: Array<Bytes | undefined>): Bytes {
  const total = { up: 0, down: 0 };
  for (const bytes of all) {
    total.up += bytes?.up ?? 0;
    total.down += bytes?.down ?? 0;
  }
  return total;
}

/** The bytes less others, never below zero. */
export function beyond(bytes: Bytes, others: Bytes): Bytes {
  return {
    up: Math.max(0, bytes.up - others.up),
    down: Math.max(0, bytes.down - others.down),
  };
}

/** The larger of two sums of the same lines: either may lack lines. */
export function larger(bytes: Bytes, other: Bytes): Bytes {
  return { up: Math.max(bytes.up, other.up), down: Math.max(bytes.down, other.down) };
}
