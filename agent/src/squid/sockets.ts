// The kernel's view of client connections, through `ss`: bytes so far, last bytes, and closing them.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { connectionName } from './meter_log.ts';

const run = promisify(execFile);

export interface Socket {
  /** `SOURCE:PORT>LOCALPORT`. */
  connection: string;
  port: number;
  /** The kernel's name of this one socket: a later one of the same connection name has another. */
  cookie: string;
  /** Payload bytes received from the client, and sent to it. */
  up: number;
  down: number;
}

const most_output_bytes = 256 * 1024 * 1024;
/** How many connections one call closes: the filter is an argument, and arguments have an end. */
const killed_at_once = 200;

/** Client connections that can still carry data. Those of Squid that wait for their end are left out. */
const states = ['state', 'established', 'state', 'close-wait', 'state', 'fin-wait-1'];

/** Lists the client connections of these ports. */
export async function listSockets(ports: readonly number[]): Promise<Socket[]> {
  if (ports.length === 0) return [];
  const { stdout } = await run('ss', ['-tinHOe', ...states, portFilter(ports)], {
    maxBuffer: most_output_bytes,
    encoding: 'latin1',
  });
  return parseSockets(stdout);
}

/** Closes client connections at once. Errors: without the right to do so (CAP_NET_ADMIN). */
export async function killSockets(connections: readonly string[]): Promise<void> {
  for (let at = 0; at < connections.length; at += killed_at_once) {
    const filters = connections.slice(at, at + killed_at_once).flatMap((connection) => {
      const match = /^([\w.:%-]+):(\d+)>(\d+)$/.exec(connection);
      if (!match) return [];
      const [, source = '', source_port, port] = match;
      // Squid listens on IPv6 for both families: then IPv4 clients are known by mapped addresses.
      const spellings = source.includes(':') ? [`[${source}]`] : [source, `[::ffff:${source}]`];
      return spellings.map((ip) => `( dst ${ip}:${source_port} and sport = :${port} )`);
    });
    if (filters.length === 0) continue;
    // Without the right, `ss -K` closes nothing and only says so.
    const { stderr } = await run('ss', ['-KtnH', filters.join(' or ')]);
    if (/not permitted/i.test(stderr)) throw new Error(`ss -K: ${stderr.trim()}`);
  }
}

/**
 * Keeps what the kernel says of sockets as they are destroyed, unread, for the case that a proxy
 * dies without a word: then the last bytes of its connections are here. The agent takes no part in
 * the writing: it would cost as much as all else that it does for a connection.
 */
export class DestroyedSockets {
  /** Without a name: it goes with whoever has it open. */
  readonly #file: number;
  readonly #most_bytes: number;
  #child: ChildProcess | undefined;
  #ports = '';
  #isStopped = false;
  /** What was in the file before it was begun anew. */
  #earlier: Buffer = Buffer.alloc(0);

  constructor(path: string, { most_bytes = 32 * 1024 * 1024 } = {}) {
    this.#most_bytes = most_bytes;
    this.#file = openSync(path, 'a+', 0o600);
    rmSync(path);
  }

  /** Watches these ports from now on. */
  watch(ports: readonly number[]): void {
    const filter = ports.length === 0 ? '' : portFilter(ports);
    if (filter === this.#ports) return;
    this.#ports = filter;
    this.#child?.kill();
    this.#child = undefined;
    if (filter !== '') this.#start(filter);
  }

  /** Keeps the file bounded; call it now and then. */
  bound(): void {
    if (fstatSync(this.#file).size <= this.#most_bytes) return;
    this.#earlier = this.#read();
    ftruncateSync(this.#file);
  }

  /** What was destroyed lately, by connection; the last one of a name counts. */
  recent(): Map<string, Socket> {
    const text = Buffer.concat([this.#earlier, this.#read()]).toString('latin1');
    return new Map(parseSockets(text).map((socket) => [socket.connection, socket]));
  }

  /** Once is enough, and more does no harm. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.watch([]);
    closeSync(this.#file);
  }

  #start(filter: string): void {
    // By the line: ss would write by the block, too late. And never longer than the agent lives.
    const command = ['--pdeathsig', 'KILL', 'stdbuf', '-oL', 'ss', '-E', '-tinHOe', filter];
    const child = spawn('setpriv', command, { stdio: ['ignore', this.#file, 'ignore'] });
    this.#child = child;
    child.on('error', () => {});
    child.on('exit', () => {
      const again = () => {
        if (this.#child === child) this.#start(filter);
      };
      setTimeout(again, 1000).unref();
    });
  }

  #read(): Buffer {
    const { size } = fstatSync(this.#file);
    const bytes = Buffer.allocUnsafe(Math.min(size, this.#most_bytes));
    const length = readSync(this.#file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, length);
  }
}

/** `ss` understands ranges: ports that follow one another become one. */
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

/** Reads lines of `ss -tinHOe`; those without a peer or without counts are left out. */
export function parseSockets(text: string): Socket[] {
  const sockets: Socket[] = [];
  for (const line of text.split('\n')) {
    const match = endpoints.exec(line);
    if (!match) continue;
    const [, port = '', peer = '', peer_port = ''] = match;
    const cookie = /\bsk:(\w+)/.exec(line)?.[1];
    if (cookie === undefined) continue;
    const source = peer.replace(/^\[|\]$/g, '');
    sockets.push({
      connection: connectionName(source, peer_port, port),
      port: Number(port),
      cookie,
      // The kernel counts the client's end as a byte.
      up: fieldOf(line, 'bytes_received') - (line.startsWith('CLOSE-WAIT') ? 1 : 0),
      // What was sent again was sent once to the client.
      down: fieldOf(line, 'bytes_sent') - fieldOf(line, 'bytes_retrans'),
    });
  }
  return sockets;
}

/** Two queue lengths, then our address and port, then the peer's. */
const endpoints = /\d+ +\d+ +\S+:(\d+) +(\S+):(\d+)\s/;

function fieldOf(line: string, name: string): number {
  const start = line.indexOf(` ${name}:`);
  return start < 0 ? 0 : Number.parseInt(line.slice(start + name.length + 2), 10);
}
