// A real terminal with a shell in it, made by tmux: what a person types and sees.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const run = promisify(execFile);

/** The escape that a styled text begins with. */
export const styled = '\u001b';

/** A terminal of 150 by 40, where `command` runs the program `bin` by this Node. */
export class Terminal {
  readonly #folder = mkdtempSync(join(tmpdir(), 'exitward-terminal-'));
  readonly #socket = join(this.#folder, 'tmux');
  readonly #command: string;
  readonly #bin: string;

  constructor(command: string, bin: string) {
    this.#command = command;
    this.#bin = bin;
  }

  async open(env: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
    const program = join(this.#folder, this.#command);
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${this.#bin}" "$@"\n`);
    chmodSync(program, 0o755);
    const path = `${this.#folder}:${process.env.PATH}`;
    const shell = { ...env, PATH: path, PS1: '$ ', ENV: '' };
    const variables = Object.entries(shell).map(([name, value]) => `${name}=${value ?? ''}`);
    const size = ['-x', '150', '-y', '40'];
    await this.#tmux('new-session', '-d', ...size, 'env', ...variables, 'sh');
    await this.shows(/^\$ $/m);
  }

  /** Types a text, and no Enter. */
  async type(text: string): Promise<void> {
    await this.#tmux('send-keys', '-l', text);
  }
  /** Presses keys, by tmux's names for them. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }
  /** Types a command on a screen that is empty, at once: what is seen is of this command. */
  async enter(line: string): Promise<void> {
    await this.#tmux('send-keys', '-R');
    await this.type(`${line}; echo "code $?"`);
    await this.press('Enter');
  }
  /** The screen, as a person sees it; with escapes, its styles too. */
  async screen(...more: string[]): Promise<string> {
    return (await this.#tmux('capture-pane', '-p', ...more)).stdout;
  }
  async shows(what: RegExp): Promise<void> {
    // Each look is a process.
    await expect.poll(() => this.screen('-N'), { timeout: 100_000, interval: 200 }).toMatch(what);
  }
  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => undefined);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #tmux(...args: string[]) {
    return run('tmux', ['-S', this.#socket, '-f', '/dev/null', ...args]);
  }
}
