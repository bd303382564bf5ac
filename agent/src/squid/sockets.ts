// The kernel's view of client connections, through `ss`: their names, their bytes so far, and
// closing them. Both processes use this file.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { canonicalAddress } from '../../../kit/src/address.ts';

const run = promisify(execFile);

export interface Socket {
  /** `SOURCE:PORT>LOCALPORT`. */
  connection: string;
  /** The node's address that the client connected to, on a list of the kernel. */
  local?: string;
  port: number;
  /**
   * Identifies this socket for ever: a later socket with the same connection name has another one.
   * It is the kernel's cookie and the boot, since cookies begin again after a reboot.
   */
  cookie: string;
  /** Payload bytes received from the client, and sent to it. */
  up: number;
  down: number;
}

const maxOutputBytes = 256 * 1024 * 1024;
/** How many connections one call closes: the filter is an argument, and its length is limited. */
const killedAtOnce = 400;
/** A turn of the event loop reads this much of a list: some 2,000 connections. */
const readTogetherCharacters = 1024 * 1024;

/** Client connections that can still carry data, without those where Squid waits for the end. */
const states = ['state', 'established', 'state', 'close-wait', 'state', 'fin-wait-1'];

/** The name of a client connection, as lines, sockets and decisions use it. */
export function connectionName(
  source: string,
  source_port: number | string,
  port: number | string,
) {
  return `${canonicalAddress(source) ?? source}:${source_port}>${port}`;
}

/** The client's address in the name of a connection. */
export function sourceOf(connection: string): string {
  return connection.slice(0, connection.lastIndexOf(':'));
}

/** Lists the client connections of these ports, and of `host` if it listens only there. */
export async function listSockets(ports: readonly number[], host?: string): Promise<Socket[]> {
  if (ports.length === 0) return [];
  const { stdout } = await run('ss', ['-tinHOe', ...states, socketFilter(ports, host)], {
    maxBuffer: maxOutputBytes,
    encoding: 'latin1',
  });
  const sockets: Socket[] = [];
  for (let start = 0; start < stdout.length; ) {
    if (start > 0) await setImmediate();
    const lineEnd = stdout.indexOf('\n', start + readTogetherCharacters);
    const end = lineEnd < 0 ? stdout.length : lineEnd + 1;
    for (const socket of parseSockets(stdout.slice(start, end))) sockets.push(socket);
    start = end;
  }
  return sockets;
}

/** The kernel's id of this boot, shortened. */
export const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);

/** Closes client connections at once. Errors: the right is missing (CAP_NET_ADMIN). */
export async function killSockets(connections: readonly string[], host?: string): Promise<void> {
  for (const filter of killFilters(connections, host)) {
    // Without the right, `ss -K` closes nothing, and its exit code is 0 all the same.
    const { stderr } = await run('ss', ['-KtnH', filter]);
    if (/not permitted/i.test(stderr)) throw new Error(`ss -K: ${stderr.trim()}`);
  }
}

/**
 * The filters, one for each call of `ss`. The kernel compares each socket of the machine with each
 * part, so connections with neighbouring source ports are grouped: two comparisons rule out most
 * sockets.
 */
export function killFilters(connections: readonly string[], host?: string): string[] {
  const named = connections.flatMap((connection) => {
    const match = /^([\w.:%-]+):(\d+)>(\d+)$/.exec(connection);
    if (!match) return [];
    const [, source = '', source_port, port] = match;
    return [{ source, source_port: Number(source_port), port }];
  });
  named.sort((a, b) => a.source_port - b.source_port);
  const filters: string[] = [];
  for (let at = 0; at < named.length; at += killedAtOnce) {
    const together = named.slice(at, at + killedAtOnce);
    const [first, last] = [together[0]?.source_port, together.at(-1)?.source_port];
    const each = together.flatMap(({ source, source_port, port }) => {
      // Squid listens on IPv6 for both families, so IPv4 clients have mapped addresses.
      const spellings = source.includes(':') ? [`[${source}]`] : [source, `[::ffff:${source}]`];
      return spellings.map((ip) => `( dst ${ip}:${source_port} and sport = :${port} )`);
    });
    const range = `dport >= :${first} and dport <= :${last}${andHost(host)}`;
    filters.push(`${range} and ( ${each.join(' or ')} )`);
  }
  return filters;
}

/** Another node may use the same ports on another address. */
export function socketFilter(ports: readonly number[], host: string | undefined): string {
  return `${portFilter(ports)}${andHost(host)}`;
}

function andHost(host: string | undefined): string {
  if (host === undefined || /^(0\.0\.0\.0|[0:]+)$/.test(host)) return '';
  return ` and src ${host.includes(':') ? `[${host}]` : host}`;
}

/** `ss` understands ranges: consecutive ports become one. */
export function portFilter(ports: readonly number[]): string {
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  const ranges: Array<[number, number]> = [];
  for (const port of sorted) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === port) last[1] = port;
    else ranges.push([port, port]);
  }
  const filters = ranges.map(([first, last]) =>
    first === last ? `sport = :${first}` : `( sport >= :${first} and sport <= :${last} )`,
  );
  return `( ${filters.join(' or ')} )`;
}

/** Reads lines of `ss -tinHOe`; lines without a peer or without counts are left out. */
export function parseSockets(text: string): Socket[] {
  const sockets: Socket[] = [];
  for (const line of text.split('\n')) {
    const match = endpoints.exec(line);
    if (!match) continue;
    const [, local = '', port = '', peer = '', peer_port = ''] = match;
    const cookie = /\bsk:(\w+)/.exec(line)?.[1];
    if (cookie === undefined) continue;
    const source = peer.replace(/^\[|\]$/g, '');
    sockets.push({
      connection: connectionName(source, peer_port, port),
      local: canonicalAddress(local.replace(/^\[|\]$/g, '').replace(/%.*$/, '')) ?? local,
      port: Number(port),
      cookie: `${cookie}@${boot}`,
      // The kernel counts the client's end as a byte.
      up: fieldOf(line, 'bytes_received') - (line.startsWith('CLOSE-WAIT') ? 1 : 0),
      // Retransmitted bytes are counted twice.
      down: fieldOf(line, 'bytes_sent') - fieldOf(line, 'bytes_retrans'),
    });
  }
  return sockets;
}

/** Two queue lengths, then our address and port, then the peer's. */
const endpoints = /\d+ +\d+ +(\S+):(\d+) +(\S+):(\d+)\s/;

function fieldOf(line: string, name: string): number {
  const start = line.indexOf(` ${name}:`);
  return start < 0 ? 0 : Number.parseInt(line.slice(start + name.length + 2), 10);
}
