// One client connection of a Squid, as the agent knows it: its state, its owner, its bytes.
//
// The owner of a connection is the authority by which a decider let it in: it says who pays for the bytes, and when
// the connection must be closed. Three sources speak of a connection, by its name `SOURCE:PORT>LOCALPORT`:
//   - the kernel's list, each second: which connections there are, and their bytes so far;
//   - the deciders, which hold the policy: the owners. They hear each list, and know their half (decider/connections.ts);
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
//
// Bytes are counted ahead of one connection, and set off against its own line, the next of its name (docs/decisions/0033).
import type { Traffic } from '../../engine.ts';
import type { Authority } from '../../policy/decide.ts';
import type { Opened } from '../protocol.ts';
import type { Socket } from '../sockets.ts';
import type { MeterLog } from './meter_log.ts';

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

export interface Connection {
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
  /** `base` was transferred before the journal was begun: its next line holds bytes that are not to be told. */
  isLeft: boolean;
  /** The bytes of its request that is not over, as a poll told them last, under a name that is its own for ever. */
  ahead: Traffic | undefined;
  /** The cookie of the connection that had its name last, and is over. */
  over: string | undefined;
  /** Lists that it has been a suspect in. */
  waited: number;
  /** When it ended; epoch seconds. */
  ended_at: number | undefined;
}

export interface Bytes {
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
  /** The start that this agent made last: another Squid than before. */
  readonly start?: string | undefined;
  /** The last counts of the sockets that were destroyed until that start, by cookie. */
  readonly destroyed?: ReadonlyMap<string, Socket> | undefined;
  /**
   * Tells its deciders which connections are listed, and hands the owners that they tell to `take`.
   * False: no decider responded, and no connection may be forgotten by this list.
   */
  sendList(listed: string[], take: (owners: Opened) => void): Promise<boolean>;
}

/** The kernel counts TLS bytes; the bytes inside are a little less, and the first ones are the handshake. */
const tls_share = 0.97;
const tls_handshake_bytes = 8192;

type ConnectionParts = Partial<
  Pick<Connection, 'owner' | 'isAnnounced' | 'socket' | 'base' | 'isLeft' | 'ahead' | 'over'>
>;

/** A connection that a list shows, by its socket, or whose owner a decider told. */
export function create(squid: number, parts: ConnectionParts): Connection {
  const { owner, socket, isAnnounced = false, base = sum(), isLeft = false, ahead, over } = parts;
  const state = socket === undefined ? 'unlisted' : owner ? 'open' : 'unowned';
  const times = { waited: 0, ended_at: undefined };
  return { state, squid, owner, isAnnounced, socket, base, isLeft, ahead, over, ...times };
}

/** The bytes of a connection's request that is not over; undefined when there are none, or no owner pays. */
export function openTraffic(
  { owner, base, socket, squid, ahead }: Connection,
  tls_ports: ReadonlySet<number>,
): Traffic | undefined {
  if (!socket || !owner || owner.by === 'probe') return undefined;
  const { account, user } = owner;
  const isTls = tls_ports.has(socket.port);
  const payload = (bytes: number) =>
    isTls ? Math.floor(bytes * tls_share) - tls_handshake_bytes : bytes;
  const { up, down } = beyond({ up: payload(socket.up), down: payload(socket.down) }, base);
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

/** Bytes less others, and never below zero. */
export function beyond(bytes: Bytes, others: Bytes): Bytes {
  return {
    up: Math.max(0, bytes.up - others.up),
    down: Math.max(0, bytes.down - others.down),
  };
}

/** Of two sums of the same lines, of which one may lack some. */
export function larger(bytes: Bytes, other: Bytes): Bytes {
  return { up: Math.max(bytes.up, other.up), down: Math.max(bytes.down, other.down) };
}
