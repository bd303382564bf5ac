// The local ports of this machine's outgoing connections, by the kernel's current settings.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface OutgoingPorts {
  first: number;
  last: number;
  /** How many there are, without the reserved ones. */
  count: number;
  isReserved(port: number): boolean;
}

const settings = '/proc/sys/net/ipv4';
/** The kernel's own default. */
const usual = '32768 60999';
/** Ports below belong to services, and need rights. */
const lowestPort = 1024;

export function readOutgoingPorts(): OutgoingPorts {
  const [low = 0, last = 0] = read('ip_local_port_range', usual).split(/\s+/).map(Number);
  const first = Math.max(low, lowestPort);
  const reserved = new Set(rangesIn(read('ip_local_reserved_ports', '')));
  const within = [...reserved].filter((port) => port >= first && port <= last);
  return {
    first,
    last,
    count: last - first + 1 - within.length,
    isReserved: (port) => reserved.has(port),
  };
}

/** One of the ports, in use or not; 0, which is the kernel's choice, if there are none. */
export function randomPort({ first, last, count, isReserved }: OutgoingPorts): number {
  if (count <= 0) return 0;
  let port = randomInt(first, last + 1);
  while (isReserved(port)) port = randomInt(first, last + 1);
  return port;
}

function read(name: string, otherwise: string): string {
  try {
    return readFileSync(`${settings}/${name}`, 'latin1').trim();
  } catch {
    return otherwise;
  }
}

/** The ports of a list such as `8080,9000-9010`. */
function* rangesIn(list: string): Generator<number> {
  for (const part of list.split(',').filter((text) => text !== '')) {
    const [first = 0, last = first] = part.split('-').map(Number);
    for (let port = first; port <= last; port += 1) yield port;
  }
}
