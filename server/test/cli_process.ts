// Runs the real command line as a shell would, in processes or one after another in one, and a real
// server for it to talk to.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../kit/src/settings.ts';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { CommandHost, type Outcome } from '../../test/command_host.ts';
import { until } from './waiting.ts';

export const bin = fileURLToPath(new URL('../bin/exitward.js', import.meta.url));

const host = new CommandHost(bin);

export type { Outcome };

/**
 * Runs Node with these arguments and nothing of our environment but the path; resolves when it has
 * ended.
 */
export function runNode(args: string[], env: Environment, input?: string): Promise<Outcome> {
  const child = spawn(process.execPath, args, {
    env: withPath(env),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  // One that reads nothing may have ended before all of it was taken.
  child.stdin?.on('error', () => {}).end(input);
  return outcomeOf(child);
}

/** Runs a command: beside another one, and as a server, in a process of its own. */
export function runCommand(args: string[], env: Environment): Promise<Outcome> {
  if (host.isBusy || args[0] === 'serve') return runNode([bin, ...args], env);
  return host.run({ args, env: withPath(env) });
}

function withPath(env: Environment): NodeJS.ProcessEnv {
  return { ...bareEnvironment, ...env };
}

function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/**
 * A folder of its own with the settings of a server in it, and the command line with these
 * settings.
 */
export class CommandLine {
  readonly data_dir = mkdtempSync(join(tmpdir(), 'exitward-cli-'));
  env: Environment;
  base_url = '';
  #server: ChildProcess | undefined;
  #ended: Promise<Outcome> | undefined;
  readonly #commands: ChildProcess[] = [];

  constructor(env: Environment = {}) {
    this.env = {
      EXITWARD_DATA_DIR: this.data_dir,
      EXITWARD_LISTEN: '127.0.0.1:0',
      EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
      EXITWARD_METRICS_LISTEN: 'off',
      EXITWARD_LOG_LEVEL: 'error',
      ...env,
    };
  }

  run(...args: string[]): Promise<Outcome> {
    return runCommand(args, this.env);
  }
  /** Starts it in a process of its own: `says` resolves when it has said so on standard error. */
  start(...args: string[]): { says(text: string): Promise<true>; outcome: Promise<Outcome> } {
    const child = spawn(process.execPath, [bin, ...args], {
      env: withPath(this.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#commands.push(child);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    return { says: (text) => until(() => said.includes(text)), outcome: outcomeOf(child) };
  }
  /** Runs it with a text on standard input. */
  runWith(input: string, ...args: string[]): Promise<Outcome> {
    return runNode([bin, ...args], this.env, input);
  }

  /** Starts `exitward serve`; resolves when it says that it listens. */
  async serve(): Promise<void> {
    const child = spawn(process.execPath, [bin, 'serve'], {
      env: withPath(this.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#server = child;
    this.#ended = outcomeOf(child);
    const said = await new Promise<string>((resolve, reject) => {
      let text = '';
      child.stderr.on('data', (chunk: Buffer) => {
        text += chunk;
        if (text.includes('for nodes')) resolve(text);
      });
      child.on('close', () => reject(new Error(`exitward serve ended: ${text}`)));
    });
    const [, base = '', admin] = /listens on (\S+), for operators on (\S+),/.exec(said) ?? [];
    this.base_url = base;
    this.env = { ...this.env, EXITWARD_ADMIN_URL: admin };
  }

  /** Stops the server; resolves with how it ended. */
  async stop(): Promise<Outcome | undefined> {
    this.#server?.kill('SIGTERM');
    return this.#ended;
  }

  async clean(): Promise<void> {
    for (const command of this.#commands) command.kill('SIGKILL');
    await this.stop();
    rmSync(this.data_dir, { recursive: true, force: true });
  }
}
