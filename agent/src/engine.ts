// The seam that every proxy engine fits: it judges by the store's policy, and tells what was transferred.
import type { Decision, ProxyRequest } from './policy/decide.ts';
import type { LastUsed } from './policy/last_used.ts';
import type { Listener } from './policy/policy.ts';
import type { Position } from './policy/records.ts';

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
  /** What ended since the cursor, each exactly once, billable requests only. */
  finished: Finished[];
  /** What is under way: bytes so far of the request or tunnel that has not ended. Never too many. */
  open: Traffic[];
  /** Where the next poll goes on. Plain JSON: it is stored together with what was counted. */
  cursor: unknown;
}

export interface Explanation {
  decision: Decision;
  position: Position;
}

export interface Engine {
  readonly name: 'squid' | 'embedded';
  /**
   * Makes every worker judge by all that the store holds, closes what is no longer allowed, and
   * listens where the server's record says. Answers what all workers have applied; undefined while
   * the store holds no policy. A configuration that cannot be put in force leaves the last good one
   * and is told by `faults`. Errors: when a worker does not answer.
   */
  catchUp(): Promise<Position | undefined>;
  /** What was transferred since the cursor (undefined: from the beginning of what is known). */
  poll(cursor: unknown): Promise<Poll>;
  /** When authlist entries last let somebody in: those that did since it was last asked, each once or more. */
  takeLastUsed(): Promise<LastUsed[]>;
  /** What would happen to this request, by the same policy and code that judges real ones. */
  explain(request: ProxyRequest): Promise<Explanation>;
  /** Where clients connect, by port: the policy's that is in force. For health checks, and to show. */
  listeners(): ReadonlyMap<number, Listener>;
  /** What is wrong now, a sentence each: a port that is taken, a configuration that was refused. */
  faults(): string[];
  /** Ends it; an engine of its own processes may leave them running for the next agent. */
  stop(options: { leave_running: boolean }): Promise<void>;
}
