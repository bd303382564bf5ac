// The connections of all listeners: how many, per address and in total, and which one gives way.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { canonicalAddress, type Network } from '../../../kit/src/address.ts';
import { clientNetworks } from '../../../kit/src/client_networks.ts';
import { type Own, ownedByConnection, ownedByLog } from '../../../kit/src/owner.ts';
import { connectionsWithin, descriptorLimit } from '../bounds/descriptors.ts';
import { type Config, isLoopback } from '../config.ts';
import { addressInNetworks } from '../values/address.ts';
import { Connection } from './connection.ts';

export interface ConnectionLimits {
  /** In total, including reserved places. */
  max: number;
  /**
   * For one IPv4 address or IPv6 /64; twice as many for a /56, four times for a /48. Undefined: no
   * limit for loopback, else `usualPerAddress`.
   */
  max_per_address: number | undefined;
  /** How long a client may stop reading its response. */
  unread_seconds: number;
  /** Many clients connect from these addresses. */
  trusted_proxies: Network[];
}

const usualPerAddress = 256;
/** The shares of all places that are reserved. */
const operatorShare = 1 / 8;
const maxOperatorPlaces = 32;
const nodeShare = 1 / 4;
const lookMs = 1000;

/**
 * Operators on loopback and the streams of nodes have reserved places; all others share the rest.
 * At a limit, an idle connection gives way: first one that never had a response, then one of the
 * largest network, then the oldest. If all are busy, the new connection is closed.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #log: Logger;
  readonly #reserve: { operators: number; nodes: number };
  readonly #operators = new Set<Connection>();
  readonly #nodes = new Set<Connection>();
  readonly #others = new Set<Connection>();
  readonly #networks = new Map<string, Set<Connection>>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  readonly #look: NodeJS.Timeout;
  readonly #all = { waiting: 0 };

  constructor(limits: ConnectionLimits, log: Logger) {
    this.#limits = limits;
    this.#log = log;
    this.#reserve = {
      operators: Math.min(maxOperatorPlaces, Math.ceil(limits.max * operatorShare)),
      nodes: Math.floor(limits.max * nodeShare),
    };
    this.#look = setInterval(
      ownedByLog(log)(() => this.#cutUnread()),
      lookMs,
    );
    this.#look.unref();
  }

  /** As many as the settings and the file descriptors of this process allow. */
  static within(config: Config, log: Logger): Connections {
    const limits = {
      ...config,
      max: Math.min(config.max_connections, connectionsWithin(descriptorLimit())),
      max_per_address: config.max_connections_per_address,
    };
    return new Connections(limits, log);
  }

  /** How many are open. */
  get size(): number {
    return this.#operators.size + this.#nodes.size + this.#others.size;
  }

  /** Sees every connection of a server before the server does. */
  guard(server: Server, servesOperators: boolean): void {
    const accept = server.listeners('connection') as Array<(socket: Socket) => void>;
    const handshaking = new Map<string, Connection>();
    server.removeAllListeners('connection');
    // Node closes connections as idle once the last bytes are written, even unsent; it calls this.
    const closeIdle = server.closeIdleConnections;
    server.closeIdleConnections = () => {
      const unsent = this.#unsentOf(server);
      // Node cannot leave any out; during the call these cannot be ended.
      for (const socket of unsent) socket.destroy = () => socket;
      closeIdle.call(server);
      for (const socket of unsent) Reflect.deleteProperty(socket, 'destroy');
    };
    const take = (raw: Socket, own: Own) => {
      const connection = this.#admit(server, raw, servesOperators, own);
      if (!connection) {
        raw.destroy();
        return;
      }
      const name = nameOf(raw);
      handshaking.set(name, connection);
      const closed = () => {
        handshaking.delete(name);
        connection.forget();
        this.#remove(connection);
      };
      raw.once('close', own(closed));
      for (const listen of accept) listen.call(server, raw);
    };
    const carry = (socket: Socket) => {
      const connection = handshaking.get(nameOf(socket));
      if (!connection) return void socket.destroy();
      connection.carryHttp(socket);
      this.#bySocket.set(socket, connection);
    };
    const owned = (socket: Socket, work: (socket: Socket, own: Own) => void) => {
      const own = ownedByConnection(this.#log, socket);
      own(work)(socket, own);
    };
    server.on('connection', (raw: Socket) => owned(raw, take));
    server.on('secureConnection', (socket: Socket) => owned(socket, carry));
  }

  /** The connection of a socket that carries HTTP; undefined during the TLS handshake. */
  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Moves a connection that carries a node's stream to a place for nodes, if one is free. */
  keepForNode(socket: Socket): void {
    const connection = this.of(socket);
    if (!connection || this.#nodes.size >= this.#reserve.nodes) return;
    if (this.#others.delete(connection)) this.#nodes.add(connection);
  }

  /** Ends the connections of a server, including those whose TLS has not begun. */
  cut(server: Server): void {
    for (const connection of this.#of(server)) connection.cut();
  }

  /** Ends the connections of a server on which no request has begun. */
  cutUnused(server: Server): void {
    for (const connection of this.#of(server)) {
      if (connection.isUnused) connection.cut();
    }
  }

  close(): void {
    clearInterval(this.#look);
  }

  #unsentOf(server: Server): Socket[] {
    return this.#of(server)
      .filter(({ hasUnsent }) => hasUnsent)
      .map(({ socket }) => socket);
  }

  #of(server: Server): Connection[] {
    return [this.#operators, this.#nodes, this.#others]
      .flatMap((set) => [...set])
      .filter((connection) => connection.server === server);
  }

  #admit(server: Server, raw: Socket, servesOperators: boolean, own: Own): Connection | undefined {
    const address = raw.remoteAddress;
    // Gone already.
    if (address === undefined) return undefined;
    const isLocal = isLoopback(canonicalAddress(address) ?? address);
    const networks = clientNetworks(address);
    const connection = new Connection(server, raw, networks, this.#all, own);
    const hasPlace = servesOperators && isLocal && this.#operators.size < this.#reserve.operators;
    if (!hasPlace) {
      const limit = this.#limitOf(address, isLocal);
      for (const { name, share } of networks) {
        const others = this.#networks.get(name) ?? [];
        if (this.#sizeOf(name) >= limit * share && !this.#giveWay(others)) return undefined;
      }
      const places = this.#limits.max - this.#reserve.operators - this.#reserve.nodes;
      if (this.#others.size >= places && !this.#giveWay(this.#others)) return undefined;
    }
    this.#bySocket.set(raw, connection);
    if (hasPlace) {
      // Not counted with its address: it would make room for one of the others, and so on.
      this.#operators.add(connection);
      return connection;
    }
    this.#others.add(connection);
    for (const { name } of networks) {
      this.#networks.set(name, (this.#networks.get(name) ?? new Set()).add(connection));
    }
    return connection;
  }

  #limitOf(address: string, isLocal: boolean): number {
    const { max_per_address, trusted_proxies } = this.#limits;
    if (addressInNetworks(address, trusted_proxies)) return Number.POSITIVE_INFINITY;
    return max_per_address ?? (isLocal ? Number.POSITIVE_INFINITY : usualPerAddress);
  }

  /** Cuts one of these that is idle. Sets keep their order: the first is the oldest. */
  #giveWay(connections: Iterable<Connection>): boolean {
    let chosen: Connection | undefined;
    let maxWeight = -1;
    for (const connection of connections) {
      if (!connection.isIdle || this.#nodes.has(connection)) continue;
      const sizes = connection.networks.map(({ name, share }) => this.#sizeOf(name) / share);
      const weight = Math.max(...sizes) + (connection.isServed ? 0 : 1e9);
      if (weight > maxWeight) [chosen, maxWeight] = [connection, weight];
    }
    if (!chosen) return false;
    chosen.cut();
    this.#remove(chosen);
    return true;
  }

  #remove(connection: Connection): void {
    for (const set of [this.#operators, this.#nodes, this.#others]) set.delete(connection);
    for (const { name } of connection.networks) {
      const others = this.#networks.get(name);
      others?.delete(connection);
      if (others?.size === 0) this.#networks.delete(name);
    }
  }

  #sizeOf(network: string): number {
    return this.#networks.get(network)?.size ?? 0;
  }

  #cutUnread(): void {
    const now = performance.now();
    for (const set of [this.#operators, this.#nodes, this.#others]) {
      for (const connection of set) {
        if (!connection.isIdle && connection.unreadSeconds(now) > this.#limits.unread_seconds) {
          connection.cut();
        }
      }
    }
  }
}

/** One name for both sockets of a connection with TLS. */
const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
