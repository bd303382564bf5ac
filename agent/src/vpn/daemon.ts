// A daemon of the VPN. It runs in a session of its own, so that its tunnels outlive the agent. The
// next agent finds it by its pid file.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { replaceDurably } from '../../../kit/src/durable.ts';
import type { Clock } from '../clock.ts';
import { mayDropRights } from '../rights.ts';

export interface DaemonOptions {
  command: readonly [string, ...string[]];
  /** Its working folder. */
  dir: string;
  pid_file: string;
  /** A variable with its configuration. A process with another environment is not ours. */
  mark: readonly [name: string, value: string];
  clock: Clock;
}

const stoppingSeconds = 10;
/** A daemon that ends within this time cannot run. */
const startingSeconds = 5;
/**
 * The rights that a daemon keeps. It runs as root: no other user may write the kernel's policies or
 * create devices.
 */
const rights = '-all,+net_admin,+net_bind_service';

export class Daemon {
  readonly #options: DaemonOptions;
  #started: number | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  get hasJustStarted(): boolean {
    const { clock } = this.#options;
    return this.#started !== undefined && clock.steady() - this.#started < startingSeconds;
  }

  /** The process, if it runs. */
  find(): number | undefined {
    const { pid_file, mark } = this.#options;
    const pid = Number(readIfThere(pid_file));
    const environment = pid > 0 ? readIfThere(`/proc/${pid}/environ`) : undefined;
    return environment?.split('\0').includes(mark.join('=')) ? pid : undefined;
  }

  /** Starts it; returns its process. Errors: there is no such program. */
  async start(): Promise<number> {
    const { command, dir, pid_file, mark, clock } = this.#options;
    this.#started = clock.steady();
    const bounding = mayDropRights() ? [`--bounding-set=${rights}`] : [];
    const args = ['--no-new-privs', '--inh-caps=-all', ...bounding, '--', ...command];
    const child = spawn('setpriv', args, {
      cwd: dir,
      detached: true,
      stdio: 'ignore',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', [mark[0]]: mark[1] },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    replaceDurably(pid_file, `${child.pid}\n`);
    return child.pid as number;
  }

  /** Stops it, and waits until it is gone, for at most ten seconds. */
  async stop(): Promise<void> {
    const pid = this.find();
    if (pid === undefined) return;
    endIfThere(pid, 'SIGTERM');
    const { clock } = this.#options;
    const until = clock.steady() + stoppingSeconds;
    while (this.find() !== undefined && clock.steady() < until) await clock.sleep(0.05);
  }
}

/** Ends a process, if it has not ended yet. */
export function endIfThere(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The text of a file; undefined: there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
