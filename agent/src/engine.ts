// The interface of every proxy engine: it decides by the store's policy, and tells the traffic.

import type { VpnService } from '../../kit/src/vpn_password.ts';
import type { CertificateEnd } from './certificate.ts';
import type { Fault } from './faults.ts';
import type { Decision, Question } from './policy/decide.ts';
import type { DecisionCounts } from './policy/decision_tally.ts';
import type { LastUsed } from './policy/last_used.ts';
import type { Listener, PolicySize } from './policy/policy.ts';
import type { Position } from './policy/records.ts';

export type IkeVersion = '1' | '2';

/** Bytes of one client connection, up from the client and down to it, as the client itself counts them. */
export interface Traffic {
  /** Names the connection, for ever where its bytes are told before a request is finished. */
  connection: string;
  account: number;
  user: number;
  up: number;
  down: number;
}

/** A request or tunnel that is over: its final count. */
export interface Finished extends Traffic {
  /** Epoch seconds. */
  at: number;
}

export interface Poll {
  /** The requests and tunnels that ended since the cursor, each exactly once, billable ones only. */
  finished: Finished[];
  /** Bytes so far of each request or tunnel that is under way. Never too many. */
  open: Traffic[];
  /** Where the next poll goes on. Plain JSON: it is stored together with the counts. */
  cursor: unknown;
}

/** The part of the traffic that is on disk: nothing of it is forgotten, whatever dies. */
export interface Stored {
  /** Of the last poll that is kept. */
  readonly cursor: unknown;
  /** By connection: the bytes counted so far of requests that are not finished. */
  readonly counted: ReadonlyMap<string, Traffic>;
}

export interface Explanation {
  decision: Decision;
  position: Position;
}

/** For the metrics, since this engine started. Never exact to the last request, and never waited for. */
export interface EngineCounts {
  decisions: DecisionCounts;
  /** Of clients, by the policy's port. */
  open_connections: ReadonlyMap<number, number>;
  /** Undefined: not known yet. */
  policy: PolicySize | undefined;
  squids: Array<{ number: number; up: boolean; starts: number }>;
  /** Processes that decide; undefined where the agent does it itself. */
  deciders: number | undefined;
  /** Tunnels of the VPN; undefined: there is none, or they are not known yet. */
  tunnels?: number | undefined;
}

/** A VPN service at an exit. */
export interface OfferedVpn {
  service: VpnService;
  ip: string;
  /** Of the protocol that clients begin with. */
  version: IkeVersion;
  /** It is not served, which a fault of the engine tells. */
  isLacking: boolean;
}

/** The VPN as it is to be served. */
export interface VpnOffer {
  services: OfferedVpn[];
  /** By which the node shows who it is; undefined: it has none. */
  certificate: CertificateEnd | undefined;
}

export interface Engine {
  readonly name: 'squid' | 'embedded';
  /**
   * Makes every worker decide by all that the store holds, closes connections that are no longer
   * allowed, and listens where the server's record says. Returns the position that all workers have
   * applied; undefined while the store holds no policy. A configuration that cannot be put in force
   * leaves the last good one and is told by `faults`. Errors: when a worker does not answer.
   */
  catchUp(): Promise<Position | undefined>;
  /**
   * The traffic since the cursor. Undefined: since the engine started, as a new journal begins; what
   * was transferred before is not told, by whatever engine or journal. `kept` is needed when the cursor is not the
   * last poll's. `isExtra`: it comes sooner than the usual poll. It can be polled after it was stopped, for its last
   * traffic.
   */
  poll(cursor: unknown, stored?: Stored, isExtra?: boolean): Promise<Poll>;
  /** The authlist entries that let a connection in since this was last called, each once or more, with the time. */
  takeLastUsed(): Promise<LastUsed[]>;
  /** The decision on this request or login, by the same policy and code that decides on real ones. */
  explain(question: Question): Promise<Explanation>;
  /** Where clients connect, by port: the policy's that is in force. For health checks, and to show. */
  listeners(): ReadonlyMap<number, Listener>;
  /** The VPN that is to be there, for health checks; undefined: none is. */
  vpn?(): VpnOffer | undefined;
  /** Whether new connections are refused, as the operator wants it. */
  isDrained(): boolean;
  counts(): EngineCounts;
  /** The faults now: a port that is taken, a configuration that was rejected, a certificate that ends. */
  faults(): Fault[];
  /** Ends it; an engine of its own processes may leave them running for the next agent. */
  stop(options: { leave_running: boolean }): Promise<void>;
}
