// The connections of a Squid's clients that no request was let in on: where they are too many, the oldest are closed.
import { type ConnectionCaps, clientNetwork, mostAccepted, Tally } from '../../connection_caps.ts';
import { sourceOf } from '../sockets.ts';

/**
 * Those to close, so that as many as may wait are left, of one address and in all. `listed`: the connections
 * of one Squid. `isWaiting`: an earlier list showed the connection already, and by then no request had been let in on it.
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
