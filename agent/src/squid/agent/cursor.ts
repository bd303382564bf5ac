// The cursor of a poll of Squids: how far each log was read, and what was logged of connections that live on.
import type { Traffic } from '../../engine.ts';
import type { Socket } from '../sockets.ts';
import { type Connection, create } from './connection.ts';
import type { LogPosition } from './meter_log.ts';

/** Stored with what was counted, and of no use without it: together they say what is counted already. */
export interface Cursor {
  logs: Record<string, LogPosition>;
  /** By connection. */
  bases: Record<string, [cookie: string, up: number, down: number, squid: number, isLeft?: true]>;
  /** Of the machine: which of its starts, and what it had carried as the newest lines were read. */
  boot: string;
  carried?: number | undefined;
}

/** A stored cursor, where it is one of Squids: that of another engine tells nothing of them. */
export function cursorOfSquids(stored: unknown): Cursor | undefined {
  const { logs, bases } = (stored ?? {}) as Partial<Cursor>;
  return logs && bases ? (stored as Cursor) : undefined;
}

type Numbered = ReadonlyArray<{ number: number; ports: readonly number[] | undefined }>;

/** The connections that have a base. */
export function basesOf(...all: Array<Iterable<readonly [string, Connection]>>): Cursor['bases'] {
  const bases: Cursor['bases'] = {};
  for (const [connection, { socket, base, squid, isLeft }] of all.flatMap((entries) => [
    ...entries,
  ])) {
    // A tunnel is a connection's only request: nothing was logged of it before.
    if (!socket || (base.up + base.down === 0 && !isLeft)) continue;
    const [cookie, up, down] = [socket.cookie, base.up, base.down];
    bases[connection] = isLeft ? [cookie, up, down, squid, true] : [cookie, up, down, squid];
  }
  return bases;
}

/** The connections as they were stored, by name: each with what the next line of it is to be set off against. */
export function restore(
  { bases }: Cursor,
  counted: Iterable<Traffic>,
): { live: Map<string, Connection>; ended: Map<string, Connection> } {
  const live = new Map<string, Connection>();
  const ended = new Map<string, Connection>();
  const socketOf = (connection: string, cookie: string): Socket => {
    const port = Number(connection.slice(connection.lastIndexOf('>') + 1));
    return { connection, port, cookie, up: 0, down: 0 };
  };
  for (const [connection, [cookie, up, down, squid, isLeft]] of Object.entries(bases)) {
    const socket = socketOf(connection, cookie);
    live.set(connection, create(squid, { socket, base: { up, down }, isLeft }));
  }
  for (const ahead of counted) {
    const [connection = '', cookie = '', squid] = ahead.connection.split(' ');
    if (!connection.includes('>')) continue;
    const connected = live.get(connection);
    if (connected?.socket?.cookie === cookie) {
      connected.ahead = ahead;
      continue;
    }
    const socket = socketOf(connection, cookie);
    // Of two of a name one is over, and waits for its line: the one that was counted ahead.
    (connected ? ended : live).set(connection, create(Number(squid), { socket, ahead }));
  }
  return { live, ended };
}

/** The connections that were open when a journal was begun: what they transferred until then is left out. */
export function leave(sockets: readonly Socket[], squids: Numbered): Map<string, Connection> {
  return new Map(
    sockets.map((socket) => {
      const { connection, port, up, down } = socket;
      const number = squids.find(({ ports }) => ports?.includes(port))?.number ?? 0;
      return [connection, create(number, { socket, base: { up, down }, isLeft: true })];
    }),
  );
}

/** Whether a poll goes on where the last one ended. */
export function isSame(from: unknown, last: Cursor): boolean {
  return from === last || JSON.stringify(from) === JSON.stringify(last);
}
