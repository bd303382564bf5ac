// The lines of JSON between the agent and the deciders of a Squid, over a unix socket. Used by both processes.
import type { Socket } from 'node:net';
import type { Config } from '../config.ts';
import type { ConnectionCaps } from '../connection_caps.ts';
import type { Authority, Decision, Question, Rules } from '../policy/decide.ts';
import type { DecisionCounts } from '../policy/decision_tally.ts';
import type { LastUsed } from '../policy/last_used.ts';
import type { Listener, PolicySize } from '../policy/policy.ts';
import type { Position } from '../policy/records.ts';
import type { Revoked } from '../policy/sessions.ts';
import type { UnstoredChange } from '../store/unstored.ts';

// The names in these messages, and in the file of rules, stay as they are: after an upgrade the agent
// meets deciders of the version before, which Squid started.

/** Client connections with the owner of each: the authority by which it was let in. */
export type Opened = Array<[connection: string, Authority]>;

/** The client connections in the kernel's list, against the list before. */
export interface ListChange {
  added: readonly string[];
  removed: readonly string[];
}

export interface CaughtUp {
  /** Undefined: the decider holds no policy. */
  position?: Position;
  revoked: Revoked[];
  /** When they are others than it last told. */
  listeners?: Listener[];
  /** Whether new connections are refused, as the operator wants it; a decider of before does not say. */
  drained?: boolean;
}

/** The questions of the agent, by name, each with its response. */
export interface Questions {
  /** To follow the policy on disk, and to evaluate by it the connections that are open. */
  catch_up: { question: undefined; response: CaughtUp };
  /** To forget the connections that are over. Tells the owners of those that are new in the list or had a new request. */
  take_list: { question: ListChange; response: Opened };
  /** When authlist entries last let somebody in, so many at most: meanwhile no request is decided. */
  take_uses: { question: number; response: LastUsed[] };
  explain: { question: Question; response: { verdict: Decision; position?: Position } };
}

/** A question by its name. */
export type Inquiry = {
  [Name in keyof Questions]: { id: number; ask: Name; question: Questions[Name]['question'] };
}[keyof Questions];

/** `opened`: the connections that an earlier decider of this Squid let in; `unstored`: changes that are on no disk. */
export type ToDecider = Inquiry | { opened: Opened } | { unstored: UnstoredChange[] };

/**
 * `opened` is the last message of a decider that leaves: the connections that the agent may not know yet. `decided`: the
 * decisions since it was last told, unasked.
 */
export type FromDecider =
  | { id: number; answer?: unknown }
  | { revoked: Revoked[] }
  | { decided?: DecisionCounts; policy?: PolicySize }
  | { opened: Opened; uses?: LastUsed[]; decided?: DecisionCounts };

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

/** The bounds on what comes over a socket. */
interface Bounds {
  message_bytes: number;
  bytes_a_second: number;
  /** Called as each second begins in which something comes. */
  onSecond?: () => void;
}

/** Of the agent, which deciders trust: the changes that are on no disk are a quarter of it. */
const of_agent: Bounds = {
  message_bytes: 256 * 1024 * 1024,
  bytes_a_second: Number.POSITIVE_INFINITY,
};

/** Hands out the lines that come over a socket; a peer that sends anything else, or too much, is cut off. */
export function readLines(
  socket: Socket,
  take: (line: string) => void,
  { message_bytes, bytes_a_second, onSecond }: Bounds = of_agent,
): void {
  let rest = '';
  let second = performance.now();
  let bytes = 0;
  socket.setEncoding('utf8');
  // Its own owner: an exception is the peer's doing, and cuts it off without a word in the log.
  const settle = (text: string) => {
    try {
      if (performance.now() - second >= 1000) {
        second = performance.now();
        bytes = 0;
        onSecond?.();
      }
      bytes += text.length;
      // A long message comes in many pieces, and is not searched anew with each.
      const end = text.lastIndexOf('\n');
      const lines = end < 0 ? [] : (rest + text.slice(0, end)).split('\n');
      rest = end < 0 ? rest + text : text.slice(end + 1);
      if (rest.length > message_bytes || bytes > bytes_a_second) throw new Error('it is too much');
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
