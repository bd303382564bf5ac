// The traffic of a simulated node: clients of its accounts come and go by chance, and move bytes as
// long as they are let in.

import type { Rejections } from '../agent/src/link/rejection_reporter.ts';
import { isDrained, type Rules } from '../agent/src/policy/decide.ts';
import type { LastUsed } from '../agent/src/policy/last_used.ts';
import type { Account, Policy } from '../agent/src/policy/policy.ts';
import type { UsageRow } from '../agent/src/usage/journal_state.ts';
import { rejectedAt, upShare } from './life.ts';

/** The activity of one client. */
interface Session {
  account: number;
  user: number;
  connections: number;
  bytes_per_second: number;
  /** Epoch seconds. */
  until: number;
}

/** Of a session, on average. */
const usual = { bytes_per_second: 120_000, seconds: 20 };

export class Traffic {
  readonly #random: () => number;
  #sessions: Session[] = [];
  /** Bytes that were not taken yet, by account and user. */
  readonly #rows = new Map<string, UsageRow>();
  /** By account and entry of the authlist. */
  readonly #uses = new Map<string, LastUsed>();

  /** Since it began. */
  readonly rejected: Rejections = {};

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Requests and tunnels that are open. */
  get connections(): number {
    return this.#sessions.reduce((sum, session) => sum + session.connections, 0);
  }

  /** Some seconds pass, in which each account moves so many bytes a second on average. */
  pass(seconds: number, rate: number, policy: Policy, rules: Rules, now: number): void {
    const arrivals = (rate * seconds) / (usual.bytes_per_second * usual.seconds);
    const takesNew = !isDrained(policy, rules);
    for (const account of policy.accounts.values()) {
      if (takesNew && this.#random() < arrivals) this.#begin(account, now);
    }
    this.#sessions = this.#sessions.filter(
      (session) => now < session.until && isOpen(policy.accounts.get(session.account), now),
    );
    for (const session of this.#sessions) this.#move(session, seconds, now);
    for (const [reason, count] of rejectedAt(this.#random, seconds, this.connections)) {
      this.rejected[reason] = (this.rejected[reason] ?? 0) + count;
    }
  }

  /** Ends them all. */
  end(): void {
    this.#sessions = [];
  }

  takeRows(): UsageRow[] {
    const rows = Array.from(this.#rows.values());
    this.#rows.clear();
    return rows;
  }

  takeUses(): LastUsed[] {
    const uses = Array.from(this.#uses.values());
    this.#uses.clear();
    return uses;
  }

  #begin(account: Account, now: number): void {
    const users = Array.from(account.users.values()).filter((user) => user.active && user.proxy);
    const user = users[Math.floor(this.#random() * users.length)];
    if (!user || !isOpen(account, now)) return;
    const entries = Array.from(account.authlist.values());
    const entry = entries.find((entry) => entry.user === user.id && now < entry.expiry);
    if (entry) {
      const use = { account: account.id, entry: entry.id, at: now - (now % 60) };
      this.#uses.set(`${account.id} ${entry.id}`, use);
    }
    this.#sessions.push({
      account: account.id,
      user: user.id,
      connections: 1 + Math.floor(this.#random() * 8),
      bytes_per_second: usual.bytes_per_second * (0.5 + this.#random()),
      until: now + usual.seconds * (0.5 + this.#random()),
    });
  }

  #move({ account, user, bytes_per_second }: Session, seconds: number, now: number): void {
    const bytes = Math.round(bytes_per_second * seconds * (0.5 + this.#random()));
    const sent = Math.round(bytes * upShare);
    const key = `${account} ${user}`;
    const row = this.#rows.get(key) ?? { account, user, at: now, up: 0, down: 0 };
    this.#rows.set(key, {
      ...{ account, user, at: now },
      ...{ up: row.up + sent, down: row.down + bytes - sent },
    });
  }
}

/** Whether the node lets an account in, for all that the contract says. */
function isOpen(account: Account | undefined, now: number): boolean {
  const contract = account?.contract;
  return (
    contract !== undefined && !contract.suspended && !contract.blocked && now < contract.expiry
  );
}
