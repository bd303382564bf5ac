// The client connections that a decider let in, with the owner of each, for revocation: its half of what is known of them.
//
// The agent (agent/connections.ts is its half) tells every second which connections the kernel lists,
// and is told the owners that it may not know. Most connections come and go between two lists and are
// never spoken of.
//
//   state        a request is let in    a list shows it     a list does not
//   ---------    -------------------    ----------------    ---------------
//   (unknown)    new                    unowned             -
//   new          new                    listed, and told    unlisted
//   unlisted     new                    listed, and told    (forgotten)
//   listed       renewed                listed              (forgotten)
//   renewed      renewed                listed, and told    unlisted
//   unowned      renewed                unowned             (forgotten)
//
// A list may be from before a connection: one that it does not show is over only if it was let in
// before the list before. A renewed one that is gone may have come again under the same name.
import type { Authority } from '../../policy/decide.ts';
import type { Sessions } from '../../policy/sessions.ts';
import type { ListChange, Opened } from '../protocol.ts';

type State =
  /** A request was let in since the last list, and that list did not show the connection. */
  | 'new'
  /** Let in before the last list, which did not show it. */
  | 'unlisted'
  /** On the last list; the agent was told its owner. */
  | 'listed'
  /** On the last list, and a request was let in since. */
  | 'renewed'
  /** On the last list; this decider let no request in on it. */
  | 'unowned';

export class Connections {
  readonly #sessions: Sessions;
  readonly #states = new Map<string, State>();

  /** `sessions`: the owners, for revocation. */
  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Notes that a request was let in. */
  admit(connection: string, owner: Authority): void {
    this.#sessions.open(connection, owner);
    const state = this.#states.get(connection) ?? 'new';
    const isUnlisted = state === 'new' || state === 'unlisted';
    this.#states.set(connection, isUnlisted ? 'new' : 'renewed');
  }

  /** Takes over a connection that an earlier decider had let in. */
  inherit(connection: string, owner: Authority): void {
    if (!this.#sessions.find(connection)) this.admit(connection, owner);
  }

  /** Begins anew with an agent that has told no list yet. */
  restart(): void {
    this.#states.clear();
    for (const [connection] of this.#sessions.all()) this.#states.set(connection, 'new');
  }

  /** The connections that the agent may not know yet. */
  untold(): Opened {
    return this.#ownersOf(
      [...this.#states].flatMap(([connection, state]) => (state === 'listed' ? [] : [connection])),
    );
  }

  /** Takes a whole list: with the agent away, this process makes its own. */
  takeWhole(connections: readonly string[]): void {
    const whole = new Set(connections);
    const removed = [...this.#states.keys()].filter((connection) => !whole.has(connection));
    this.take({ added: connections, removed });
  }

  /** Takes a list, and tells the owners of the connections that are new there or renewed. */
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
  }

  #ownersOf(connections: Iterable<string>): Opened {
    return Array.from(connections).flatMap((connection) => {
      const owner = this.#sessions.find(connection);
      return owner ? [[connection, owner] as [string, Authority]] : [];
    });
  }
}
