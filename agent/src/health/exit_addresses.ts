// Checks that this machine has the addresses of its exits: no connection can leave from an address
// that it lacks.
import { createSocket } from 'node:dgram';
import { createServer, isIPv6 } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Fault } from '../faults.ts';
import type { Listener } from '../policy/policy.ts';

export interface ExitAddressesOptions {
  /** Where the engine listens, by port of the policy. */
  listeners: () => ReadonlyMap<number, Listener>;
  clock: Clock;
}

const lookSeconds = 10;
/** The interval at the start, until there is a policy. */
const firstLookSeconds = 1;

export class ExitAddresses {
  readonly #options: ExitAddressesOptions;
  #missing: string[] = [];

  constructor(options: ExitAddressesOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const exits = await this.look();
      await this.#options.clock.sleep(exits === 0 ? firstLookSeconds : lookSeconds, signal);
    }
  }

  /** Returns the number of exits. */
  async look(): Promise<number> {
    const exits = new Set(Array.from(this.#options.listeners().values(), ({ exit_ip }) => exit_ip));
    const missing: string[] = [];
    for (const ip of exits) if (await isMissing(ip)) missing.push(ip);
    this.#missing = missing;
    return exits.size;
  }

  faults(): Fault[] {
    return this.#missing.map((ip) => ({
      kind: 'exit_address',
      subject: ip,
      message: `The exit address ${ip} is not on this machine: no connection can leave from it.`,
    }));
  }
}

/** Tries to bind to it, since a route can make an address local that no interface lists. */
export function isMissing(ip: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
    const end = (missing: boolean) => {
      socket.close();
      resolve(missing);
    };
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'EADDRNOTAVAIL'));
    socket.bind({ address: ip, port: 0, exclusive: true }, () => end(false));
  });
}

/**
 * Whether the exit has no free port for a program that lets the kernel choose one before it names
 * the destination, as Squid before version 6 does. Listens for a moment to find out.
 */
export function isOutOfPorts(ip: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen({ host: ip, port: 0, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
