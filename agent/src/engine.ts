// The interface of proxy engines. An engine decides by the store's policy, and reports traffic.

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
  /** The bytes so far of each request or tunnel that is under way; never too many bytes. */
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
  /** When a byte last moved, in epoch seconds; as precise as the intervals of counting. */
  last_byte_at: number;
  /** The bytes so far, up from the client and down to it, as it counts them. */
  up: number;
  down: number;
}

/** Counts for the metrics, since the engine started. They may be slightly out of date. */
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
   * Makes every worker apply everything that the store holds, closes connections that are no longer
   * allowed, and listens on the ports of the server's record. Returns the position that all workers
   * have applied; undefined while the store holds no policy. If a configuration cannot be put in
   * force, the last good one stays, and `faults` reports it. Errors: a worker does not respond.
   */
  catchUp(): Promise<Position | undefined>;
  /**
   * The traffic since `cursor`. Undefined, for a new journal: since the engine started; earlier
   * traffic is never reported. `stored` is needed unless the cursor is that of the last poll.
   * `isExtra`: it comes sooner than the usual poll. A stopped engine can still be polled for its
   * last traffic.
   */
  poll(cursor: unknown, stored?: Stored, isExtra?: boolean): Promise<Poll>;
  /**
   * The open connections, read from memory one by one; connections may open and close meanwhile.
   */
  connections(): Iterable<OpenConnection>;
  /**
   * For the connection log: the uses of exits that are under way, read from memory one by one;
   * uses may begin and end meanwhile.
   */
  usesUnderWay(): Iterable<OpenUse>;
  /** Uses of exits that ended since the last call; always empty without a connection log. */
  takeEndedUses(): { uses: EndedUse[]; lost: number };
  /**
   * Closes the users' connections that the order names and that are open now. Connections that
   * begin later stay open. The setting for revoked connections does not apply. Returns how many,
   * once they are closed. Errors: some may still be open.
   */
  end(order: EndOrder): Promise<number>;
  /** The authlist entries that let connections in since the last call, each at least once. */
  takeLastUsed(): Promise<LastUsed[]>;
  /** The connections and addresses of users who have limits on them. */
  held(): Holding[];
  /** Replaces their connections and addresses elsewhere, as last heard. */
  share(elsewhere: readonly Elsewhere[]): void;
  /** Connections refused since the last call. Not all are held. */
  takeRefusals(): Refusal[];
  /** The decision on a request or login, by the policy and code that decide on real ones. */
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
  /** Stops it. With `leave_running`, its processes stay for the next agent. */
  stop(options: { leave_running: boolean }): Promise<void>;
}
