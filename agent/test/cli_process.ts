// Runs the agent's command line as a shell would, in processes of its own or in this one.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { CommandHost, type Outcome } from '../../test/command_host.ts';

const bin = fileURLToPath(new URL('../bin/exitward-agent.js', import.meta.url));

const host = new CommandHost(bin);

/** Starts a process with these settings, without our environment. */
export function startCommand(args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [bin, ...args], { env: { ...bareEnvironment, ...env } });
}

/** Runs a command that ends by itself and reads nothing; in a process if another one runs. */
export function runCommand(args: string[], env: Record<string, string>): Promise<Outcome> {
  if (host.isBusy) return outcomeOf(startCommand(args, env));
  return host.run({ args, env: { ...bareEnvironment, ...env } });
}

/** Gives a process its input; resolves when it has ended. */
export async function outcomeOf(child: ChildProcess, input = ''): Promise<Outcome> {
  const outcome: Outcome = { code: null, stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    outcome.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    outcome.stderr += chunk;
  });
  child.stdin?.on('error', () => {}).end(input);
  outcome.code = await new Promise((resolve) => child.on('close', resolve));
  return outcome;
}
