// The protocol between the agent and the deciders of a Squid: lines of JSON over a unix socket.
// Both processes use this file.
import type { Socket } from 'node:net';
import type { Position } from '../../../kit/src/node_interface.ts';
import type { Config } from '../config.ts';
import type { ConnectionCaps } from '../connection_caps.ts';
import type { Authority, Decision, Question, Rules } from '../policy/decision.ts';
import type { DecisionCounts } from '../policy/decision_tally.ts';
import type { LastUsed } from '../policy/last_used.ts';
import type { Listener, PolicySize } from '../policy/policy.ts';
import type { Refusal } from '../policy/refusals.ts';
import type { Revoked } from '../policy/sessions.ts';
import type { UnstoredChange } from '../store/unstored.ts';
import type { Elsewhere, Holding } from '../user_counts.ts';

// The names in these messages, and in the file of rules, must not change: after an upgrade the
// agent meets deciders of the previous version, which Squid started.

/** Client connections with the owner of each: the authority that let it in. */
export type Opened = Array<[connection: string, Authority]>;

/** The changes in the kernel's list of client connections since the previous list. */
export interface ListChange {
  added: readonly string[];
  removed: readonly string[];
}

export interface CaughtUp {
  /** Undefined: the decider has no policy. */
  position?: Position;
  revoked: Revoked[];
  /** Present if they differ from those last sent. */
  listeners?: Listener[];
  /** Whether new connections are refused, as the operator requested; older deciders do not say. */
  drained?: boolean;
}

/** The agent's questions by name, each with its response. */
export interface Questions {
  /** Follow the policy on disk, and evaluate the open connections by it. */
  catch_up: { question: undefined; response: CaughtUp };
  /**
   * Drop the connections that are over. The response has the owners of connections that are new
   * on the list, or had a new request.
   */
  take_list: { question: ListChange; response: Opened };
  /** The owners of all connections, or of an account's. Some may be over. */
  owners: { question: { account?: number | undefined }; response: Opened };
  /** When entries last let a connection in, up to this many, since nothing is decided meanwhile. */
  take_uses: { question: number; response: LastUsed[] };
  explain: { question: Question; response: { verdict: Decision; position?: Position } };
}

/** A question, with its name and id. */
export type Inquiry = {
  [Name in keyof Questions]: { id: number; ask: Name; question: Questions[Name]['question'] };
}[keyof Questions];

/**
 * `opened`: connections of an earlier decider of this Squid. `unstored`: changes on no disk.
 * `elsewhere`: what users with limits hold elsewhere, with the times at which connections of such
 * users moved a byte.
 */
export type ToDecider =
  | Inquiry
  | { opened: Opened }
  | { unstored: UnstoredChange[] }
  | { elsewhere: Elsewhere[]; moved: Array<[connection: string, at: number]> };

/**
 * `over`: how many connections that were revoked, and left open, have ended or are allowed again.
 * `opened` is the last message of a leaving decider: the connections that the agent may not know
 * yet. `decided` and `refused`: the decisions since the last report, sent unasked. `held`: what
 * users with limits hold, whenever it has changed.
 */
export type FromDecider =
  | { id: number; answer?: unknown }
  | { revoked: Revoked[]; over?: number }
  | { decided?: DecisionCounts; refused?: Refusal[]; policy?: PolicySize }
  | { held: Holding[] }
  | { opened: Opened; uses?: LastUsed[]; decided?: DecisionCounts; refused?: Refusal[] };

/** The file of rules, which the agent writes for the deciders. */
export interface RulesFile {
  rules: Omit<Rules, 'allowed' | 'own'>;
  /** As in the settings. */
  allowed: string;
  port_shift: number;
  /** The address that Squid listens on; undefined: all. */
  listen_host?: string | undefined;
  on_revoke: Config['on_revoke'];
  caps: ConnectionCaps;
}

/** Limits on what is received over a socket. */
interface Bounds {
  message_bytes: number;
  bytes_a_second: number;
  /** Called at the start of each second in which something arrives. */
  onSecond?: () => void;
}

/** For what deciders receive from the agent: four times the changes that may be on no disk. */
const ofAgent: Bounds = {
  message_bytes: 256 * 1024 * 1024,
  bytes_a_second: Number.POSITIVE_INFINITY,
};

/** Passes on a socket's lines. A peer that sends anything else, or too much, is disconnected. */
export function readLines(
  socket: Socket,
  take: (line: string) => void,
  { message_bytes, bytes_a_second, onSecond }: Bounds = ofAgent,
): void {
  let rest = '';
  let second = performance.now();
  let bytes = 0;
  socket.setEncoding('utf8');
  // Has its own owner: an exception is the peer's fault, so it is disconnected, and not logged.
  const settle = (text: string) => {
    try {
      if (performance.now() - second >= 1000) {
        second = performance.now();
        bytes = 0;
        onSecond?.();
      }
      bytes += text.length;
      // A long message arrives in many pieces, so only the new piece is searched.
      const end = text.lastIndexOf('\n');
      const lines = end < 0 ? [] : (rest + text.slice(0, end)).split('\n');
      rest = end < 0 ? rest + text : text.slice(end + 1);
      if (rest.length > message_bytes || bytes > bytes_a_second)
        throw new Error('it sends too much');
      for (const line of lines) take(line);
    } catch (error) {
      socket.destroy(error as Error);
    }
  };
  socket.on('data', settle);
}

/** Sends one message, and returns its length. */
export function writeLine(socket: Socket, message: ToDecider | FromDecider): number {
  const line = `${JSON.stringify(message)}\n`;
  socket.write(line);
  return line.length;
}
