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

const beginning = await begin(join(dir, 'beginning'), new TestClock());
const [, , conduct, ...seeds] = process.argv;
for (const seed of seeds.map(Number)) {
  const simulation = new Simulation(seed, beginning, join(dir, 'life'), conduct as Conduct);
  try {
    const { digest, counts } = await simulation.run();
    process.send?.({ seed, digest, counts: [...counts] } satisfies Life);
  } catch (error) {
    console.error(`${(error as Error).stack}\n`);
    console.error(
      `Replay it with EXITWARD_TEST_SEED=${seed}; what came before:\n${simulation.trace}`,
    );
    process.exit(1);
  }
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
