// One Squid. It runs in a session of its own, so that it outlives the agent and is taken over by
// the next one.
import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { renameDurably, replaceDurably } from '../../../../kit/src/durable.ts';
import { freshLoopback } from '../../address.ts';
import type { Clock } from '../../clock.ts';
import { type Fault, faultsOf } from '../../faults.ts';
import { createFile, createSharedFolder } from '../../store/generations.ts';
import { dialScript } from '../conf/destinations.ts';
import { type ListenerInForce, listenersFile, readListeners } from '../conf/listeners_file.ts';
import { errorPages } from '../conf/pages.ts';
import { type SquidPaths, squidPaths } from '../conf/squid_conf.ts';
import { boundCacheLog, lastWords } from './cache_log.ts';
import { removeOldCopies } from './certificate_copy.ts';
import { commandAs, lacksRight } from './launch.ts';
import { listListening, socketsOf } from './listening.ts';
import { noteStart, readSealKey } from './meter_log.ts';
import type { UnixUser } from './unix_user.ts';

const run = promisify(execFile);

/** How long Squid may take to open its ports; usually a fraction of a second. */
const listeningMs = 10_000;
/** How long Squid may take to end; after SIGTERM it continues for its shutdown_lifetime. */
const stoppingMs = 10_000;
const responseMs = 5000;
/** Where this machine can reach a Squid, to check that it is alive. */
export interface Reach {
  host: string;
  port: number;
  tls: boolean;
}

export class SquidInstance {
  readonly number: number;
  readonly paths: SquidPaths;
  readonly #program: string;
  readonly #user: UnixUser | undefined;
  readonly #onStart: ((squid: number) => void) | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** The key by which agents recognise their own lines in its log. */
  seal_key = '';
  /** Where it should listen by the last good configuration; undefined: unknown. */
  listeners: readonly ListenerInForce[] | undefined;
  /** The process that this agent last started. */
  #started = 0;
  /** Identifies that start; undefined before. */
  start_id: string | undefined;
  /** Why the newest configuration is not in force; undefined if it is. */
  #rejected: string | undefined;
  #notListening: Fault[] = [];

