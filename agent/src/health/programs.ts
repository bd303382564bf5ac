// Detects programs of this node, such as Squid and charon, that still run in an old version after
// an upgrade of their package, and so lack its fixes.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Fault } from '../faults.ts';
import { installation } from '../installation.ts';

const lookSeconds = 60;
/** The kernel's mark of a file that was replaced or removed. */
const replaced = ' (deleted)';

export class Programs {
  readonly #stateDir: string;
  readonly #clock: Clock;
  #outdated: string[] = [];

  /** `state_dir`: it is in the arguments or the environment of each program of the node. */
  constructor({ state_dir, clock }: { state_dir: string; clock: Clock }) {
    this.#stateDir = state_dir;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.look();
      await this.#clock.sleep(lookSeconds, signal);
    }
  }

  look(): void {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const names = pids.map((pid) => outdatedProgram(pid, `${this.#stateDir}/`));
    this.#outdated = [...new Set(names.filter((name) => name !== undefined))].sort();
  }

  faults(): Fault[] {
    return this.#outdated.map((program) => ({
      kind: 'outdated',
      subject: program,
      message: `${program} was upgraded, but its old version still runs. Restart the agent, which ends its connections: ${installation.restart}.`,
    }));
  }
}

/**
 * The name of a process's program if its file was replaced; undefined: it was not, or the process
 * is not this node's. Deciders run in the agent's own Node, which is upgraded with the agent.
 */
function outdatedProgram(pid: string, mark: string): string | undefined {
  try {
    const path = readlinkSync(`/proc/${pid}/exe`);
    if (!path.endsWith(replaced)) return undefined;
    const program = basename(path.slice(0, -replaced.length));
    if (program === basename(process.execPath)) return undefined;
    const isOurs = ['cmdline', 'environ'].some((file) =>
      readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(mark),
    );
    return isOurs ? program : undefined;
  } catch {
    // The process has ended, or is another user's.
    return undefined;
  }
}
