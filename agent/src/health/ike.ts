// Asks this machine's IKE daemon whether it serves an exit, with the first message of a client.
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { on, once } from 'node:events';
import { freshLoopback } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { IkeVersion } from '../engine.ts';
import {
  abandonment,
  firstMessage,
  type IkeResponse,
  notifications,
  readResponse,
  spiBytes,
} from '../vpn/ike.ts';
import { isMissing } from './exit_addresses.ts';

const port = 500;
/** Enough if datagrams are lost, or charon is still starting. */
const maxTries = 4;
const trySeconds = 1;

/** Resolves if it serves the exit. Errors: why it does not. */
export async function askIke(
  exit: string,
  version: IkeVersion,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (await isMissing(exit)) throw new Error('the address is not on this machine');
  for (let tries = 1; ; tries += 1) {
    const start = clock.steady();
    try {
      const response = await exchange(exit, version, clock, signal);
      const { error } = response;
      if (error === undefined || isWell.has(error)) return;
      throw new Error(
        error === notifications.no_proposal_chosen
          ? 'charon has no connection for it'
          : `charon answers with error ${error}`,
      );
    } catch (error) {
      if (tries === maxTries || signal.aborted) throw error;
    }
    await clock.sleep(Math.max(0, trySeconds - (clock.steady() - start)), signal);
  }
}

/**
 * Errors of a charon that serves the exit: it asks for another group or, with many logins under
 * way, for a proof of the client's address.
 */
const isWell: ReadonlySet<number> = new Set([
  notifications.invalid_ke_payload,
  notifications.cookie,
]);

/**
 * Sends a first message, and returns the response. It is sent from a loopback address: the firewall
 * lets that reach an exit, no client can have it, and its packets never leave the machine. Errors:
 * no response in time.
 */
async function exchange(exit: string, version: IkeVersion, clock: Clock, signal: AbortSignal) {
  const socket = createSocket('udp4');
  const late = new AbortController();
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void clock.sleep(trySeconds, either).then(() => late.abort());
  const spi = randomBytes(spiBytes);
  try {
    socket.bind(0, freshLoopback(exit));
    await once(socket, 'listening');
    socket.connect(port, exit);
    await once(socket, 'connect');
    socket.send(firstMessage(version, spi));
    const response = await responseOf(socket, version, spi, late.signal);
    if (version === '1' && response.error === undefined) {
      const sent = Promise.withResolvers<unknown>();
      socket.send(abandonment(spi, response.spi), sent.resolve);
      await sent.promise;
    }
    return response;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') throw new Error('charon does not run');
    throw code === 'ABORT_ERR' ? new Error('charon does not answer') : error;
  } finally {
    over.abort();
    socket.close();
  }
}

/** Skips datagrams that are not the response. */
async function responseOf(
  socket: ReturnType<typeof createSocket>,
  version: IkeVersion,
  spi: Buffer,
  signal: AbortSignal,
): Promise<IkeResponse> {
  for await (const [datagram] of on(socket, 'message', { signal })) {
    const response = readResponse(version, spi, datagram as Buffer);
    if (response) return response;
  }
  throw new Error('the socket is closed');
}
