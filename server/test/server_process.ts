// The server as a real process: started, listened to, killed, and started again on the same data.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../kit/src/settings.ts';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { TestClient } from './harness.ts';
import { until } from './waiting.ts';

const thisProgram = fileURLToPath(new URL('serve.ts', import.meta.url));
/**
 * As the shipped program has it: a young generation of another size is other memory than is
 * measured.
 */
const flag = '--max-semi-space-size=8';
const startMs = 180_000;

/** How a process ended, and what it said. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** The resources that the system lets it have, and which program it is. */
export interface Bounds {
  /** How many files and connections may be open; as many as usual when nothing is said. */
  descriptors?: number;
  /** The `serve.ts` of another version; this one's when nothing is said. */
  program?: string | undefined;
}

/** A line of its log. */
export type LogLine = Record<string, unknown> & { msg: string };

export class ServerProcess {
  readonly child: ChildProcess;
  readonly data_dir: string;
  readonly ended: Promise<Ended>;
  readonly #log: LogLine[] = [];
  /** How much of the standard output is in there. */
  #read = 0;
  stdout = '';
  stderr = '';
  base_url = '';
  admin_url = '';
  node_url = '';
  metrics_url = '';

  private constructor(env: Environment, { descriptors, program = thisProgram }: Bounds = {}) {
    this.data_dir = env.EXITWARD_DATA_DIR as string;
    // The most generous umask: what is private is so by the server's own doing. And only the
    // settings that the test says, nothing of the machine's own.
    const bounds = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `;
    const command = `umask 000; ${bounds}exec "$0" "$@"`;
    this.child = spawn('sh', ['-c', command, process.execPath, flag, program], {
      env: { ...bareEnvironment, ...env } as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.child, 'close').then(([code, signal]) => ({
      code,
      signal,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** The settings of a server on free ports of this machine, in a folder of its own. */
  static settings(more: Environment = {}): Environment {
    return {
      EXITWARD_DATA_DIR: mkdtempSync(join(tmpdir(), 'exitward-process-')),
      EXITWARD_LISTEN: '127.0.0.1:0',
      EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
      EXITWARD_METRICS_LISTEN: '127.0.0.1:0',
      ...more,
    };
  }

  /** Starts one and leaves it to itself; for those that are not to come up. */
  static spawn(env: Environment): ServerProcess {
    return new ServerProcess(env);
  }

  /** Starts one and resolves when it listens. Errors: when it ends before, with what it said. */
  static async start(env: Environment, bounds?: Bounds): Promise<ServerProcess> {
    const server = new ServerProcess(env, bounds);
    const line = await Promise.race([
      server.logged((line) => line.msg === 'Exitward is listening', startMs),
      server.ended.then(({ stderr }) => {
        throw new Error(`The server did not start: ${stderr}`);
      }),
    ]);
    Object.assign(server, {
      base_url: line.base_url,
      admin_url: line.admin_url,
      node_url: line.node_url,
      metrics_url: line.metrics_url,
    });
    return server;
  }

  /** The lines that it logged so far. Each is read once. */
  get log(): readonly LogLine[] {
    const end = this.stdout.lastIndexOf('\n') + 1;
    const unread = this.stdout.slice(this.#read, end).split('\n').slice(0, -1);
    this.#log.push(...unread.map((line) => JSON.parse(line) as LogLine));
    this.#read = end;
    return this.#log;
  }

  /**
   * Resolves with the first line of the log that `met` holds of. Errors: after the time is over.
   */
  logged(met: (line: LogLine) => boolean, milliseconds = 30_000): Promise<LogLine> {
    const otherwise = () => `not logged in time: ${this.stdout}`;
    return until(() => this.log.find(met), milliseconds / 1000, otherwise);
  }

  /** Calls as the operator; paths are those below `/admin`. */
  get operator(): TestClient {
    const token = readFileSync(join(this.data_dir, 'admin-token'), 'utf8').trim();
    return new TestClient(`${this.admin_url}/admin`, { authorization: `Bearer ${token}` });
  }

  /** Ends it with a signal and resolves when it is gone. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  /** Kills it if it still runs, and removes its folder. */
  async remove(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.data_dir, { recursive: true, force: true });
  }
}
