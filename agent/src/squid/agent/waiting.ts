// A Squid's client connections without an admitted request. If there are too many, the oldest are
// closed.
import { clientNetworks, NetworkTally } from '../../../../kit/src/client_networks.ts';
import { type ConnectionCaps, maxAccepted } from '../../connection_caps.ts';
import { sourceOf } from '../sockets.ts';

/**
 * Selects the connections to close, so that only as many wait as allowed, per address and in all.
 * `listed`: the connections of one Squid. `isWaiting`: an earlier list already showed the
 * connection, and no request on it had been admitted by then.
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
    const ofNetwork = new NetworkTally();
    for (const connection of listed) {
      this.#seen.add(connection);
      ofNetwork.add(clientNetworks(sourceOf(connection)), 1);
    }
    const waiting = [...this.#seen].filter(isWaiting);
    let excess = waiting.length - caps.waiting;
    const maxPerNetwork = maxAccepted(caps);
    return waiting.filter((connection) => {
      const networks = clientNetworks(sourceOf(connection));
      const isOver = networks.some(({ name, share }) => ofNetwork.of(name) > maxPerNetwork * share);
      if (excess <= 0 && !isOver) return false;
      excess -= 1;
      ofNetwork.add(networks, -1);
      return true;
    });
  }
}
