// The networks that a client may have all addresses of, and places that clients share by them.
import type { Server, Socket } from 'node:net';
import { canonicalAddress } from './address.ts';
import { HttpServer } from './node_http.ts';

/** Prefixes that one customer gets, and how many times the bound of one address each may have. */
const widths = [
  { bits: 64, share: 1 },
  { bits: 56, share: 2 },
  { bits: 48, share: 4 },
] as const;

export interface ClientNetwork {
  name: string;
  /** The network may have this many times as many connections as one IPv4 address. */
  share: number;
}

/** An IPv4 address is a network by itself; an IPv6 address is in three: its /64, /56 and /48. */
export function clientNetworks(address: string): ClientNetwork[] {
  const canonical = canonicalAddress(address.replace(/%.*$/, '')) ?? address;
  if (!canonical.includes(':')) return [{ name: canonical, share: 1 }];
  const groups = leadingGroups(canonical);
  return widths.map(({ bits, share }) => {
    const prefix = groups.slice(0, Math.ceil(bits / 16));
    if (bits === 56) prefix[3] = (prefix[3] as number) & 0xff00;
    return { name: `${prefix.map((group) => group.toString(16)).join(':')}::/${bits}`, share };
  });
}

/** The first four groups of a canonical IPv6 address. */
function leadingGroups(canonical: string): number[] {
  const [head = '', tail] = canonical.split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail ? tail.split(':') : [];
  while (groups.length + behind.length < 8) groups.push('0');
  return groups
    .concat(behind)
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16));
}

/** Counts by network. */
export class NetworkTally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(networks: readonly ClientNetwork[], change: 1 | -1): void {
    for (const { name } of networks) {
      const count = this.of(name) + change;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }

  /** Whether one more would exceed `max` for one address, or its multiple for a wider network. */
  isFull(networks: readonly ClientNetwork[], max: number): boolean {
    return networks.some(({ name, share }) => this.of(name) >= max * share);
  }
}

/** A few places for clients of whom nothing is known. A network has only some of them. */
export class Places<T extends { destroy(): unknown }> {
  readonly #max: number;
  readonly #maxPerNetwork: number;
  readonly #tally = new NetworkTally();
  /** The oldest first. */
  readonly #clients = new Map<T, readonly ClientNetwork[]>();

  constructor(max: number, maxPerNetwork: number) {
    this.#max = max;
    this.#maxPerNetwork = maxPerNetwork;
  }

  /**
   * False when the client's own network has its share. When all places are taken, the oldest of the
   * network with the most of them is ended.
   */
  take(client: T, address: string): boolean {
    const networks = clientNetworks(address);
    if (this.#tally.isFull(networks, this.#maxPerNetwork)) return false;
    if (this.#clients.size >= this.#max) this.#endOldest();
    this.#clients.set(client, networks);
    this.#tally.add(networks, 1);
    return true;
  }

  leave(client: T): void {
    const networks = this.#clients.get(client);
    if (networks && this.#clients.delete(client)) this.#tally.add(networks, -1);
  }

  #endOldest(): void {
    let oldest: T | undefined;
    let largest = 0;
    for (const [client, networks] of this.#clients) {
      const size = Math.max(...networks.map(({ name, share }) => this.#tally.of(name) / share));
      if (size > largest) [oldest, largest] = [client, size];
    }
    if (!oldest) return;
    this.leave(oldest);
    oldest.destroy();
  }
}

const maxConnections = 64;
/** Authorities check from several networks, with a connection or two of each. */
const maxPerNetwork = 8;
/** How long a request on such a listener may take to arrive. */
const requestMs = 10_000;
/** For `createServer` of a listener whose clients share few places. */
export const smallListener = {
  requestTimeout: requestMs,
  headersTimeout: requestMs,
  connectionsCheckingInterval: requestMs / 5,
};

/**
 * A listener without authentication that few use: its connections share a few places, and each
 * carries one request, since those that are sent ahead would all be worked on at once.
 */
export function shareConnections(server: Server): void {
  if (server instanceof HttpServer) {
    server.maxRequestsPerSocket = 1;
    server.on('dropRequest', (_request, socket: Socket) => socket.destroy());
  }
  const places = new Places<Socket>(maxConnections, maxPerNetwork);
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {});
    if (!places.take(socket, socket.remoteAddress ?? '')) return void socket.destroy();
    socket.on('close', () => places.leave(socket));
  });
}
