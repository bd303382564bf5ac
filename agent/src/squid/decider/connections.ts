// The client connections that a decider let in, and what each rests on: half of what is known of them, for revocation.
//
// The agent has the other half (agent/connections.ts), and lists every second which connections the
// kernel has. Most come and go between two lists and are never spoken of.
//
//              ┌──a request is let in── unowned ◄──a list shows it── (unknown)
//              ▼                                                        │ a request is let in
//   ┌──────► renewed                                                    ▼
//   │          │ the next list           the next list shows it        new ◄──────┐
//   │          ▼ shows it: told          ┌─────────────────────────────┤          │ a request
//   └────── listed ◄─────────told────────┘        the next list does   ▼          │ is let in
//              │        shows it: told            not show it        unlisted ────┘
//              │ no longer on a list ◄────────────────────────────── │ nor the list after
//              ▼                                                     ▼
//           (forgotten)                                         (forgotten)
//
// A list may have been made before a connection was let in: one that is missing is over only if it
// was let in before the list before. A renewed one that is missing is new, since the name may have
// come again.
import type { Authority } from '../../policy/decide.ts';
import type { Sessions } from '../../policy/sessions.ts';
import type { ListChange, Opened } from '../protocol.ts';

type State =
  /** A request was let in since the last list, and that list did not show the connection. */
  | 'new'
  /** Let in before the last list, which did not show it. */
  | 'unlisted'
  /** On the last list; the agent knows what it rests on. */
  | 'listed'
  /** On the last list, and a request was let in since. */
  | 'renewed'
  /** On the last list; this decider let no request in on it. */
  | 'unowned';

export class Connections {
  readonly #sessions: Sessions;
  readonly #states = new Map<string, State>();

  /** `sessions`: what each connection rests on, for revocation. */
  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Notes that a request was let in. */
  admit(connection: string, authority: Authority): void {
    this.#sessions.open(connection, authority);
    const state = this.#states.get(connection);
    const isListed = state !== undefined && state !== 'new' && state !== 'unlisted';
    this.#states.set(connection, isListed ? 'renewed' : 'new');
  }

  /** Takes over a connection that an earlier decider had let in. */
  inherit(connection: string, authority: Authority): void {
    if (!this.#sessions.find(connection)) this.admit(connection, authority);
  }

  /** Begins anew, for an agent that has told no list yet. */
  restart(): void {
    this.#states.clear();
    for (const [connection] of this.#sessions.all()) this.#states.set(connection, 'new');
  }

  /** The connections that the agent may not know yet. */
  untold(): Opened {
    const states = ['new', 'unlisted', 'renewed'];
    return this.#owned(
      [...this.#states].flatMap(([connection, state]) =>
        states.includes(state) ? [connection] : [],
      ),
    );
  }

  /** Takes a whole list: with the agent away, this process makes its own. */
  takeWhole(connections: readonly string[]): void {
    const whole = new Set(connections);
    const known = [...this.#states].filter(([, state]) => state !== 'new' && state !== 'unlisted');
    this.take({
      added: connections,
      removed: known.flatMap(([connection]) => (whole.has(connection) ? [] : [connection])),
    });
  }

  /** Takes a list, and tells what the connections on it rest on that are new there or had a new request. */
  take({ added, removed }: ListChange): Opened {
    const told = new Set(added);
    const missing = new Set(removed);
    for (const [connection, state] of this.#states) {
      if (told.has(connection)) continue;
      if (state === 'renewed' && !missing.has(connection)) told.add(connection);
      else if (state === 'new' || state === 'renewed') this.#states.set(connection, 'unlisted');
      else if (state === 'unlisted' || missing.has(connection)) this.#forget(connection);
    }
    for (const connection of told) {
      const isOwned = this.#sessions.find(connection) !== undefined;
      this.#states.set(connection, isOwned ? 'listed' : 'unowned');
    }
    return this.#owned(told);
  }

  #forget(connection: string): void {
    this.#states.delete(connection);
    this.#sessions.close(connection);
  }

  #owned(connections: Iterable<string>): Opened {
    return Array.from(connections).flatMap((connection) => {
      const authority = this.#sessions.find(connection);
      return authority ? [[connection, authority] as [string, Authority]] : [];
    });
  }
}
