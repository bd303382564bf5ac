// Accepted connections: capped per address, and in all while they have no admitted request; counted
// for their user after that.
import type { Socket } from 'node:net';
import { clientNetworks, NetworkTally } from '../../../kit/src/client_networks.ts';
import type { Own } from '../../../kit/src/owner.ts';
import { CappedConnections, type ConnectionCaps, maxAccepted } from '../connection_caps.ts';
import type { Authority } from '../policy/decision.ts';
import type { Reason } from '../policy/denials.ts';
import type { UserCounts } from '../user_counts.ts';
import type { Connection } from './connections.ts';
import { noticeGone } from './gone.ts';

interface Open {
  /** Before TLS. */
  socket: Socket;
  connection?: Connection;
}

export class Accepted {
  readonly #caps: ConnectionCaps;
  readonly #byNetwork = new NetworkTally();
  /** Connections without an admitted request, oldest first, by the two ends of the connection. */
  readonly #waiting = new Map<string, Socket>();
  readonly #admitted: CappedConnections;
  /** By the same key, the accepted socket, and the connection once a request is admitted. */
  readonly #open = new Map<string, Open>();
  readonly #users: UserCounts;

  constructor(caps: ConnectionCaps, users: UserCounts) {
    this.#caps = caps;
    this.#users = users;
    this.#admitted = new CappedConnections(caps);
  }

  /**
   * Accepts a connection, before TLS. It is closed if its address has too many. If too many are
   * waiting, the oldest is closed: a client with a request to make would be done by then.
   */
  accept(socket: Socket, own: Own): void {
    const ends = endsOf(socket);
    const networks = clientNetworks(socket.remoteAddress ?? '');
    if (ends === undefined || this.#byNetwork.isFull(networks, maxAccepted(this.#caps))) {
      socket.destroy();
      return;
    }
    // The client may reuse its port before the end of its last connection is noticed.
    this.#forget(ends);
    this.#byNetwork.add(networks, 1);
    this.#open.set(ends, { socket });
    this.#waiting.set(ends, socket);
    noticeGone(socket, own);
    socket.once(
      'close',
      own(() => {
        this.#byNetwork.add(networks, -1);
        if (this.#open.get(ends)?.socket === socket) this.#forget(ends);
      }),
    );
    if (this.#waiting.size <= this.#caps.waiting) return;
    const [oldest, longest] = this.#waiting.entries().next().value as [string, Socket];
    this.#waiting.delete(oldest);
    longest.destroy();
  }

  #forget(ends: string): void {
    this.#open.delete(ends);
    this.#waiting.delete(ends);
    this.#admitted.close(ends);
    this.#users.close(ends);
  }

  /** The reason, if it would be one too many: for the authority, the address, or in all. */
  admit(connection: Connection, authority: Authority, now: number): Reason | undefined {
    const { socket } = connection;
    const ends = endsOf(socket);
    const open = ends === undefined ? undefined : this.#open.get(ends);
    // It is already closed.
    if (ends === undefined || !open) return undefined;
    const source = socket.remoteAddress ?? '';
    const isConcerned = this.#users.isConcerned(ends, authority);
    const reason = isConcerned && this.#users.objectionTo(source, authority, now, ends);
    if (reason) return reason;
    if (this.#admitted.admit(ends, source, authority) === 'refused') return 'too_many_connections';
    if (isConcerned) this.#users.admit(ends, source, authority, now);
    open.connection = connection;
    this.#waiting.delete(ends);
    return undefined;
  }

  objectionTo(source: string, authority: Authority, now: number): Reason | undefined {
    const reason = this.#users.objectionTo(source, authority, now);
    if (reason) return reason;
    return this.#admitted.isFullFor(source, authority) ? 'too_many_connections' : undefined;
  }

  /** Counts an admitted connection for its user, who may have a new limit. */
  follow({ socket }: Connection, authority: Authority): void {
    const ends = endsOf(socket);
    if (ends !== undefined && this.#open.has(ends)) {
      this.#users.admit(ends, socket.remoteAddress ?? '', authority, undefined);
    }
  }

  /** Notes when the connections of users with limits last carried a byte. */
  look(now: number): void {
    for (const name of this.#users.names()) {
      const { connection } = this.#open.get(name) ?? {};
      if (connection) this.#users.moved(name, connection.look(now).last_byte_at);
    }
  }

  /** The connections that pass a limit of their user. */
  excess(now: number): Array<{ connection: Connection; reason: Reason }> {
    return this.#users.excess(now).flatMap(({ connection: name, reason }) => {
      const { connection } = this.#open.get(name) ?? {};
      return connection ? [{ connection, reason }] : [];
    });
  }
}

/** The key of a connection, the same before and within TLS; undefined if it is closed. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
