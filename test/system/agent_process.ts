// The agent as a process: joined by its command line, run, killed, and started again on the same
// folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askStatus, type Status } from '../../agent/src/local.ts';
import { until } from '../../server/test/waiting.ts';
import { bareEnvironment } from '../bare_environment.ts';
import type { ControlPlaneProcess } from './control_plane.ts';
import { type NodePlace, originNetwork } from './places.ts';

export type EngineName = 'embedded' | 'squid';

const thisProgram = fileURLToPath(new URL('../../agent/bin/exitward-agent.js', import.meta.url));

export interface AgentOptions {
  engine: EngineName;
  server: string;
  name: string;
  place: NodePlace;
  settings?: Record<string, string>;
  /** The network namespace that it lives in. */
  namespace?: string;
  /** Where the control plane is; behind its relay when nothing is said. */
  url?: string;
  /** The command line of another version of the agent, in place of this one's. */
  program?: string;
}

export class AgentProcess {
  readonly name: string;
  readonly place: NodePlace;
  readonly state_dir = mkdtempSync(join(tmpdir(), 'exitward-agent-'));
  readonly #engine: EngineName;
  readonly #enter: string[];
  #program: string;
  readonly #settings: Record<string, string>;
  #child: ChildProcess | undefined;
  #said = '';

  private constructor(options: AgentOptions) {
    const { engine, name, place, namespace, program = thisProgram, settings = {} } = options;
    this.name = name;
    this.place = place;
    this.#engine = engine;
    this.#settings = { ...settings };
    this.#enter = namespace === undefined ? [] : ['ip', 'netns', 'exec', namespace];
    this.#program = program;
  }

  /** Is this version's program from its next start on. */
  upgrade(): void {
    this.#program = thisProgram;
  }

  /** Invites it as the operator does, and joins as its own operator does. */
  static async join(control: ControlPlaneProcess, options: AgentOptions): Promise<AgentProcess> {
    const agent = new AgentProcess(options);
    const invited = await control.command('node', 'invite', options.server, '--json');
    const { code } = JSON.parse(invited.stdout) as { code: string };
    await agent.#run(['join', options.url ?? control.url, code, '--name', options.name]);
    return agent;
  }

  /**
   * Starts it, with other settings from now on; resolves when it serves by the policy that it has.
   */
  async start(settings: Record<string, string> = {}): Promise<void> {
    Object.assign(this.#settings, settings);
    this.#child = this.#spawn(['run']);
    await this.until(({ applied, ports }) => applied !== null && ports.length > 0);
  }

  /** The same; resolves when it follows the control plane. */
  async follow(settings: Record<string, string> = {}): Promise<void> {
    await this.start(settings);
    await this.until(({ state }) => state === 'following');
  }

  status(): Promise<Status> {
    return askStatus(this.state_dir);
  }

  /** Waits until its status is such. Errors: it is not in time, or the agent ended. */
  async until(met: (status: Status) => boolean, seconds = 90): Promise<void> {
    let status: Status | undefined;
    const otherwise = () => `${this.name}: ${JSON.stringify(status)} ${met}\n${this.#said}`;
    const holds = async () => {
      status = await this.status().catch(() => undefined);
      return !this.isRunning || (status !== undefined && met(status));
    };
    await until(holds, seconds, otherwise);
    if (!status || !met(status)) throw new Error(otherwise());
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Ends the agent, and not the Squid of one that is killed. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (!child || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** The Squids that run by its configuration. */
  squids(): number[] {
    if (this.#engine !== 'squid') return [];
    const conf = join(this.state_dir, 'squid/');
    return readdirSync('/proc').flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('-f') && words.some((word) => word.startsWith(conf))
          ? [Number(pid)]
          : [];
      } catch {
        // No process, or one that has ended.
        return [];
      }
    });
  }

  killSquids(): void {
    for (const pid of this.squids()) process.kill(pid, 'SIGKILL');
  }

  /** Ends whatever there is of it, however it stands. */
  async remove(): Promise<void> {
    this.signal('SIGCONT');
    await this.end('SIGKILL');
    this.killSquids();
    await until(() => this.squids().length === 0);
    rmSync(this.state_dir, { recursive: true, force: true, maxRetries: 5 });
  }

  #spawn(args: string[]): ChildProcess {
    const { listen_host, port_shift } = this.place;
    const [command = '', ...rest] = [...this.#enter, process.execPath, this.#program];
    const child = spawn(command, [...rest, ...args], {
      env: {
        ...bareEnvironment,
        EXITWARD_AGENT_STATE_DIR: this.state_dir,
        EXITWARD_AGENT_ENGINE: this.#engine,
        EXITWARD_AGENT_LISTEN_HOST: listen_host,
        EXITWARD_AGENT_PORT_SHIFT: String(port_shift),
        EXITWARD_AGENT_ALLOW_DESTINATIONS: originNetwork,
        EXITWARD_AGENT_CONNECT_PORTS: '1-65535',
        EXITWARD_AGENT_HTTP_PORTS: '1-65535',
        // Once is enough, and not in the way.
        EXITWARD_AGENT_HEALTH_SECONDS: '600',
        EXITWARD_AGENT_LOG_LEVEL: 'warn',
        EXITWARD_AGENT_METRICS_LISTEN: 'off',
        ...this.#settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const hear = (text: Buffer) => {
      this.#said = (this.#said + text).slice(-20_000);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    return child;
  }

  /** A command that ends by itself. Errors: with what it said, when it fails. */
  async #run(args: string[]): Promise<void> {
    const child = this.#spawn(args);
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`exitward-agent ${args[0]}: ${this.#said}`);
  }
}
