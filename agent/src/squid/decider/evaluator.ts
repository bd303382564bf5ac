// Decides on the requests that Squid asks about, one line each. It runs for every request, so it
// does nothing unnecessary.

import { decide } from '../../policy/decide.ts';
import type { Denied, ProxyRequest, Rules } from '../../policy/decision.ts';
import type { DecisionTally } from '../../policy/decision_tally.ts';
import { readCredentials } from '../../policy/identify.ts';
import type { LastUsedTimes } from '../../policy/last_used.ts';
import type { Policy } from '../../policy/policy.ts';
import { type Refusals, refusedBy } from '../../policy/refusals.ts';
import { connectionName } from '../sockets.ts';
import type { Census } from './census.ts';
import type { Connections } from './connections.ts';

export interface EvaluatorOptions {
  /** The current policy: a reload replaces the object. */
  policy: () => Policy;
  rules: Rules;
  port_shift: number;
  /** Notes every connection that is let in. */
  connections: Connections;
  /** Compares connections with the caps. */
  census: Pick<Census, 'admit' | 'wait'>;
  uses: LastUsedTimes;
  refusals: Refusals;
  decisions: DecisionTally;
}

export class Evaluator {
  readonly #policy: () => Policy;
  readonly #connections: Connections;
  readonly #census: Pick<Census, 'admit' | 'wait'>;
  readonly #uses: LastUsedTimes;
  readonly #refusals: Refusals;
  readonly #decisions: DecisionTally;
  rules: Rules;
  port_shift: number;

  constructor(options: EvaluatorOptions) {
    const { policy, rules, port_shift, connections, census } = options;
    this.#policy = policy;
    this.#connections = connections;
    this.#census = census;
    this.#uses = options.uses;
    this.#refusals = options.refusals;
    this.#decisions = options.decisions;
    this.rules = rules;
    this.port_shift = port_shift;
  }

  /**
   * The response to `ID SOURCE PORT LOCALPORT METHOD HOST PORT AUTHORIZATION LOCAL -`; HOST and
   * AUTHORIZATION are escaped, LOCAL is the node's address. It is `ID OK …` with the notes that
   * squid.conf and the meter need, or `ID ERR reason_=…`. Empty if `later` was called: the request
   * is decided again when a list has shown which other connections are over.
   */
  respond(line: string, now: number, later?: (when: Promise<void>) => void): string {
    const words = line.split(' ');
    const [id, source = '', source_port = '', port, method = '', host = ''] = words;
    const authorization = words[7];
    const request: ProxyRequest = {
      kind: 'request',
      source,
      port: Number(port) - this.port_shift,
      method,
      host: unescapeWord(host),
      destination_port: Number(words[6]),
      credentials:
        authorization === undefined || authorization === '-'
          ? undefined
          : readCredentials(unescapeWord(authorization)),
    };
    const verdict = decide(this.#policy(), this.rules, request, now);
    if (verdict.verdict !== 'allow') return this.#reject(id, request, verdict, now);
    const { authority, dial } = verdict;
    if (authority.by === 'probe') {
      this.#decisions.note('probe');
      return `${id} OK probe_=1\n`;
    }
    const connection = connectionName(source, source_port, port ?? '');
    const reason = this.#census.admit(connection, source, authority, now, words[8]);
    if (reason) {
      const isCount = reason === 'too_many_connections';
      const when = isCount ? later && this.#census.wait(authority) : undefined;
      if (when) {
        later?.(when);
        return '';
      }
      return this.#reject(id, request, { reason, principal: verdict }, now);
    }
    this.#decisions.note(authority.by);
    this.#connections.admit(connection, authority);
    this.#uses.note(authority, now);
    const notes = `account_=${authority.account} user_=${authority.user}`;
    if (dial === undefined) return `${id} OK ${notes}\n`;
    return `${id} OK ${notes} dial_=${dial.includes(':') ? `[${dial}]` : dial}\n`;
  }

  #reject(
    id: string | undefined,
    request: ProxyRequest,
    denied: Pick<Denied, 'reason' | 'principal'>,
    now: number,
  ): string {
    const { reason } = denied;
    this.#decisions.note(reason);
    this.#refusals.note(refusedBy(this.#policy(), request, request.source, denied), now);
    return `${id} ERR reason_=${reason}\n`;
  }
}

/**
 * Undoes exactly what Squid's `%#` does. It escapes the percent sign too, so nothing that a client
 * wrote is unescaped.
 */
export function unescapeWord(word: string): string {
  if (!word.includes('%')) return word;
  return word.replace(/%([0-9a-f]{2})/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
