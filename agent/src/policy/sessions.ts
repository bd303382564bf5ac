// The open connections, each with the authority that let it in, so that connections that are no
// longer allowed can be closed.

import { revocationOf } from './decide.ts';
import type { Authority, Rules } from './decision.ts';
import type { Reason } from './denials.ts';
import type { Policy } from './policy.ts';

export interface Revoked {
  connection: string;
  reason: Reason;
}

/** By account, so that after a change of one account only its connections are checked. */
export class Sessions {
  readonly #byAccount = new Map<number, Map<string, Authority>>();
  readonly #accountOf = new Map<string, number>();
  readonly #serviceOf: (connection: string) => string | undefined;

  /** `serviceOf`: `proxy`, or a VPN service; undefined: not known. */
  constructor(serviceOf: (connection: string) => string | undefined = () => 'proxy') {
    this.#serviceOf = serviceOf;
  }

  get size(): number {
    return this.#accountOf.size;
  }

  /**
   * Notes the authority that lets a connection be open now. A later request may bring another one.
   */
  open(connection: string, authority: Authority): void {
    const account = authority.by === 'probe' ? 0 : authority.account;
    const before = this.#accountOf.get(connection);
    if (before !== undefined && before !== account) this.close(connection);
    let connections = this.#byAccount.get(account);
    if (!connections) {
      connections = new Map();
      this.#byAccount.set(account, connections);
    }
    connections.set(connection, authority);
    this.#accountOf.set(connection, account);
  }

  find(connection: string): Authority | undefined {
    const account = this.#accountOf.get(connection);
    return account === undefined ? undefined : this.#byAccount.get(account)?.get(connection);
  }

  /** All, or those of one account. */
  *all(account?: number): Generator<[connection: string, Authority]> {
    yield* this.of(account === undefined ? this.#byAccount.keys() : [account]);
  }

  /** The connections of these accounts. */
  *of(accounts: Iterable<number>): Generator<[connection: string, Authority]> {
    for (const account of accounts) yield* this.#byAccount.get(account) ?? [];
  }

  close(connection: string): void {
    const account = this.#accountOf.get(connection);
    if (account === undefined) return;
    this.#accountOf.delete(connection);
    const connections = this.#byAccount.get(account);
    connections?.delete(connection);
    if (connections?.size === 0) this.#byAccount.delete(account);
  }

  /** The connections that are no longer allowed; only those of `accounts`, if given. */
  *revoked(
    policy: Policy,
    rules: Rules,
    now: number,
    accounts: Iterable<number> = this.#byAccount.keys(),
  ): Generator<Revoked> {
    for (const account of accounts) {
      for (const [connection, authority] of this.#byAccount.get(account) ?? []) {
        const service = this.#serviceOf(connection);
        const reason = revocationOf(policy, rules, authority, now, service);
        if (reason) yield { connection, reason };
      }
    }
  }
}
