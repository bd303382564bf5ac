// The final byte counts of connections, as the kernel reports them when it destroys their sockets.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync } from 'node:fs';
import type { Logger } from 'pino';
import { ignore, type Own, ownedByLog } from '../../../../kit/src/owner.ts';
import { parseSockets, type Socket, socketFilter } from '../sockets.ts';

/**
 * Records the kernel's reports on destroyed sockets: if a Squid dies without writing to its log,
 * they have the final bytes of its connections. `ss` writes the file itself; for the agent, reading
 * every report would double its work for a connection.
 */
export class DestroyedSockets {
  /** A file without a name: it disappears with the last process that has it open. */
  readonly #file: number;
  readonly #own: Own;
  readonly #host: string | undefined;
  readonly #maxBytes: number;
  #child: ChildProcess | undefined;
  #filter = '';
  #isStopped = false;
  /** The content of the file before it was last emptied. */
  #earlier: Buffer = Buffer.alloc(0);

  /** `host`: the address that is listened on, if it is a single one. */
  constructor(path: string, log: Logger, host?: string, { max_bytes = 32 * 1024 * 1024 } = {}) {
    this.#own = ownedByLog(log);
    this.#host = host;
    this.#maxBytes = max_bytes;
    this.#file = openSync(path, 'a+', 0o600);
    rmSync(path);
  }

  /** Watches these ports from now on. */
  watch(ports: readonly number[]): void {
    const filter = ports.length === 0 ? '' : socketFilter(ports, this.#host);
    if (filter === this.#filter) return;
    this.#filter = filter;
    this.#child?.kill();
    this.#child = undefined;
    if (filter !== '') this.#start(filter);
  }

  /** Keeps the file small; call it at intervals. */
  bound(): void {
    if (fstatSync(this.#file).size <= this.#maxBytes) return;
    this.#earlier = this.#read();
    ftruncateSync(this.#file);
  }

  /** The sockets that were destroyed recently, by cookie. */
  recent(): Map<string, Socket> {
    const text = Buffer.concat([this.#earlier, this.#read()]).toString('latin1');
    return new Map(parseSockets(text).map((socket) => [socket.cookie, socket]));
  }

  /** May be called more than once. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.watch([]);
    closeSync(this.#file);
  }

  #start(filter: string): void {
    // `stdbuf`: by default ss writes in blocks, too late. `setpriv`: ss must not outlive the agent.
    const command = ['--pdeathsig', 'KILL', 'stdbuf', '-oL', 'ss', '-E', '-tinHOe', filter];
    const child = spawn('setpriv', command, { stdio: ['ignore', this.#file, 'ignore'] });
    this.#child = child;
    child.on('error', ignore);
    // It is started again: the machine may have had no free descriptor.
    const again = this.#own(() => {
      if (this.#child === child) this.#start(filter);
    });
    child.on(
      'exit',
      this.#own(() => setTimeout(again, 1000).unref()),
    );
  }

  #read(): Buffer {
    const { size } = fstatSync(this.#file);
    const bytes = Buffer.allocUnsafe(Math.min(size, this.#maxBytes));
    const length = readSync(this.#file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, length);
  }
}
