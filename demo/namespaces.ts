// Network namespaces for a demo: machines that have the kernel and the files of this one, and
// nothing of its network.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where a program runs. */
export interface Place {
  /** A namespace; undefined: this machine itself. */
  at?: string;
  /** All that it has of the environment beside the path. */
  env?: Record<string, string>;
}

/** An end of a cable. */
export interface End {
  at: string;
  ip: string;
}

const startMs = 30_000;

export class Namespaces {
  /** For files; it goes with the namespaces. */
  readonly dir = mkdtempSync(join(tmpdir(), 'exitward-demo-vpn-'));
  readonly #prefix = `exitward-demo-${process.pid}-`;
  readonly #running = new Set<ChildProcessByStdio<null, Readable, Readable>>();
  #isRemoved = false;

  async make(name: string): Promise<void> {
    await this.run(['ip', 'netns', 'add', this.#prefix + name]);
    await this.run(['ip', 'link', 'set', 'lo', 'up'], { at: name });
  }

  /** Lays a cable between two of them; the first one reaches all else by it. */
  async connect(near: End, far: End): Promise<void> {
    const [nearDevice, farDevice] = [`to-${far.at}`, `to-${near.at}`];
    const peer = ['peer', 'name', farDevice, 'netns', this.#prefix + far.at];
    await this.run(['ip', 'link', 'add', nearDevice, 'type', 'veth', ...peer], near);
    for (const [end, device, route] of [
      [near, nearDevice, 'default'],
      [far, farDevice, near.ip],
    ] as const) {
      await this.run(['ip', 'link', 'set', device, 'up'], end);
      await this.run(['ip', 'address', 'add', end.ip, 'dev', device], end);
      await this.run(['ip', 'route', 'add', route, 'dev', device], end);
    }
  }

  /** Runs a command; returns what it prints. Errors: what it said, when it fails. */
  async run(command: string[], place: Place = {}): Promise<string> {
    const child = this.#spawn(command, place);
    let [ready, all] = ['', ''];
    child.stdout.on('data', (text) => {
      ready += text;
      all += text;
    });
    child.stderr.on('data', (text) => {
      all += text;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${command.join(' ')}: ${all.trim()}`);
    return ready.trim();
  }

  /**
   * Starts a program, and waits until it says the word, if there is one. `ended` resolves with all
   * that it said. Errors: it does not say it.
   */
  async start(command: string[], place: Place, word: string): Promise<{ ended: Promise<string> }> {
    const child = this.#spawn(command, place);
    let said = '';
    const ready = new Promise<boolean>((resolve) => {
      if (word === '') resolve(true);
      for (const output of [child.stdout, child.stderr])
        output.on('data', (text) => {
          said += text;
          if (said.includes(word)) resolve(true);
        });
    });
    const ended = once(child, 'close');
    const waiting = new AbortController();
    const late = sleep(startMs, false, { signal: waiting.signal });
    const isReady = await Promise.race([ready, ended.then(() => false), late]);
    if (!isReady) throw new Error(`${command.join(' ')} does not start: ${said.trim()}`);
    waiting.abort();
    return { ended: ended.then(() => said) };
  }

  /** Ends every process in them, and removes them and the folder. Nothing can be run any more. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    for (const child of this.#running) child.kill('SIGKILL');
    while (this.#running.size > 0) await sleep(10);
    const names = lines('netns', 'list').map((line) => line.split(' ')[0] ?? '');
    for (const name of names.filter((name) => name.startsWith(this.#prefix))) {
      // Such as charon, which has a session of its own.
      for (let processes = lines('netns', 'pids', name); processes.length > 0; ) {
        processes.forEach(kill);
        await sleep(10);
        processes = lines('netns', 'pids', name);
      }
      lines('netns', 'delete', name);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }

  #spawn(
    [...command]: string[],
    { at, env }: Place,
  ): ChildProcessByStdio<null, Readable, Readable> {
    if (this.#isRemoved) throw new Error('The namespaces are removed.');
    if (at !== undefined) command.unshift('ip', 'netns', 'exec', this.#prefix + at);
    const child = spawn('/usr/bin/env', command, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: `/usr/sbin:/sbin:${process.env.PATH}`, ...env },
    });
    this.#running.add(child);
    child.once('close', () => this.#running.delete(child));
    return child;
  }
}

function lines(...command: string[]): string[] {
  return execFileSync('ip', command, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

function kill(pid: string): void {
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
