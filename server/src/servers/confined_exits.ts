// Exit IPs from which nothing leaves their machine: an operator may add them, as for a trial, and
// sees it wherever exits are shown.
import { whyConfined } from '../../../kit/src/address.ts';
import type { Reader } from '../db/database.ts';
import * as store from './store.ts';

/** Why no connection leaves from this address, in sentences; null: one may. */
export function confinementOf(ip: string): string | null {
  const reason = whyConfined(ip);
  if (reason === undefined) return null;
  return `${ip} ${reason}. Use an address by which the machine reaches the Internet.`;
}

export interface ConfinedExit {
  server: string;
  ip: string;
}

/** The exit IPs of all servers from which nothing leaves. */
export async function confinedExits(db: Reader): Promise<ConfinedExit[]> {
  const names = await store.exitNames(db);
  return names
    .map(({ server, stored: ip }) => ({ server, ip }))
    .filter(({ ip }) => whyConfined(ip) !== undefined);
}
