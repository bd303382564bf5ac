// The signals that end a program: it handles them to clean up, or passes them on to a command.
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

const ending: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGTERM'];
const passedOn: readonly NodeJS.Signals[] = [...ending, 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** Signals from the keyboard: the terminal sends them to the command itself. */
const ofKeys: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];

/** Aborted by the first signal that ends a program. The second one ends it at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    controller.abort();
    for (const name of ending) process.off(name, stop);
  };
  for (const name of ending) process.on(name, stop);
  return controller.signal;
}

/** The exit code of shells for a program that a signal ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}

/** Receives the signals that are meant for a command, and passes them on as soon as it runs. */
export class PassedSignals {
  /** The signal that came before the command ran. */
  early: NodeJS.Signals | undefined;
  #child: ChildProcess | undefined;
  readonly #hear = (name: NodeJS.Signals) => {
    if (!this.#child) this.early ??= name;
    else if (!ofKeys.includes(name) || !hasTerminal()) this.#child.kill(name);
  };

  constructor() {
    for (const name of passedOn) process.on(name, this.#hear);
  }

  passTo(child: ChildProcess): void {
    this.#child = child;
  }

  stop(): void {
    for (const name of passedOn) process.off(name, this.#hear);
  }
}

function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
}
