// Answers Squid's questions, a line each: this is run for every request, and does nothing that it need not.
import { decide, type ProxyRequest, type Rules, readCredentials } from '../policy/decide.ts';
import type { LastUsedTimes } from '../policy/last_used.ts';
import type { Policy } from '../policy/policy.ts';
import type { Census } from './census.ts';
import { connectionName } from './meter_log.ts';

export interface JudgeOptions {
  /** The policy of now: a reload makes another object. */
  policy: () => Policy;
  rules: Rules;
  port_shift: number;
  /** Hears of every connection that is let in. */
  census: Census;
  uses: LastUsedTimes;
}

export class Judge {
  readonly #policy: () => Policy;
  readonly #census: Census;
  readonly #uses: LastUsedTimes;
  rules: Rules;
  port_shift: number;

  constructor({ policy, rules, port_shift, census, uses }: JudgeOptions) {
    this.#policy = policy;
    this.#census = census;
    this.#uses = uses;
    this.rules = rules;
    this.port_shift = port_shift;
  }

  /**
   * `ID SOURCE PORT LOCALPORT METHOD HOST PORT AUTHORIZATION -` is answered by `ID OK …` with the notes
   * that squid.conf and the meter want, or `ID ERR reason_=…`.
   */
  answer(line: string, now: number): string {
    const words = line.split(' ');
    const [id, source = '', source_port = '', port, method = '', host = ''] = words;
    const authorization = words[7];
    const request: ProxyRequest = {
      source,
      port: Number(port) - this.port_shift,
      method,
      host,
      destination_port: Number(words[6]),
      credentials:
        authorization === undefined || authorization === '-'
          ? undefined
          : readCredentials(unescapeWord(authorization)),
    };
    const verdict = decide(this.#policy(), this.rules, request, now);
    if (verdict.verdict !== 'allow') return `${id} ERR reason_=${verdict.reason}\n`;
    const { authority, dial } = verdict;
    if (authority.by === 'probe') return `${id} OK probe_=1\n`;
    this.#census.admit(connectionName(source, source_port, port ?? ''), authority);
    this.#uses.note(authority, now);
    const notes = `account_=${authority.account} user_=${authority.user}`;
    if (dial === undefined) return `${id} OK ${notes}\n`;
    return `${id} OK ${notes} dial_=${dial.includes(':') ? `[${dial}]` : dial}\n`;
  }
}

/** Undoes what Squid does to a word with spaces in it. */
function unescapeWord(word: string): string {
  if (!word.includes('%')) return word;
  return word.replace(/%([0-9a-f]{2})/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
