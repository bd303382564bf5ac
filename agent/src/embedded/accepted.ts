// The connections that were accepted: few of one address, few without a request that was let in, and counted from there on.
import type { Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';
import {
  CappedConnections,
  type ConnectionCaps,
  clientNetwork,
  mostAccepted,
  Tally,
} from '../connection_caps.ts';
import type { Authority } from '../policy/decide.ts';

export class Accepted {
  readonly #caps: ConnectionCaps;
  readonly #byNetwork = new Tally();
  /** No request was let in on these yet, the oldest first; by the ends of the connection. */
  readonly #waiting = new Map<string, Socket>();
  readonly #admitted: CappedConnections;
  readonly #open = new Set<string>();

  constructor(caps: ConnectionCaps) {
    this.#caps = caps;
    this.#admitted = new CappedConnections(caps);
  }

  /**
   * Takes a connection, ahead of TLS. One too many of its address is closed; where too many wait, the
   * oldest makes room: those who have a request to make are done before.
   */
  accept(socket: Socket, own: Own): void {
    const ends = endsOf(socket);
    const network = clientNetwork(socket.remoteAddress ?? '');
    if (ends === undefined || this.#byNetwork.of(network) >= mostAccepted(this.#caps)) {
      socket.destroy();
      return;
    }
    this.#byNetwork.add(network, 1);
    this.#open.add(ends);
    this.#waiting.set(ends, socket);
    socket.once(
      'close',
      own(() => {
        this.#byNetwork.add(network, -1);
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

  /** False: it would be one too many of this authority or address, or in all. */
  admit(socket: Socket, authority: Authority): boolean {
    const ends = endsOf(socket);
    // It is closed by now.
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

/** The same before and in TLS; undefined of a connection that is gone. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
