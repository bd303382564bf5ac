// Runs of one command line, one after another in one process.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from './bare_environment.ts';
import type { Asked } from './command_program.ts';

const program = fileURLToPath(new URL('command_program.ts', import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** It lives as long as the process or thread that made it. */
export class CommandHost {
  readonly #bin: string;
  #child: ChildProcess | undefined;
  isBusy = false;

  constructor(bin: string) {
    this.#bin = bin;
  }

  /** Errors: when the run ends the process. */
  async run(command: Asked): Promise<Outcome> {
    const child = this.#child ?? this.#start();
    this.isBusy = true;
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        const ended = (code: number | null, signal: NodeJS.Signals | null) => {
          this.#child = undefined;
          reject(new Error(`${command.args.join(' ')} ended its host: ${code ?? signal}`));
        };
        child.once('exit', ended);
        child.once('message', (outcome) => {
          child.off('exit', ended);
          resolve(outcome as Outcome);
        });
        child.send(command);
      });
    } finally {
      this.isBusy = false;
    }
  }

  #start(): ChildProcess {
    const child = spawn(process.execPath, [program, this.#bin], {
      env: bareEnvironment,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    // No caller waits for it: it ends with the channel.
    child.unref();
    child.channel?.unref();
    this.#child = child;
    return child;
  }
}
