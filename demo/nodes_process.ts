// Starts the process of the demo's nodes beside this one, and ends it with this one.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { NodesRun, NodesToRun } from './nodes.ts';

/** As long as an agent takes to report what it counted last, and a little more. */
const farewellMs = 15_000;

export class NodesProcess {
  readonly #child: ChildProcess;
  #isStopping = false;

  /** `onEnd`: hears that it ended by itself. */
  constructor(onEnd: () => void) {
    this.#child = fork(fileURLToPath(new URL('nodes.ts', import.meta.url)));
    this.#child.on('error', () => {});
    this.#child.once('exit', () => {
      if (!this.#isStopping) onEnd();
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when the real node runs, or cannot. */
  async run(what: NodesToRun): Promise<NodesRun> {
    const ended = once(this.#child, 'exit').then((): [NodesRun] => [
      { error: 'The process of the nodes ended.' },
    ]);
    this.#child.send(what);
    const [answer] = await Promise.race([once(this.#child, 'message'), ended]);
    return answer as NodesRun;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const late = setTimeout(() => this.#child.kill('SIGKILL'), farewellMs);
    if (this.#child.connected) this.#child.send('stop');
    await once(this.#child, 'exit');
    clearTimeout(late);
  }
}
