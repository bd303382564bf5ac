// The seam that every proxy engine fits: it decides by the store's policy, and tells what was transferred.
import type { ProxyRequest, Verdict } from './policy/decide.ts';
import type { Listener } from './policy/policy.ts';
import type { Position } from './policy/records.ts';
import type { Use } from './policy/uses.ts';

/** Bytes of one client connection, up from the client and down to it, as the client itself counts them. */
export interface Traffic {
  /** Names the connection. Another one may have the name only after the last request of this one is finished. */
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
  /** Requests that ended since the cursor, each exactly once, billable ones only. */
  finished: Finished[];
  /** Requests and tunnels under way: their bytes so far. Never too many. */
  open: Traffic[];
  /** Where the next poll goes on. Plain JSON: it is stored together with what was counted. */
  cursor: unknown;
}

export interface Explanation {
  verdict: Verdict;
  position: Position;
}

export interface Engine {
  readonly name: 'squid' | 'embedded';
  /**
   * Makes every worker decide by all that the store holds, closes connections that are no longer
   * allowed, and listens where the server's record says. Returns the position that all workers have applied; undefined while
   * the store holds no policy. A configuration that cannot be put in force leaves the last good one
   * and is told by `faults`. Errors: when a worker does not respond.
   */
  catchUp(): Promise<Position | undefined>;
  /** Bytes that were transferred since the cursor (undefined: since the beginning of all that is known). */
  poll(cursor: unknown): Promise<Poll>;
  /** When authlist entries last let somebody in: those that did since it was last asked, each once or more. */
  takeUses(): Promise<Use[]>;
  /** The decision about this request, by the same policy and code that decides real ones. */
  explain(request: ProxyRequest): Promise<Explanation>;
  /** Where clients connect, by port: the policy's that is in force. For health checks, and to show. */
  listeners(): ReadonlyMap<number, Listener>;
  /** The faults of now, a sentence each: a port that is taken, a configuration that was rejected. */
  faults(): string[];
  /** Ends it; an engine of its own processes may leave them running for the next agent. */
  stop(options: { leave_running: boolean }): Promise<void>;
}
