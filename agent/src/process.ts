// The agent as a process: a graceful stop on a signal.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import { runAgent } from './main.ts';
import { missingInWords, missingPrograms } from './required_programs.ts';

/** How long the start of the service waits for the control plane. */
const longestStartSeconds = 10;

/**
 * Runs until SIGTERM or SIGINT, or SIGUSR2, which leaves the proxies running for the next agent;
 * then stores and sends the last counts. A second signal ends it at once, with 1. SIGHUP, as from a
 * closed terminal, is ignored. `notifySocket`: systemd's, if it started this as Type=notify.
 * Errors: one line if it cannot start.
 */
export async function runUntilStopped(config: Config, notifySocket?: string): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT', 'SIGUSR2'] as const;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<NodeJS.Signals>();
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(1);
    isStopping = true;
    stop(signal);
  };
  const stay = () => {};
  for (const signal of signals) process.on(signal, onSignal);
  process.on('SIGHUP', stay);
  try {
    const missing = missingInWords(await missingPrograms(config));
    if (missing) throw new Error(missing);
    const running = await runAgent(config);
    // Without the control plane the agent counts as started, too: it uses the policy on disk.
    const patience = sleep(longestStartSeconds * 1000, undefined, { ref: false });
    if (notifySocket) void Promise.race([running.following, patience]).then(notifySystemd);
    await running.stop({ leave_running: (await stopped) === 'SIGUSR2' });
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    process.off('SIGHUP', stay);
  }
}

/** Reports to systemd that the service has started. */
function notifySystemd(): void {
  execFile('systemd-notify', ['--ready'], () => {});
}