  constructor(options: {
    number: number;
    dir: string;
    program: string;
    user: UnixUser | undefined;
    clock: Clock;
    log: Logger;
    onStart?: (squid: number) => void;
  }) {
    this.number = options.number;
    this.paths = squidPaths(options.dir);
    this.#program = options.program;
    this.#user = options.user;
    this.#onStart = options.onStart;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Ports of this machine. */
  get ports(): number[] {
    return (this.listeners ?? []).map(({ port }) => port);
  }

  get tls_ports(): Set<number> {
    return new Set((this.listeners ?? []).flatMap(({ port, tls }) => (tls ? [port] : [])));
  }

  /** Creates its folders and all files except the configuration. */
  prepare(): void {
    const { dir, errors, logs, dial_script } = this.paths;
    for (const folder of [dir, errors]) createSharedFolder(folder, this.#user?.gid);
    createSharedFolder(logs, this.#user?.gid, this.#user?.uid);
    // Written before every start: a power cut may have damaged them.
    for (const [name, text] of errorPages()) this.#place(`${errors}/${name}`, text);
    this.#place(dial_script, dialScript);
    this.seal_key = readSealKey(this.paths.seal_key);
    this.listeners = readListeners(this.paths);
  }

  /** Writes a file that only Squid and its helpers may read. */
  write(path: string, text: string): void {
    replaceDurably(path, text, this.#user?.gid);
  }

  #place(path: string, text: string): void {
    const partial = `${path}.partial`;
    const file = createFile(partial, this.#user?.gid);
    writeFileSync(file, text);
    closeSync(file);
    renameSync(partial, path);
  }

  /** The process, if it runs: the one that was started with our configuration. */
  findProcess(): number | undefined {
    return [this.#started, Number(readIfThere(this.paths.pid))].find((pid) =>
      readIfThere(`/proc/${pid}/cmdline`)?.split('\0').includes(this.paths.conf),
    );
  }

  /**
   * Puts a configuration with these listeners in force: starts Squid, reconfigures it if the
   * configuration differs, or restarts it if it lacks the right for these ports. A configuration
   * that Squid rejects changes nothing, and is reported by `faults`.
   */
  async apply(conf: string, listeners: readonly ListenerInForce[]): Promise<void> {
    const isNew = this.listeners === undefined || readIfThere(this.paths.conf) !== conf;
    const isInForce = !isNew || (await this.#accept(conf, listeners));
    if (isInForce) this.#rejected = undefined;
    this.listeners = readListeners(this.paths);
    const pid = this.findProcess();
    if (pid !== undefined && isInForce && lacksRight(this.#user, this.ports, pid)) {
      // A running Squid cannot be given the right. Its connections end with their last lines
      // written.
      await this.stop();
      await this.start();
    } else if (pid !== undefined && isNew && isInForce) await this.reconfigure();
    else if (pid !== undefined) await this.#awaitPorts(pid, 0);
    else if (this.ports.length > 0) await this.start();
  }

  /** Starts it with the existing configuration. Errors: it cannot run at all. */
  async start(): Promise<void> {
    // With the old file, Squid might mistake another process for itself.
    rmSync(this.paths.pid, { force: true });
    this.#noteStart();
    const command = [this.#program, '-N', '-f', this.paths.conf] as const;
    const child = spawn(...commandAs(this.#user, command, this.ports), {
      cwd: this.paths.logs,
      detached: true,
      stdio: 'ignore',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...compiled() },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    this.#started = child.pid ?? 0;
    this.#notePid(this.#started);
    this.#log.info({ squid: this.number, process: this.#started }, 'Squid is started');
    await this.#awaitPorts(this.#started, listeningMs);
  }

  /**
   * Notes the process for the next agent. Squid does not write this file: root must not trust a
   * process number that Squid's user could write.
   */
  #notePid(pid: number): void {
    try {
      this.#place(this.paths.pid, `${pid}\n`);
    } catch (error) {
      this.#log.error(
        { err: error, squid: this.number },
        'the process number of Squid cannot be stored',
      );
    }
  }

  /** Notes in Squid's log that the previous Squid is dead; on a full disk, only in memory. */
  #noteStart(): void {
    this.#onStart?.(this.number);
    this.start_id = randomUUID();
    try {
      const line = { start: this.start_id, at: this.#clock.now() };
      noteStart(this.paths.meter_log, line, { user: this.#user, key: this.seal_key });
    } catch (error) {
      this.#log.error(
        { err: error, squid: this.number },
        'the start of Squid cannot be written to its log',
      );
    }
  }

  /** Makes the running Squid read its configuration again; its tunnels continue. */
  async reconfigure(): Promise<void> {
    const pid = this.findProcess();
    if (pid === undefined) return;
    const before = new Set([...(await listListening()).values()].flat());
    process.kill(pid, 'SIGHUP');
    this.#started = pid;
    this.#log.info({ squid: this.number, ports: this.ports.length }, 'Squid is reconfigured');
    // Squid closes its ports and opens them again, so its present sockets do not count.
    await this.#awaitPorts(pid, listeningMs, before);
    // At the start the disk may have been full.
    this.#notePid(pid);
  }

  /** Checks again which ports it listens on; opens those that were taken and are free now. */
  async checkPorts(): Promise<void> {
    const pid = this.findProcess();
    if (pid === undefined) return;
    const { missing, occupied } = await this.#lookAtPorts(pid);
    if (missing.length > 0 && occupied.size < missing.length) await this.reconfigure();
    else await this.#awaitPorts(pid, 0);
  }

  /**
   * Whether it responds to a request that it rejects itself, which is not billed. Closing the
   * connection counts, too: over IPv6 it may have too many clients on this machine.
   */
  responds({ host, port, tls }: Reach): Promise<boolean> {
    return new Promise((resolve) => {
      const localAddress = freshLoopback(host);
      const ends = { host, port, ...(localAddress && { localAddress }) };
      const socket = tls ? connectTls({ ...ends, rejectUnauthorized: false }) : connect(ends);
      const settle = (responded: boolean) => {
        socket.destroy();
        resolve(responded);
      };
      socket.setTimeout(responseMs, () => settle(false));
      socket.once(tls ? 'secureConnect' : 'connect', () =>
        socket.write('GET ftp://exitward/ HTTP/1.0\r\n\r\n'),
      );
      socket.once('data', () => settle(true));
      socket.once('error', ({ code }: NodeJS.ErrnoException) => settle(code !== 'ECONNREFUSED'));
      socket.once('end', () => settle(true));
    });
  }

  /** Ends its helpers, so that Squid starts new ones. */
  killDeciders(): void {
    const pid = this.findProcess();
    const children = readIfThere(`/proc/${pid}/task/${pid}/children`)?.split(' ') ?? [];
    for (const child of children.map(Number)) {
      if (!readIfThere(`/proc/${child}/cmdline`)?.includes(`\0${this.paths.rules}\0`)) continue;
      this.#log.error(
        { squid: this.number, process: child },
        'a decider that does not respond is ended',
      );
      signal(child, 'SIGKILL');
    }
  }

  /** Makes it open new logs, under the same names. */
  reopenLogs(): void {
    const pid = this.findProcess();
    if (pid !== undefined) signal(pid, 'SIGUSR1');
  }

  boundLog(): void {
    boundCacheLog(this.paths.cache_log);
  }

  /** Ends it, forcibly if necessary. */
  async stop(name: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const pid = this.findProcess();
    if (pid === undefined) return;
    signal(pid, name);
    if (await until(() => this.findProcess() === undefined, stoppingMs)) return;
    signal(pid, 'SIGKILL');
    await until(() => this.findProcess() === undefined, stoppingMs);
  }

  /** Ends it for good, so that the next agent does not look for it. */
  async retire(): Promise<void> {
    await this.stop();
    rmSync(this.paths.pid, { force: true });
    rmSync(this.paths.conf, { force: true });
    removeOldCopies(this.paths.dir, this.paths.conf);
    this.listeners = [];
    this.#rejected = undefined;
    this.#notListening = [];
  }

  faults(): Fault[] {
    const rejected = this.#rejected === undefined ? [] : [this.#rejected];
    return [...faultsOf('engine', rejected), ...this.#notListening];
  }

  /** Has Squid itself check the configuration before it replaces the last good one. */
  async #accept(conf: string, listeners: readonly ListenerInForce[]): Promise<boolean> {
    const proposed = `${this.paths.conf}.proposed`;
    this.write(proposed, conf);
    try {
      await run(...commandAs(this.#user, [this.#program, '-k', 'parse', '-f', proposed]));
    } catch (error) {
      const { message, stderr } = error as ExecFileException & { stderr?: string };
      const why = /(?:FATAL|ERROR): (.*)/.exec(stderr ?? '')?.[1] ?? message;
      this.#rejected = `Squid ${this.number} refuses its new configuration: ${why}`;
      this.#log.error({ squid: this.number, why }, 'Squid refuses its new configuration');
      return false;
    }
    this.write(this.paths.listeners, listenersFile(this.paths, conf, listeners));
    renameDurably(proposed, this.paths.conf);
    removeOldCopies(this.paths.dir, this.paths.conf);
    return true;
  }

  /** Waits until it listens everywhere, by other sockets than `before`; notes failed ports. */
  async #awaitPorts(pid: number, milliseconds: number, before?: Set<string>): Promise<void> {
    let ports = await this.#lookAtPorts(pid, before);
    // Squid opens all ports at once. Once one is open, occupied ones will not open any more.
    const isDecided = () =>
      ports.missing.length === 0 ||
      (ports.missing.length < this.ports.length && ports.missing.length === ports.occupied.size);
    const end = performance.now() + milliseconds;
    while (!isDecided() && performance.now() < end && isAlive(pid)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      ports = await this.#lookAtPorts(pid, before);
    }
    if (before && !isDecided()) ports = await this.#lookAtPorts(pid);
    this.#notListening = ports.missing.flatMap((port): Fault[] => {
      const of = { kind: 'port', subject: String(port) } as const;
      if (ports.occupied.has(port)) {
        return [{ ...of, message: `Port ${port} is taken by another program.` }];
      }
      if (!isAlive(pid)) return [];
      return [{ ...of, message: `Squid ${this.number} does not listen on port ${port}.` }];
    });
    if (!isAlive(pid)) {
      this.#notListening.push(this.deathFault());
    }
    for (const { message } of this.#notListening) this.#log.error(message);
  }

  async #lookAtPorts(
    pid: number,
    before: Set<string> = new Set(),
  ): Promise<{ missing: number[]; occupied: Set<number> }> {
    const listening = await listListening();
    const sockets = socketsOf(pid);
    const isOwn = (inode: string) => sockets?.has(inode) ?? true;
    const missing = this.ports.filter(
      (port) => !listening.get(port)?.some((inode) => isOwn(inode) && !before.has(inode)),
    );
    // Its own socket that is about to close does not occupy the port.
    const isTaken = (port: number) =>
      listening.get(port)?.some((inode) => !(before.has(inode) && isOwn(inode))) ?? false;
    return { missing, occupied: new Set(missing.filter(isTaken)) };
  }

  /** The fault that it does not run, with its last words. */
  deathFault(): Fault {
    const words = lastWords(this.paths.cache_log);
    const message = `Squid ${this.number} does not run: ${words ?? `see ${this.paths.cache_log}.`}`;
    return { kind: 'engine', subject: `Squid ${this.number}`, message };
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat !== undefined && !/\) Z /.test(stat);
}

/** The process may be gone already. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // There is nothing to end then.
  }
}

async function until(holds: () => boolean, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (!holds()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

/**
 * Where Node caches the compiled sources of a decider, which halves its start. The built program
 * has little to compile.
 */
function compiled(): Record<string, string> {
  const folder = import.meta.url.endsWith('.ts') ? getCompileCacheDir() : undefined;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
