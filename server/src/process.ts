// The server as a process: one clear sentence when it cannot start, a graceful stop on a signal.
import type { Environment } from './config.ts';
import { type Running, serve } from './main.ts';

/**
 * Serves until SIGTERM or SIGINT, then finishes the requests in flight and exits with 0; a second
 * signal ends it at once. `ready` runs once it listens. When it cannot start: one sentence on
 * standard error (a line for each fault of the settings), exit 1.
 */
export async function runUntilStopped(
  env: Environment,
  ready: (running: Running) => Promise<void> = async () => {},
): Promise<void> {
  let running: Running | undefined;
  let stopping = false;
  const stop = async () => {
    if (stopping) process.exit(1);
    stopping = true;
    await running?.stop();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  try {
    running = await serve(env);
    await ready(running);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    await running?.stop();
    process.exit(1);
  }
}
