// Opens the connection to a destination: from the exit address and no other, to an address that was checked.
import { connect, type Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';
import type { Failure } from './rejections.ts';

/** For all addresses together. */
const dial_ms = 30_000;
/** A peer that is gone is found by this; an idle tunnel otherwise stays. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelay: 60_000 };

/** Tries one address after another, as they stand. */
export async function dial(
  own: Own,
  addresses: string[],
  port: number,
  exit_ip: string,
): Promise<Socket | Failure> {
  const deadline = performance.now() + dial_ms;
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
    // Fails if the exit address is not here, or not of the destination's family.
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
  // The address is not on this machine, or has no port left.
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'exit_unavailable' : 'unreachable';
}
