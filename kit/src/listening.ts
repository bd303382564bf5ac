// Why a program can't listen at an address, in words.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ListenAddress } from './settings.ts';

const reasons: Record<string, string> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that name has no address',
};

/** The reason of a failed `listen`, to follow a colon. */
export function whyNotListening({ code, message }: NodeJS.ErrnoException): string {
  return reasons[code ?? ''] ?? message;
}

export interface NamedListener {
  at: ListenAddress;
  /** The part that listens there, for people. */
  purpose: string;
  /** The setting that chooses the address. */
  setting: string;
  isOptional?: boolean;
}

/** As a setting has it. */
export function addressText({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** One sentence on the failure, and one on its remedy. */
export function listenFault({ at, purpose, setting, isOptional }: NamedListener, error: unknown) {
  const why = whyNotListening(error as NodeJS.ErrnoException);
  return `Can't listen on ${addressText(at)} (${purpose}): ${why}. Set ${setting} to another address${isOptional ? ', or off' : ''}.`;
}

/** Tries to listen there. Returns the error, undefined where it can be done. */
export async function whyTaken({
  host,
  port,
}: ListenAddress): Promise<NodeJS.ErrnoException | undefined> {
  if (port === 0) return undefined;
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

export const isFree = async (at: ListenAddress) => (await whyTaken(at)) === undefined;
