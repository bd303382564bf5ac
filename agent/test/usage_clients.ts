// The clients of the modelled machine: their connections and requests, as the kernel, the deciders
// and the journal know them.
import type { Opened } from '../src/squid/protocol.ts';
import type { Socket } from '../src/squid/sockets.ts';
import type { Journal } from '../src/usage/journal.ts';

export const port = 11_001;
export const nameOf = (key: number) => `192.0.2.1:${key}>${port}`;
export const users = [1, 2] as const;
export type User = (typeof users)[number];

export interface Request {
  user: User;
  up: number;
  down: number;
  /** Its state at the last stored tick. */
  seen: Bytes;
}
export interface Client {
  key: number;
  cookie: string;
  up: number;
  down: number;
  request: Request | undefined;
  owner: User;
}
export interface Bytes {
  up: number;
  down: number;
}

export function none(): Bytes {
  return { up: 0, down: 0 };
}
export function socketOf({ key, cookie, up, down }: Client): Socket {
  return { connection: nameOf(key), port, cookie, up, down };
}
export function ownerOf({ key, owner }: Client): Opened[number] {
  return [nameOf(key), { by: 'authlist', account: 1, user: owner, entry: 1, ip: '192.0.2.1' }];
}
/** The rows of a user, minus the bytes counted in excess. */
export function billedIn(journal: Journal, user: User): Bytes {
  const rows = journal.pending().filter((row) => row.user === user);
  const { up = 0, down = 0 } = journal.carry.get(`1 ${user}`) ?? {};
  return rows.reduce((sum, row) => ({ up: sum.up + row.up, down: sum.down + row.down }), {
    up: -up,
    down: -down,
  });
}
