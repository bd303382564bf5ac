// Accepted connections. They are capped per address and while no request was let in, and counted
// after that.
import type { Socket } from 'node:net';
import { clientNetworks, NetworkTally } from '../../../kit/src/client_networks.ts';
import type { Own } from '../../../kit/src/owner.ts';
import { CappedConnections, type ConnectionCaps, mostAccepted } from '../connection_caps.ts';
import type { Authority } from '../policy/decision.ts';
import { noticeGone } from './gone.ts';

export class Accepted {
  readonly #caps: ConnectionCaps;
  readonly #byNetwork = new NetworkTally();
  /** Connections without an admitted request, oldest first, by the two ends of the connection. */
  readonly #waiting = new Map<string, Socket>();
  readonly #admitted: CappedConnections;
  readonly #open = new Set<string>();

  constructor(caps: ConnectionCaps) {
    this.#caps = caps;
    this.#admitted = new CappedConnections(caps);
  }

  /**
   * Accepts a connection, before TLS. It is closed if its address has too many. If too many are
   * waiting, the oldest is closed: a client with a request to make would be done by then.
   */
  accept(socket: Socket, own: Own): void {
    const ends = endsOf(socket);
    const networks = clientNetworks(socket.remoteAddress ?? '');
    if (ends === undefined || this.#byNetwork.isFull(networks, mostAccepted(this.#caps))) {
      socket.destroy();
      return;
    }
    this.#byNetwork.add(networks, 1);
    this.#open.add(ends);
    this.#waiting.set(ends, socket);
    noticeGone(socket, own);
    socket.once(
      'close',
      own(() => {
        this.#byNetwork.add(networks, -1);
        this.#open.delete(ends);
        this.#waiting.delete(ends);
        this.#admitted.close(ends);
      }),
    );
    if (this.#waiting.size <= this.#caps.waiting) return;
    const [oldest, longest] = this.#waiting.entries().next().value as [string, Socket];
    this.#waiting.delete(oldest);
    longest.destroy();
  }

  /** False if it would be one too many for this authority or address, or in all. */
  admit(socket: Socket, authority: Authority): boolean {
    const ends = endsOf(socket);
    // It is already closed.
    if (ends === undefined || !this.#open.has(ends)) return true;
    if (this.#admitted.admit(ends, socket.remoteAddress ?? '', authority) === 'refused')
      return false;
    this.#waiting.delete(ends);
    return true;
  }

  isFullFor(source: string, authority: Authority): boolean {
    return this.#admitted.isFullFor(source, authority);
  }
}

/** The same before and within TLS; undefined for a closed connection. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
