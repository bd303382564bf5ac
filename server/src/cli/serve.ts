// exitward serve: a file of its own, so that the server starts without loading the rest of the command line.
import type { Environment } from '../config.ts';
import { runUntilStopped } from '../process.ts';

/** Runs the server until it is told to stop, and says on standard error where it listens. */
export function runServer(env: Environment): Promise<void> {
  return runUntilStopped(env, async ({ base_url, admin_url, node_url }) => {
    process.stderr.write(
      `Exitward listens on ${base_url}, for operators on ${admin_url}, for nodes on ${node_url}.\n`,
    );
  });
}
