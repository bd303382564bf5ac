// The census of a decider: the connections that it let in and that may be open, compared with the
// caps. Squid does not report the end of a connection, so the kernel's list is read, but only when
// a cap comes near.
import { setTimeout as sleep } from 'node:timers/promises';
import { CappedConnections, type ConnectionCaps } from '../../connection_caps.ts';
import type { Authority } from '../../policy/decision.ts';
import type { Reason } from '../../policy/denials.ts';
import type { Revoked } from '../../policy/sessions.ts';
import { keyOf, type UserCounts } from '../../user_counts.ts';
import type { Opened } from '../protocol.ts';
import { type Socket, sourceOf } from '../sockets.ts';
import { nameOf, Twins } from './twins.ts';

/** The pause between lists, in durations of the last one, since a list keeps a core busy. */
const restsPerList = 10;
const shortestRestMs = 100;
/** The longest pause: a client that waits for the next list must still be there. */
const longestRestMs = 2000;
/**
 * Requests that may wait for a list: half of those that Squid asks about at a time. An account may
 * have as many as it leaves free, so that one alone never takes the places of all others.
 */
const maxWaiting = 1000;

export interface CensusOptions {
  /** The open connections: their names, and the node's addresses. */
  list: () => Promise<Iterable<Pick<Socket, 'connection' | 'local'>>>;
  /** Counts the connections of users with limits. */
  users: UserCounts;
  /** Called after a list on which users depended: `excess` does not leave them out any more. */
  onListed?: () => void;
  onError: (error: Error) => void;
}

export class Census {
  readonly #options: CensusOptions;
  readonly #counted = new CappedConnections();
  readonly #twins = new Twins();
  /** Connections let in since the last list began: it may not show them. */
  #recent = new Set<string>();
  /**
   * Users with connections that count late, and may be over. Until a list has shown it, none of
   * them is ended.
   */
  readonly #unlisted = new Set<string>();
  /** Those of them that the next list is for, which has not begun. */
  #unlistedNext: string[] = [];
  /** The list that is under way, or the last one; and the next one, which has not begun. */
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #rest_milliseconds = 0;
  readonly #waiting = new Map<number, number>();
  #waiting_count = 0;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  set caps(caps: ConnectionCaps | undefined) {
    this.#counted.caps = caps;
  }

  /** The reason if it would be one too many by the last list. */
  admit(
    name: string,
    source: string,
    authority: Authority,
    now: number,
    local?: string,
  ): Reason | undefined {
    const { users } = this.#options;
    const connection = this.#twins.keyOf(name, local);
    const isConcerned = users.isConcerned(connection, authority);
    const reason = isConcerned && users.objectionTo(source, authority, now, connection);
    if (reason) return reason;
    const outcome = this.#counted.admit(connection, source, authority);
    if (outcome !== 'refused') this.#twins.note(connection, local);
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
    this.follow(connections);
  }

  /** Counts connections for their users, who may have a new limit. */
  follow(connections: Iterable<[connection: string, Authority]>): void {
    const { users } = this.#options;
    for (const [name, authority] of connections) {
      // A list has shown that it is over.
      const counted = this.#twins.keysOf(name).filter((key) => this.#counted.has(key));
      if (authority.by === 'probe' || counted.length === 0) continue;
      const before = users.size;
      for (const key of counted) users.admit(key, sourceOf(name), authority, undefined);
      const key = keyOf(authority);
      // One that waits needs no later list: this one shows which of its connections are over.
      if (users.size === before || this.#unlisted.has(key)) continue;
      this.#unlisted.add(key);
      this.#unlistedNext.push(key);
    }
    if (this.#unlistedNext.length > 0) void this.nextList();
  }

  /** The connections that pass a limit of their user. */
  excess(now: number): Revoked[] {
    return this.#options.users
      .excess(now, this.#unlisted)
      .map(({ connection, reason }) => ({ connection: nameOf(connection), reason }));
  }

  objectionTo(source: string, authority: Authority, now: number): Reason | undefined {
    const reason = this.#options.users.objectionTo(source, authority, now);
    if (reason) return reason;
    return this.#counted.isFullFor(source, authority) ? 'too_many_connections' : undefined;
  }

  /** A connection is over, and all of its name. */
  close(name: string): void {
    for (const key of this.#twins.keysOf(name)) this.#forget(key);
  }

  #forget(key: string): void {
    this.#counted.close(key);
    this.#options.users.close(key);
    this.#twins.forget(key);
  }

  /** Nothing else shows that one of several of a name is over. */
  lookAtTwins(): void {
    if (this.#twins.size > 0) void this.nextList();
  }

  /** Resolves with the next list, for a refused request; undefined if too many wait. */
  wait(authority: Authority): Promise<void> | undefined {
    const account = authority.by === 'probe' ? 0 : authority.account;
    const count = this.#waiting.get(account) ?? 0;
    if (count >= maxWaiting - this.#waiting_count) return undefined;
    this.#waiting.set(account, count + 1);
    this.#waiting_count += 1;
    return this.nextList().finally(() => {
      this.#waiting_count -= 1;
      const remaining = (this.#waiting.get(account) ?? 1) - 1;
      if (remaining > 0) this.#waiting.set(account, remaining);
      else this.#waiting.delete(account);
    });
  }

  /** Resolves when a list that begins after this call has shown which connections are over. */
  nextList(): Promise<void> {
    this.#next ??= this.#last.then(() => sleep(this.#rest_milliseconds)).then(() => this.#begin());
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
      const isOpen = this.#twins.among(await this.#options.list());
      for (const key of [...this.#counted.names(), ...this.#options.users.names()]) {
        if (!isOpen(key) && !this.#recent.has(key)) this.#forget(key);
      }
    } catch (error) {
      this.#options.onError(error as Error);
    }
    for (const key of unlisted) this.#unlisted.delete(key);
    if (unlisted.length > 0) this.#options.onListed?.();
    const duration = performance.now() - begin;
    const rest = Math.max(shortestRestMs, duration * restsPerList);
    this.#rest_milliseconds = Math.min(rest, longestRestMs);
  }
}
