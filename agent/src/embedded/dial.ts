// Opens the connection to a destination: only from the exit address, and only to a checked address.
import { connect, type Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';
import type { Failure } from './rejections.ts';

/** For all addresses together. */
const dialMs = 30_000;
/** Finds peers that are gone; idle tunnels would stay open otherwise. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 };

/** Tries the addresses in their order. */
export async function dial(
  own: Own,
  addresses: string[],
  port: number,
  exit_ip: string,
): Promise<Socket | Failure> {
  const deadline = performance.now() + dialMs;
  let outcome: Socket | Failure = 'unreachable';
  for (const [index, address] of addresses.entries()) {
    const patience = (deadline - performance.now()) / (addresses.length - index);
    outcome = await dialOne(own, address, port, exit_ip, patience);
    if (typeof outcome !== 'string') break;
  }
  return outcome;
}

function dialOne(
  own: Own,
  host: string,
  port: number,
  localAddress: string,
  patience_ms: number,
): Promise<Socket | Failure> {
  return new Promise((resolve) => {
    // Fails if the exit address is not on this machine, or of another family than the destination.
    const socket = connect({ host, port, localAddress, allowHalfOpen: true, ...keepAlive });
    socket.setNoDelay();
    const settle = own((outcome: Socket | Failure) => {
      clearTimeout(timer);
      resolve(outcome);
      if (outcome !== socket) socket.destroy();
    });
    const timer = setTimeout(settle, patience_ms, 'timed_out');
    socket.once('connect', () => settle(socket));
    socket.once('error', (error) => settle(failureOf(error)));
  });
}

function failureOf({ code }: NodeJS.ErrnoException): Failure {
  if (code === 'ETIMEDOUT') return 'timed_out';
  // The exit address is not on this machine, or has no free port.
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'exit_unavailable' : 'unreachable';
}
