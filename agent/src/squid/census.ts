// Which of the connections that were let in are still open: the decider is told what the kernel lists, and forgets the rest.
import type { Authority } from '../policy/decide.ts';
import type { Sessions } from '../policy/sessions.ts';

/** Client connections in the kernel's list, against the list before. */
export interface Listed {
  added: string[];
  removed: string[];
}

/**
 * Most connections come and go between two lists and are never spoken of. One that is missing in a
 * list is over only if it was let in before the list before: it may be younger than this one.
 */
export class Census {
  readonly #sessions: Sessions;
  readonly #listed = new Set<string>();
  /** Let in since the last list, and between that and the one before. */
  #young = new Set<string>();
  #middle = new Set<string>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Notes a connection that was let in. */
  admit(connection: string, authority: Authority): void {
    this.#sessions.open(connection, authority);
    this.#young.add(connection);
  }

  /** Takes what an earlier decider had let in. */
  inherit(connection: string, authority: Authority): void {
    if (!this.#sessions.find(connection)) this.admit(connection, authority);
  }

  /** Begins anew with whoever makes the lists: nothing is listed yet. */
  restart(): void {
    this.#listed.clear();
    this.#young = new Set(Array.from(this.#sessions.all(), ([connection]) => connection));
    this.#middle = new Set();
  }

  /** What was let in, and may not have been on a list yet. */
  untold(): Array<[connection: string, Authority]> {
    return this.#withAuthority(new Set([...this.#middle, ...this.#young]));
  }

  /** Takes a list that is not against another one. */
  takeWhole(connections: readonly string[]): void {
    const whole = new Set(connections);
    this.take({
      added: connections.filter((connection) => !this.#listed.has(connection)),
      removed: [...this.#listed].filter((connection) => !whole.has(connection)),
    });
  }

  /** Takes a list, and tells what the connections on it rest on that are new there or were judged since. */
  take({ added, removed }: Listed): Array<[connection: string, Authority]> {
    for (const connection of added) this.#listed.add(connection);
    for (const connection of removed) this.#listed.delete(connection);
    for (const missing of [this.#middle, removed]) {
      for (const connection of missing) {
        if (this.#listed.has(connection) || this.#young.has(connection)) continue;
        this.#sessions.close(connection);
      }
    }
    const news = new Set(added);
    for (const connection of this.#young) if (this.#listed.has(connection)) news.add(connection);
    this.#middle = this.#young;
    this.#young = new Set();
    return this.#withAuthority(news);
  }

  #withAuthority(connections: ReadonlySet<string>): Array<[connection: string, Authority]> {
    return Array.from(connections).flatMap((connection) => {
      const authority = this.#sessions.find(connection);
      return authority ? [[connection, authority] as [string, Authority]] : [];
    });
  }
}
