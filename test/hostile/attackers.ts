// Attackers in this process: many connections at once, each of which sends its bytes and goes; and
// the victim beside them.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect } from 'vitest';
import { Random } from '../../server/test/random.ts';
import { tries } from '../effort.ts';
import { type Attack, hostileResponses } from './hostile_bytes.ts';

/** How many attacks of each kind. */
export const attacks = tries(20_000, { setting: 'EXITWARD_TEST_ATTACKS' });

export interface Target {
  host: string;
  port: number;
  /** The address to come from. */
  from?: string;
  /** Negotiates TLS before it sends. */
  tls?: boolean;
  /** Waits for the other side to close. */
  isPatient?: boolean;
  /** Waits so many milliseconds for it: what another process does takes time. */
  patience_ms?: number;
}

/** A listener takes one connection in a turn of the event loop. */
const atOnce = 16;
/**
 * Any other waits for so many turns of the event loop, which both sides share: time would measure
 * the machine.
 */
const patienceTurns = 40;

/** Runs all attacks, many at once. */
export async function runAll(
  count: number,
  attack: (index: number) => Promise<unknown>,
): Promise<void> {
  let begun = 0;
  const work = async () => {
    while (begun < count) await attack(begun++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Carries out an attack; resolves with what was heard when the connection is closed. */
export async function carryOut(attack: Attack, target: Target): Promise<string> {
  const { host, port, from, tls, isPatient, patience_ms } = target;
  const raw = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) });
  const socket = tls ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw;
  let heard = '';
  raw.on('error', () => {});
  if (tls) socket.on('error', () => raw.destroy());
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1');
  });
  const closed = new Promise((resolve) => raw.once('close', resolve));
  socket.once(tls ? 'secureConnect' : 'connect', () => send(attack, raw, socket));
  if (patience_ms !== undefined) {
    await Promise.race([closed, sleep(patience_ms)]);
    raw.destroy();
  } else if (!isPatient) {
    for (let turn = 0; turn < patienceTurns && !raw.destroyed; turn++) await setImmediate();
    raw.destroy();
  }
  await closed;
  return heard;
}

/** Sends the pieces over `socket`, and ends `raw`, which is the same where there is no TLS. */
export function send({ pieces, ending }: Attack, raw: Socket, socket = raw): void {
  const [piece, ...rest] = pieces;
  if (socket.destroyed) return;
  if (piece !== undefined) {
    socket.write(piece, () => send({ pieces: rest, ending }, raw, socket));
  } else if (ending === 'end') socket.end();
  else if (ending === 'destroy') raw.destroy();
  else if (ending === 'reset') raw.resetAndDestroy();
}

/** An origin that sends what the path says, as a number of its seed. */
export async function hostileOrigin(host: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (request) => {
      const [, seed] = /\/(\d+) /.exec(request.toString('latin1')) ?? [];
      send(hostileResponses(new Random(Number(seed))), socket);
    });
  });
  await once(server.listen(0, host), 'listening');
  return server;
}

/** The first bytes that a client of TLS sends. */
export async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connectTls({
    host: '127.0.0.1',
    port,
    servername: 'proxy.test',
    ecdhCurve: 'X25519',
  });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
}

/** Hears of each exception that has no owner, until it is asked. */
export class Unowned {
  readonly #heard: unknown[] = [];
  readonly #note = (error: unknown) => void this.#heard.push(error);

  constructor() {
    process.on('uncaughtException', this.#note).on('unhandledRejection', this.#note);
  }

  end(): unknown[] {
    process.off('uncaughtException', this.#note).off('unhandledRejection', this.#note);
    return this.#heard.map((error) => (error as Error).stack ?? error);
  }
}

/** Asks again and again while the attack lasts; each request must be answered, and rightly. */
export async function beside(victims: Array<() => Promise<unknown>>, attack: Promise<unknown>) {
  let isOver = false;
  const counts = victims.map(async (ask) => {
    let count = 0;
    for (; !isOver || count < 10; count++) {
      await ask();
      await sleep(20);
    }
    return count;
  });
  await attack.finally(() => {
    isOver = true;
  });
  for (const total of await Promise.all(counts)) expect(total).toBeGreaterThanOrEqual(10);
}
