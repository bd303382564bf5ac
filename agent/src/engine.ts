// The interface of every proxy engine: it decides by the store's policy, and reports the traffic.

import type { Logger } from 'pino';
import type { EndOrder, Position } from '../../kit/src/node_interface.ts';
import type { VpnService } from '../../kit/src/vpn_password.ts';
import type { CertificateEnd } from './certificate.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { EndedUse, OpenUse } from './exit_use.ts';
import type { Fault } from './faults.ts';
import type { Authority, Decision, Question, Rules } from './policy/decision.ts';
import type { DecisionCounts } from './policy/decision_tally.ts';
import type { LastUsed } from './policy/last_used.ts';
import type { Listener, PolicySize } from './policy/policy.ts';
import type { Refusal } from './policy/refusals.ts';
import type { NameFailure } from './resolver.ts';
import type { Unstored } from './store/unstored.ts';
import type { Elsewhere, Holding } from './user_counts.ts';

/** The parts that every engine is started with. */
export interface EngineOptions {
  config: Config;
  rules: Rules;
  /** Where the store keeps the policy. */
  dir: string;
  /** The changes that the store could not write. */
  unstored?: Unstored;
  clock: Clock;
  log: Logger;
}

export type IkeVersion = '1' | '2';

/** The bytes of one client connection, up from the client and down to it, as it counts them. */
export interface Traffic {
  /**
   * Identifies the connection; never reused if its bytes are reported before a request is finished.
   */
  connection: string;
  account: number;
  user: number;
  up: number;
  down: number;
}

/** A finished request or tunnel, with its final count. */
export interface Finished extends Traffic {
  /** Epoch seconds. */
  at: number;
}

export interface Poll {
  /**
   * The requests and tunnels that ended since the cursor, each exactly once, billable ones only.
   */
  finished: Finished[];
  /** The bytes so far of each request or tunnel that is under way. Never too many. */
  open: Traffic[];
  /** Where the next poll continues. Plain JSON: it is stored together with the counts. */
  cursor: unknown;
}

/** The part of the traffic that is on disk: it is never lost, whatever crashes. */
export interface Stored {
  /** The cursor of the last stored poll. */
  readonly cursor: unknown;
  /** By connection: the bytes counted so far of unfinished requests. */
  readonly counted: ReadonlyMap<string, Traffic>;
}

export interface Explanation {
  decision: Decision;
  /** Why the allowed destination has no address. */
  failure?: NameFailure;
  /** The name of the allowed destination was not resolved in time. */
  isUnresolved?: boolean;
  position: Position;
}

/** A client connection, or a tunnel, that is open and whose user is identified. */
export interface OpenConnection {
  /** `proxy`, `proxy-https`, or a VPN service. */
  service: string;
  authority: Exclude<Authority, { by: 'probe' }>;
  /** The client's. */
  address: string;
  exit_ip: string;
  /** Epoch seconds; of one that an earlier agent left behind, when this agent first saw it. */
  since: number;
  /** When a byte last moved, in epoch seconds, as precisely as usage is counted. */
  last_byte_at: number;
  /** The bytes so far, up from the client and down to it, as it counts them. */
  up: number;
  down: number;
}

/** For the metrics, since the engine started. Not exact, since nothing waits for them. */
export interface EngineCounts {
  decisions: DecisionCounts;
  /** Connections of clients, by the policy's port. */
  open_connections: ReadonlyMap<number, number>;
  /** Undefined: not known yet. */
  policy: PolicySize | undefined;
  squids: Array<{ number: number; up: boolean; starts: number }>;
  /** The number of processes that decide; undefined if the agent does it itself. */
  deciders: number | undefined;
  /** The number of VPN tunnels; undefined: there is no VPN, or it is not known yet. */
  tunnels?: number | undefined;
}

/** A VPN service at an exit. */
export interface OfferedVpn {
  service: VpnService;
  ip: string;
  /** The version of the protocol that clients begin with. */
  version: IkeVersion;
  /** It is not served; a fault of the engine says why. */
  isLacking: boolean;
}

/** The VPN as it should be served. */
export interface VpnOffer {
  services: OfferedVpn[];
  /** The node's certificate; undefined: there is none. */
  certificate: CertificateEnd | undefined;
}

export interface Engine {
  readonly name: 'squid' | 'embedded';
  /**
   * Makes every worker decide by everything that the store holds, closes connections that are no
   * longer allowed, and listens as the server's record says. Returns the position that all workers
   * have applied; undefined while the store holds no policy. If a configuration cannot be put in
   * force, the last good one stays, and `faults` reports it. Errors: a worker does not respond.
   */
  catchUp(): Promise<Position | undefined>;
  /**
   * The traffic since the cursor. Undefined: since the engine started, for a new journal. Earlier
   * traffic is not reported by any engine, to any journal. `stored` is needed if the cursor is not
   * the last poll's. `isExtra`: it comes sooner than the usual poll. A stopped engine can still be
   * polled for its last traffic.
   */
  poll(cursor: unknown, stored?: Stored, isExtra?: boolean): Promise<Poll>;
  /**
   * The connections that are open now. They are read from memory one by one, and may open and close
   * meanwhile.
   */
  connections(): Iterable<OpenConnection>;
  /**
   * For the connection log: the uses of exits that are under way. They are read from memory one by
   * one, and may begin and end meanwhile.
   */
  usesUnderWay(): Iterable<OpenUse>;
  /** Uses of exits that ended since the last call; none are held while there is no such log. */
  takeEndedUses(): { uses: EndedUse[]; lost: number };
  /**
   * Closes the connections of users that are open now and that the order names, and none that begin
   * later, whatever happens to revoked ones. Returns how many, once they are closed. Errors: some
   * may still be open.
   */
  end(order: EndOrder): Promise<number>;
  /** Authlist entries that let a connection in since the last call, each at least once. */
  takeLastUsed(): Promise<LastUsed[]>;
  /** The connections and addresses of users who have limits on them. */
  held(): Holding[];
  /** Replaces what is known of their connections and addresses elsewhere. */
  share(elsewhere: readonly Elsewhere[]): void;
  /** Connections refused since the last call, as far as they are held. */
  takeRefusals(): Refusal[];
  /** The decision on this request or login, by the same policy and code as for real ones. */
  explain(question: Question): Promise<Explanation>;
  /** Where clients connect, by port of the policy in force. For health checks and for display. */
  listeners(): ReadonlyMap<number, Listener>;
  /** The VPN that should be served, for health checks; undefined: none. */
  vpn?(): VpnOffer | undefined;
  /** Whether new connections are refused, as the operator requested. */
  isDrained(): boolean;
  counts(): EngineCounts;
  /** The current faults, such as a taken port, or a rejected configuration. */
  faults(): Fault[];
  /** Stops it; an engine with its own processes may leave them running for the next agent. */
  stop(options: { leave_running: boolean }): Promise<void>;
}
