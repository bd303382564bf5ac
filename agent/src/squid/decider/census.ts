// The census of a decider: the connections that it let in and that may still be open, compared with
// the caps. Squid does not report the end of a connection, so the kernel's list is read, but only
// near a cap.
import { setTimeout as sleep } from 'node:timers/promises';
import { CappedConnections, type ConnectionCaps } from '../../connection_caps.ts';
import type { Authority } from '../../policy/decision.ts';
import type { Reason } from '../../policy/denials.ts';
import type { Revoked } from '../../policy/sessions.ts';
import { keyOf, type UserCounts } from '../../user_counts.ts';
import type { Opened } from '../protocol.ts';
import { type Socket, sourceOf } from '../sockets.ts';

/** The pause after a list, in durations of that list, since a list keeps a core busy. */
const restsPerList = 10;
const shortestRestMs = 100;
/** The longest pause: clients wait for the next list. */
const longestRestMs = 2000;
/**
 * Most requests that wait for a list: half of those that Squid asks about at a time. An account may
 * use as many places as it leaves free, so that it never takes all of them.
 */
const maxWaiting = 1000;

export interface CensusOptions {
  /** The open connections: their names, and the node's addresses. */
  list: () => Promise<Iterable<Pick<Socket, 'connection' | 'local'>>>;
  /** Counts the connections of users with limits. */
  users: UserCounts;
  /** Called after a list that users waited for: `excess` includes them again. */
  onListed?: () => void;
  onError: (error: Error) => void;
}

export class Census {
  readonly #options: CensusOptions;
  readonly #counted = new CappedConnections();
  /** By connection, the node's address that it came to, if known. */
  readonly #locals = new Map<string, string>();
  /** Connections let in since the last list began, which may not show them. */
  #recent = new Set<string>();
  /**
   * Users with connections that are counted late, and may be over. None is ended until a list shows
   * that it is open.
   */
  readonly #unlisted = new Set<string>();
  /** Those of them that wait for the next list, which has not begun. */
  #unlistedNext: string[] = [];
  /** The current or last list; and the next one, if it is due and has not begun. */
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #restMs = 0;
  readonly #waiting = new Map<number, number>();
  #waitingCount = 0;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  set caps(caps: ConnectionCaps | undefined) {
    this.#counted.caps = caps;
  }

  /**
   * The reason, if it would be one too many by the last list. `local`: the node's address that it
   * came to; `-`: unknown. Names of connections do not have that address: if a client connects from
   * one port to two of them, only the first connection is let in while it is open.
   */
  admit(
    connection: string,
    source: string,
    authority: Authority,
    now: number,
    local = '-',
  ): Reason | undefined {
    const { users } = this.#options;
    const isKnown = local !== '-';
    if (isKnown && (this.#locals.get(connection) ?? local) !== local) return 'too_many_connections';
    const isConcerned = users.isConcerned(connection, authority);
    const reason = isConcerned && users.objectionTo(source, authority, now, connection);
    if (reason) return reason;
    const outcome = this.#counted.admit(connection, source, authority);
    if (outcome !== 'refused' && isKnown) this.#locals.set(connection, local);
    if (outcome !== 'refused') this.#recent.add(connection);
    if (outcome !== 'admitted') void this.nextList();
    if (outcome === 'refused') return 'too_many_connections';
    if (isConcerned) users.admit(connection, source, authority, now);
    return undefined;
  }

  /** Counts connections that an earlier decider let in. */
  inherit(connections: Opened): void {
    for (const [connection, authority] of connections) {
      this.#counted.count(connection, sourceOf(connection), authority);
    }
    if (connections.length > 0) void this.nextList();
    this.follow(connections);
  }

  /** Counts connections for their users, who may have a new limit. */
  follow(connections: Iterable<[connection: string, Authority]>): void {
    const { users } = this.#options;
    for (const [connection, authority] of connections) {
      // A list has shown that the connection is over.
      if (authority.by === 'probe' || !this.#counted.has(connection)) continue;
      const before = users.size;
      users.admit(connection, sourceOf(connection), authority, undefined);
      const key = keyOf(authority);
      // If the user already waits for a list, that one shows which connections are over.
      if (users.size === before || this.#unlisted.has(key)) continue;
      this.#unlisted.add(key);
      this.#unlistedNext.push(key);
    }
    if (this.#unlistedNext.length > 0) void this.nextList();
  }

  /** The connections that pass a limit of their user. */
  excess(now: number): Revoked[] {
    return this.#options.users.excess(now, this.#unlisted);
  }

  objectionTo(source: string, authority: Authority, now: number): Reason | undefined {
    const reason = this.#options.users.objectionTo(source, authority, now);
    if (reason) return reason;
    return this.#counted.isFullFor(source, authority) ? 'too_many_connections' : undefined;
  }

  /** A connection is over. */
  close(connection: string): void {
    this.#locals.delete(connection);
    this.#counted.close(connection);
    this.#options.users.close(connection);
  }

  /** Resolves with the next list, for a refused request; undefined if too many wait. */
  wait(authority: Authority): Promise<void> | undefined {
    const account = authority.by === 'probe' ? 0 : authority.account;
    const count = this.#waiting.get(account) ?? 0;
    if (count >= maxWaiting - this.#waitingCount) return undefined;
    this.#waiting.set(account, count + 1);
    this.#waitingCount += 1;
    return this.nextList().finally(() => {
      this.#waitingCount -= 1;
      const remaining = (this.#waiting.get(account) ?? 1) - 1;
      if (remaining > 0) this.#waiting.set(account, remaining);
      else this.#waiting.delete(account);
    });
  }

  /** Resolves when a list that begins after this call has shown which connections are over. */
  nextList(): Promise<void> {
    this.#next ??= this.#last.then(() => sleep(this.#restMs)).then(() => this.#begin());
    return this.#next;
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    this.#last = this.#look();
    return this.#last;
  }

  async #look(): Promise<void> {
    const begin = performance.now();
    this.#recent = new Set();
    const unlisted = this.#unlistedNext;
    this.#unlistedNext = [];
    try {
      const open = new Set<string>();
      const localOf = new Map<string, string>();
      for (const { connection, local = '-' } of await this.#options.list()) {
        // Unknown if an earlier decider let it in; then any connection of the name counts.
        if (local === (this.#locals.get(connection) ?? local)) open.add(connection);
        localOf.set(connection, local);
      }
      for (const connection of [...this.#counted.names(), ...this.#options.users.names()]) {
        const local = localOf.get(connection);
        if (!open.has(connection) && !this.#recent.has(connection)) this.close(connection);
        else if (local !== undefined && !this.#locals.has(connection)) {
          this.#locals.set(connection, local);
        }
      }
    } catch (error) {
      this.#options.onError(error as Error);
    }
    for (const key of unlisted) this.#unlisted.delete(key);
    if (unlisted.length > 0) this.#options.onListed?.();
    const duration = performance.now() - begin;
    const rest = Math.max(shortestRestMs, duration * restsPerList);
    this.#restMs = Math.min(rest, longestRestMs);
  }
}
