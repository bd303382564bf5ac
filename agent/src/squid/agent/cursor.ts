// The cursor of a poll of Squids: how far each log was read, and the bytes logged for connections
// that are still open.
import type { Traffic } from '../../engine.ts';
import type { Socket } from '../sockets.ts';
import { type Connection, create } from './connection.ts';
import type { LogPosition } from './meter_log.ts';

/** Stored together with the counts: only both together say what was counted. */
export interface Cursor {
  logs: Record<string, LogPosition>;
  /** By connection. */
  bases: Record<string, [cookie: string, up: number, down: number, squid: number, isLeft?: true]>;
  /** The boot of the machine, and the bytes it had carried when the newest lines were read. */
  boot: string;
  carried?: number | undefined;
}

/** A stored cursor, if it is one of Squids; undefined for that of another engine. */
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
    // Nothing has been logged of such a connection, as of one with a tunnel.
    if (!socket || (base.up + base.down === 0 && !isLeft)) continue;
    const [cookie, up, down] = [socket.cookie, base.up, base.down];
    bases[connection] = isLeft ? [cookie, up, down, squid, true] : [cookie, up, down, squid];
  }
  return bases;
}

/** The stored connections by name, each with the bytes to set off against its next line. */
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
    // If two connections have one name, the one that was counted ahead is over, and waits for its
    // line.
    (connected ? ended : live).set(connection, create(Number(squid), { socket, ahead }));
  }
  return { live, ended };
}

/** The connections that were open when a journal began: their bytes up to then are left out. */
export function leave(sockets: readonly Socket[], squids: Numbered): Map<string, Connection> {
  return new Map(
    sockets.map((socket) => {
      const { connection, port, up, down } = socket;
      const number = squids.find(({ ports }) => ports?.includes(port))?.number ?? 0;
      return [connection, create(number, { socket, base: { up, down }, isLeft: true })];
    }),
  );
}

/** Whether a poll continues where the last one ended. */
export function isSame(from: unknown, last: Cursor): boolean {
  return from === last || JSON.stringify(from) === JSON.stringify(last);
}
