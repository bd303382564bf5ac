// A program: lives one simulated life after another, with the VPN and of the seeds that its
// arguments name, and sends each outcome to its parent.
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestClock } from '../../server/test/harness.ts';
import { begin } from './center.ts';
import { Simulation } from './simulation.ts';
import type { Conduct } from './vpn.ts';

/** One life, as it is sent. */
export interface Life {
  seed: number;
  digest: string;
  /** How often each thing happened. */
  counts: Array<[string, number]>;
}

// In memory where there is such a folder: what a disk loses is simulated, too.
const dir = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'exitward-simulation-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
// The parent has ended, or everything was sent.
process.on('disconnect', () => process.exit());

let current: { seed: number; simulation: Simulation } | undefined;
/** Ends this program: what went wrong, and in which life. */
function fail(error: unknown): never {
  console.error(`${(error as Error).stack}\n`);
  if (current) {
    const { seed, simulation } = current;
    const history = `what came before:\n${simulation.trace}`;
    console.error(`Replay it with EXITWARD_TEST_SEED=${seed}; ${history}`);
  }
  process.exit(1);
}
// An error that a part of a life throws where nothing waits for it is its failure, too.
process.on('uncaughtException', fail);

const beginning = await begin(join(dir, 'beginning'), new TestClock());
const [, , conduct, ...seeds] = process.argv;
for (const seed of seeds.map(Number)) {
  const simulation = new Simulation(seed, beginning, join(dir, 'life'), conduct as Conduct);
  current = { seed, simulation };
  const { digest, counts } = await simulation.run().catch(fail);
  process.send?.({ seed, digest, counts: [...counts] } satisfies Life);
}
process.disconnect?.();

/** Undefined where there is none, or this user may not write there. */
function memoryFolder(): string | undefined {
  const folder = '/dev/shm';
  try {
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return;
  }
}
