// Measures of a server that is a process of its own: the most memory that it ever had, its sockets;
// and clients that hold connections.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../server/src/clock.ts';
import { openDatabase } from '../../server/src/db/open.ts';
import { basic } from '../../server/test/harness.ts';
import type { ServerProcess } from '../../server/test/server_process.ts';

const pidOf = ({ child }: ServerProcess) => child.pid as number;

/** The most memory that it has had so far. */
export function peakMegabytes(server: ServerProcess): number {
  const status = readFileSync(`/proc/${pidOf(server)}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** How many files and connections it has open. */
export const descriptorsOf = (server: ServerProcess) =>
  readdirSync(`/proc/${pidOf(server)}/fd`).length;

/**
 * How many of these connections the server still has, by the kernel; a client that does not read
 * hears of no end.
 */
export function heldByServer(url: string, sockets: readonly Socket[]): number {
  const hex = (port: number | undefined) =>
    Number(port).toString(16).toUpperCase().padStart(4, '0');
  const server = hex(Number(new URL(url).port));
  const established = new RegExp(`^ *\\d+: [0-9A-F]+:${server} [0-9A-F]+:([0-9A-F]{4}) 01 `, 'gm');
  const ports = readFileSync('/proc/net/tcp', 'utf8').matchAll(established);
  const held = new Set(Array.from(ports, ([, port]) => port));
  return sockets.filter(({ localPort }) => held.has(hex(localPort))).length;
}

/** A connection that sends these bytes; it reads nothing before it is resumed. */
export async function holding(url: string, bytes: string, from = '127.0.0.1'): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  socket.on('error', () => {});
  socket.pause();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  socket.write(bytes);
  return socket;
}

/** Everything that comes until the other side ends. */
export async function heardOn(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
  return text;
}

/** A new account; answers its Authorization header. */
export async function newAccount(server: ServerProcess, name: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const times = { start: now - 86_400, expiry: now + 300 * 86_400 };
  const body = { name, plan: 'Team', limit_bytes: 10 ** 12, ...times };
  const answer = await server.operator.post('/accounts', body);
  if (answer.status !== 201) throw new Error(answer.text);
  const user = { name: 'alice', flags: { proxy: true } };
  await server.operator.post(`/accounts/${name}/users`, user);
  return basic(answer.body.api_token);
}

/** Lists so many addresses for the account, and a user, straight in the database. */
export async function fillAuthlist(url: string, account: string, entries: number): Promise<void> {
  const db = await openDatabase(url, { clock: systemClock });
  const actor = { kind: 'system', name: 'test', address: '', request_id: '' } as const;
  await db.write(actor, async (tx) => {
    const { id } = (await tx.one<{ id: number }>('select id from accounts where name = $1', [
      account,
    ])) as { id: number };
    await tx.run(
      `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < cast($2 as bigint))
       insert into authlist (account_id, id, port_scheme_id, ip, user_id, expiry)
       select cast($1 as bigint), n, (select port_scheme_id from accounts where id = $1),
         '10.' || (n / 65536) || '.' || (n / 256 % 256) || '.' || (n % 256),
         (select min(id) from users where account_id = $1), 2000000000
       from numbers`,
      [id, entries],
    );
  });
  await db.close();
}
