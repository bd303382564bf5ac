// Connections of which nobody knows what they rest on: the decider that let them in died before it told. They are closed.
import type { Authority } from '../policy/decide.ts';
import type { Socket } from './sockets.ts';

/** Lists after a loss that are searched: the first may be from just before it. */
const searched_lists = 2;
/** So many lists a connection has for a request: the next decider answers within one. */
const patience = 3;

export class Orphans {
  #searches = 0;
  /** By the kernel's cookie: in how many lists each was seen without an authority. */
  readonly #suspects = new Map<string, number>();

  /** A decider is gone that did not say whom it had let in. */
  expect(): void {
    this.#searches = searched_lists;
  }

  /** Takes a list that a decider has answered; tells which of these are to be closed, until they are gone. */
  take(sockets: readonly Socket[], authorities: ReadonlyMap<string, Authority>): string[] {
    const unknown = new Map(
      sockets.flatMap(({ cookie, connection }) =>
        authorities.has(connection) ? [] : [[cookie, connection] as const],
      ),
    );
    for (const [cookie, lists] of this.#suspects) {
      if (unknown.has(cookie)) this.#suspects.set(cookie, lists + 1);
      else this.#suspects.delete(cookie);
    }
    if (this.#searches > 0) {
      this.#searches -= 1;
      for (const cookie of unknown.keys()) {
        if (!this.#suspects.has(cookie)) this.#suspects.set(cookie, 0);
      }
    }
    return [...this.#suspects].flatMap(([cookie, lists]) => {
      const connection = unknown.get(cookie);
      return connection !== undefined && lists >= patience ? [connection] : [];
    });
  }
}
