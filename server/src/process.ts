// The server as a process: one clear sentence when it cannot start, a graceful stop on a signal.
import { execFile } from 'node:child_process';
import { startFaults } from '../../kit/src/log.ts';
import type { Environment } from '../../kit/src/settings.ts';
import { SettingsFault } from '../../kit/src/settings.ts';
import { engineFault } from './db/faults.ts';
import { type Running, serve, type TestDoubles } from './main.ts';

/**
 * Serves until SIGTERM or SIGINT, then finishes the requests in flight and exits with 0; a second
 * signal ends it at once, with 1. `ready` runs once it listens; under systemd with Type=notify,
 * systemd is notified then. If it cannot start: one sentence on standard error (a line for each
 * fault of the settings), exit 1.
 */
export async function runUntilStopped(
  env: Environment,
  ready: (running: Running) => Promise<void> = async () => {},
  doubles: TestDoubles = {},
): Promise<void> {
  let running: Running | undefined;
  let stopping = false;
  const end = async (code: number) => {
    stopping = true;
    try {
      await running?.stop();
    } catch (error) {
      code = 1;
      report(env, error);
    }
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      void end(0);
    });
  }
  try {
    running = await serve(env, doubles);
    await ready(running);
    if (env.NOTIFY_SOCKET) execFile('systemd-notify', ['--ready'], () => {});
  } catch (error) {
    report(env, error);
    await end(1);
  }
}

function report(env: Environment, caught: unknown): void {
  const error = engineFault(caught);
  const message = error instanceof Error ? error.message : String(error);
  const sentences = error instanceof SettingsFault ? message.split('\n') : [message];
  process.stderr.write(
    startFaults(env, sentences)
      .map((line) => `${line}\n`)
      .join(''),
  );
}
