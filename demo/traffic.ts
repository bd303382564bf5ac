// The traffic of a simulated node: clients of its accounts come and go by chance, and move bytes as
// long as they are let in.

import { isWanted } from '../agent/src/connection_groups.ts';
import type { OpenConnection } from '../agent/src/engine.ts';
import type { Rejections } from '../agent/src/link/rejection_reporter.ts';
import { isDrained } from '../agent/src/policy/decide.ts';
import type { Rules } from '../agent/src/policy/decision.ts';
import type { Reason } from '../agent/src/policy/denials.ts';
import { faultOf } from '../agent/src/policy/identify.ts';
import type { LastUsed } from '../agent/src/policy/last_used.ts';
import type { Account, Policy } from '../agent/src/policy/policy.ts';
import type { Refusal } from '../agent/src/policy/refusals.ts';
import type { EndOrder, UsageRow } from '../kit/src/node_interface.ts';
import { rejectedAt, upShare } from './life.ts';

/** The activity of one client. */
interface Session {
  account: number;
  user: number;
  /** Its connections as people see them; the bytes are those of all. */
  seen: OpenConnection;
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

  /** Rejections as nodes report them, not taken yet. */
  readonly #refusals: Refusal[] = [];

  /** Since it began. */
  readonly rejected: Rejections = {};

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Requests and tunnels that are open. */
  get connections(): number {
    return this.#sessions.reduce((sum, session) => sum + session.connections, 0);
  }

  /** Each of them, with its share of the bytes. */
  *open(): Generator<OpenConnection> {
    for (const { seen, connections } of this.#sessions) {
      const [up, down] = [seen.up, seen.down].map((bytes) => Math.floor(bytes / connections));
      const share = { ...seen, up, down } as OpenConnection;
      for (let at = 0; at < connections; at += 1) yield share;
    }
  }

  /** Some seconds pass, in which each account moves so many bytes a second on average. */
  pass(seconds: number, rate: number, policy: Policy, rules: Rules, now: number): void {
    const arrivals = (rate * seconds) / (usual.bytes_per_second * usual.seconds);
    const takesNew = !isDrained(policy, rules);
    const exits = policy.server?.exit_ips ?? [];
    for (const account of policy.accounts.values()) {
      if (takesNew && this.#random() < arrivals) this.#begin(account, exits, now);
    }
    this.#sessions = this.#sessions.filter(
      ({ account, user, until }) => now < until && isOpen(policy.accounts.get(account), user, now),
    );
    for (const session of this.#sessions) this.#move(session, seconds, now);
    for (const [reason, count] of rejectedAt(this.#random, seconds, this.connections)) {
      this.rejected[reason] = (this.rejected[reason] ?? 0) + count;
      this.#refusals.push(this.#refusalOf(reason, count, policy, now));
    }
  }

  /** Ends those that an order names, or all; returns how many connections those were. */
  end(order: EndOrder = {}): number {
    const before = this.connections;
    this.#sessions = this.#sessions.filter(
      ({ seen }) => !isWanted(order, { ...seen, ...seen.authority }),
    );
    return before - this.connections;
  }

  takeRows(): UsageRow[] {
    const rows = Array.from(this.#rows.values());
    this.#rows.clear();
    return rows;
  }

  takeRefusals(): Refusal[] {
    return this.#refusals.splice(0);
  }

  takeUses(): LastUsed[] {
    const uses = Array.from(this.#uses.values());
    this.#uses.clear();
    return uses;
  }

  #begin(account: Account, exits: ReadonlyArray<{ ip: string }>, now: number): void {
    const users = Array.from(account.users.values()).filter(({ id }) => isOpen(account, id, now));
    const user = users[Math.floor(this.#random() * users.length)];
    const exit_ip = exits[Math.floor(this.#random() * exits.length)]?.ip;
    if (!user || exit_ip === undefined) return;
    const entries = Array.from(account.authlist.values());
    const entry = entries.find((entry) => entry.user === user.id && now < entry.expiry);
    if (entry) {
      const use = { account: account.id, entry: entry.id, at: now - (now % 60) };
      this.#uses.set(`${account.id} ${entry.id}`, use);
    }
    const who = { account: account.id, user: user.id };
    const claims = { ...who, kid: '', token_version: user.token_version, expiry: now + 3600 };
    const address = entry?.ip ?? `203.0.113.${1 + Math.floor(this.#random() * 200)}`;
    this.#sessions.push({
      ...who,
      seen: {
        ...{ service: 'proxy', address, exit_ip, since: now, last_byte_at: now, up: 0, down: 0 },
        authority: entry
          ? { by: 'authlist', ...who, entry: entry.id, ip: entry.ip }
          : { by: 'token', ...claims },
      },
      connections: 1 + Math.floor(this.#random() * 8),
      bytes_per_second: usual.bytes_per_second * (0.5 + this.#random()),
      until: now + usual.seconds * (0.5 + this.#random()),
    });
  }

  /** With a user, where the credentials name one. */
  #refusalOf(reason: Reason, count: number, policy: Policy, now: number): Refusal {
    const users = namesUser.has(reason) ? Array.from(policy.accounts.values(), proxyUsersOf) : [];
    const all = users.flat();
    const who = all[Math.floor(this.#random() * all.length)];
    const source = `203.0.113.${1 + Math.floor(this.#random() * 200)}`;
    return { at: now - (now % 60), reason, source, service: 'proxy', ...who, count };
  }

  #move(session: Session, seconds: number, now: number): void {
    const { account, user, bytes_per_second, seen } = session;
    const bytes = Math.round(bytes_per_second * seconds * (0.5 + this.#random()));
    const sent = Math.round(bytes * upShare);
    session.seen = {
      ...{ ...seen, last_byte_at: now },
      ...{ up: seen.up + sent, down: seen.down + bytes - sent },
    };
    const key = `${account} ${user}`;
    const row = this.#rows.get(key) ?? { account, user, at: now, up: 0, down: 0 };
    this.#rows.set(key, {
      ...{ account, user, at: now },
      ...{ up: row.up + sent, down: row.down + bytes - sent },
    });
  }
}

/** The reasons of a genuine token. */
const namesUser: ReadonlySet<Reason> = new Set(['expired_token', 'destination_refused']);

const proxyUsersOf = ({ id: account, users }: Account) =>
  Array.from(users.values())
    .filter(({ active, proxy }) => active && proxy)
    .map(({ id: user }) => ({ account, user }));

/** Whether the node lets a user in, for all that the contract and the user's limits say. */
function isOpen(account: Account | undefined, user_id: number, now: number): boolean {
  const user = account?.users.get(user_id);
  if (!account || !user) return false;
  return faultOf(account, user, account.contract?.port_scheme, now, 'proxy') === undefined;
}
