// The agent as a process: a graceful stop on a signal.
import type { Config } from './config.ts';
import { runAgent } from './main.ts';

/**
 * Runs until SIGTERM or SIGINT, or SIGUSR2, which leaves the proxies running for the next agent;
 * then keeps and sends what was counted. A second signal ends it at once, with 1. SIGHUP, as of a
 * terminal that is closed, is no reason to end. Errors: one sentence when it cannot start.
 */
export async function runUntilStopped(config: Config): Promise<void> {
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
    const running = await runAgent(config);
    await running.stop({ leave_running: (await stopped) === 'SIGUSR2' });
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    process.off('SIGHUP', stay);
  }
}
