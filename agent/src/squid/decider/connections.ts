// The client connections that a decider let in, with the owner of each, for revocation.
//
// Every second the agent (its half is agent/connections.ts) sends which connections the kernel
// lists, and gets the owners that it may not know. Most connections come and go between two lists
// and are never mentioned.
//
//   state        a request is let in    a list shows it     a list does not
//   ---------    -------------------    ----------------    ---------------
//   (unknown)    new                    unowned             -
//   new          new                    listed, reported    unlisted
//   unlisted     new                    listed, reported    (forgotten)
//   listed       renewed                listed              (forgotten)
//   renewed      renewed                listed, reported    unlisted
//   unowned      renewed                unowned             (forgotten)
//
// A list may be older than a connection: one that is missing from it is over only if it was let in
// before the previous list. A renewed one that is missing may have come back under the same name.
import type { Authority } from '../../policy/decision.ts';
import type { Sessions } from '../../policy/sessions.ts';
import type { ListChange, Opened } from '../protocol.ts';

type State =
  /** A request was let in since the last list, which did not show the connection. */
  | 'new'
  /** Let in before the last list, which did not show it. */
  | 'unlisted'
  /** On the last list; its owner was reported to the agent. */
  | 'listed'
  /** On the last list, and a request was let in since. */
  | 'renewed'
  /** On the last list; this decider let no request in on it. */
  | 'unowned';

export class Connections {
  readonly #sessions: Sessions;
  readonly #onOver: (connection: string) => void;
  readonly #states = new Map<string, State>();

  /** `sessions`: the owners, for revocation. `onOver` is called with each one that is over. */
  constructor(sessions: Sessions, onOver: (connection: string) => void = () => {}) {
    this.#sessions = sessions;
    this.#onOver = onOver;
  }

  /** Notes that a request was let in. */
  admit(connection: string, owner: Authority): void {
    this.#sessions.open(connection, owner);
    const state = this.#states.get(connection) ?? 'new';
    const isUnlisted = state === 'new' || state === 'unlisted';
    this.#states.set(connection, isUnlisted ? 'new' : 'renewed');
  }

  /** Takes over a connection that an earlier decider let in. */
  inherit(connection: string, owner: Authority): void {
    if (!this.#sessions.find(connection)) this.admit(connection, owner);
  }

  /** Starts again with an agent that has sent no list yet. */
  restart(): void {
    this.#states.clear();
    for (const [connection] of this.#sessions.all()) this.#states.set(connection, 'new');
  }

  /** The connections that the agent may not know yet. */
  unreported(): Opened {
    return this.#ownersOf(
      [...this.#states].flatMap(([connection, state]) => (state === 'listed' ? [] : [connection])),
    );
  }

  /** Applies a whole list, which this process makes itself while there is no agent. */
  takeWhole(connections: readonly string[]): void {
    const whole = new Set(connections);
    const removed = [...this.#states.keys()].filter((connection) => !whole.has(connection));
    this.take({ added: connections, removed });
  }

  /** Applies a list, and returns the owners of the connections that are new or renewed. */
  take({ added, removed }: ListChange): Opened {
    const reported = new Set(added);
    const missing = new Set(removed);
    for (const [connection, state] of this.#states) {
      if (reported.has(connection)) continue;
      if (state === 'renewed' && !missing.has(connection)) reported.add(connection);
      else if (state === 'new' || state === 'renewed') this.#states.set(connection, 'unlisted');
      else if (state === 'unlisted' || missing.has(connection)) this.#forget(connection);
    }
    for (const connection of reported) {
      const isOwned = this.#sessions.find(connection) !== undefined;
      this.#states.set(connection, isOwned ? 'listed' : 'unowned');
    }
    return this.#ownersOf(reported);
  }

  #forget(connection: string): void {
    this.#states.delete(connection);
    this.#sessions.close(connection);
    this.#onOver(connection);
  }

  #ownersOf(connections: Iterable<string>): Opened {
    return Array.from(connections).flatMap((connection) => {
      const owner = this.#sessions.find(connection);
      return owner ? [[connection, owner] as [string, Authority]] : [];
    });
  }
}
