// A Squid's client connections without an admitted request: if there are too many, the oldest are
// closed.
import { type ConnectionCaps, clientNetwork, mostAccepted, Tally } from '../../connection_caps.ts';
import { sourceOf } from '../sockets.ts';

/**
 * Which ones to close so that only as many wait as allowed, per address and in all. `listed`: the
 * connections of one Squid. `isWaiting`: an earlier list already showed the connection, and no
 * request had been let in on it by then.
 */
export class WaitingConnections {
  /** In the order in which they were first seen. */
  #seen = new Set<string>();

  tooMany(
    listed: readonly string[],
    isWaiting: (connection: string) => boolean,
    caps: ConnectionCaps,
  ): string[] {
    const open = new Set(listed);
    this.#seen = new Set([...this.#seen].filter((connection) => open.has(connection)));
    const ofNetwork = new Tally();
    for (const connection of listed) {
      this.#seen.add(connection);
      ofNetwork.add(clientNetwork(sourceOf(connection)), 1);
    }
    const waiting = [...this.#seen].filter(isWaiting);
    let excess = waiting.length - caps.waiting;
    const maxPerNetwork = mostAccepted(caps);
    return waiting.filter((connection) => {
      const network = clientNetwork(sourceOf(connection));
      if (excess <= 0 && ofNetwork.of(network) <= maxPerNetwork) return false;
      excess -= 1;
      ofNetwork.add(network, -1);
      return true;
    });
  }
}
