// Runs the real command line as a shell would, with a home of its own: in processes, or one after
// another in one of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { CommandHost, type Outcome } from '../../test/command_host.ts';

export type { Outcome };

export const bin = fileURLToPath(new URL('../bin/exw.js', import.meta.url));

const host = new CommandHost(bin);

/** A process, with what it has said so far. */
export class Started {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv, input?: string) {
    const stdin = input === undefined ? 'ignore' : 'pipe';
    this.child = spawn(program, args, { env, stdio: [stdin, 'pipe', 'pipe'] });
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk;
    });
    // One that reads nothing may have ended before all of it was taken.
    this.child.stdin?.on('error', () => {}).end(input);
  }

  async ended(): Promise<Outcome> {
    const [code] = (await once(this.child, 'close')) as [number | null];
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}

export class CommandLine {
  readonly folder = mkdtempSync(join(tmpdir(), 'exw-'));
  readonly loginFile = join(this.folder, 'exitward', 'exw.json');
  readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.env = { ...bareEnvironment, HOME: this.folder, XDG_CONFIG_HOME: this.folder, ...env };
  }

  /** The command line of an account, which needs no login. */
  static of(url: string, token: string, variant: 'current' | 'earlier' = 'current'): CommandLine {
    return new CommandLine({ EXW_URL: url, EXW_TOKEN: token, EXW_VARIANT: variant });
  }

  start(...args: string[]): Started {
    return new Started(process.execPath, [bin, ...args], this.env);
  }
  /** Beside another one, and where it runs programs, in a process of its own. */
  run(...args: string[]): Promise<Outcome> {
    if (host.isBusy || args[0] === 'run') return this.start(...args).ended();
    return host.run({ args, env: this.env });
  }
  /** Runs it with a text on standard input. */
  runWith(input: string, ...args: string[]): Promise<Outcome> {
    return new Started(process.execPath, [bin, ...args], this.env, input).ended();
  }
  /** The JSON on its standard output. Errors: when it fails. */
  async json(...args: string[]) {
    const { code, stdout, stderr } = await this.run(...args, '--json');
    if (code !== 0) throw new Error(stderr);
    // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
    return JSON.parse(stdout) as any;
  }
  /** Writes a file into its folder; answers its path. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }
  readLogin() {
    return JSON.parse(readFileSync(this.loginFile, 'utf8')) as Record<string, string>;
  }
  clean(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
