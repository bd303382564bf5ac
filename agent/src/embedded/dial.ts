// Opens the connection to a destination: only from the exit address, and only to a checked address.
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';
import type { Failure } from '../failures.ts';
import { type OutgoingPorts, randomPort } from '../outgoing_ports.ts';
import { noticeGone } from './gone.ts';

/** For all addresses together. */
const dialMs = 30_000;

/** How many ports of the exit are tried. */
const maxPorts = 64;

export interface Exit {
  ip: string;
  ports: OutgoingPorts;
  /** Opens a socket; by default as `node:net` does. */
  connectTo?: (options: NetConnectOpts) => Socket;
}

/** Tries the addresses in their order. */
export async function dial(
  own: Own,
  addresses: string[],
  port: number,
  exit: Exit,
): Promise<Socket | Failure> {
  const deadline = performance.now() + dialMs;
  let outcome: Socket | Failure = 'unreachable';
  for (const [index, address] of addresses.entries()) {
    const patience = (deadline - performance.now()) / (addresses.length - index);
    outcome = await dialOne(own, address, port, exit, patience);
    if (typeof outcome !== 'string') break;
  }
  return outcome;
}

/**
 * Chooses the local port itself. A port that the kernel chooses serves one connection only, so an
 * exit could not have more connections than ports. A port that is named can be used once for each
 * destination (decision 0092).
 */
async function dialOne(
  own: Own,
  host: string,
  port: number,
  { ip, ports, connectTo = connect }: Exit,
  patienceMs: number,
): Promise<Socket | Failure> {
  let outcome: Socket | Failure = 'exit_busy';
  for (let tries = 0; outcome === 'exit_busy' && tries < maxPorts; tries += 1) {
    const local = { localAddress: ip, localPort: randomPort(ports) };
    // `setNoDelay` on an unconnected socket would cost a second system call.
    const ends = { host, port, ...local, allowHalfOpen: true, noDelay: true };
    outcome = await open(own, () => connectTo(ends), patienceMs);
  }
  return outcome;
}

function open(own: Own, connectOnce: () => Socket, patienceMs: number): Promise<Socket | Failure> {
  return new Promise((resolve) => {
    // Fails if the exit address is not on this machine, or of another family than the destination.
    const socket = connectOnce();
    noticeGone(socket, own);
    const settle = own((outcome: Socket | Failure) => {
      clearTimeout(timer);
      resolve(outcome);
      if (outcome !== socket) socket.destroy();
    });
    const timer = setTimeout(settle, patienceMs, 'timed_out');
    socket.once('connect', () => settle(socket));
    socket.once('error', (error) => settle(failureOf(error)));
  });
}

/** The kernel cannot open another connection. */
const busyCodes = new Set(['EADDRINUSE', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

function failureOf({ code = '', syscall }: NodeJS.ErrnoException): Failure {
  if (code === 'ETIMEDOUT') return 'timed_out';
  // `bind`: the address is not on this machine. `connect`: the port is in use for this destination.
  if (code === 'EADDRNOTAVAIL') return syscall === 'bind' ? 'exit_unavailable' : 'exit_busy';
  return busyCodes.has(code) ? 'exit_busy' : 'unreachable';
}
