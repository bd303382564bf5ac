// Programs that a test runs as its user has them: without the settings of the machine it runs on.
import { spawn } from 'node:child_process';

/** The environment of a program that has this folder for a home. */
export const cleanEnvironment = (home: string): NodeJS.ProcessEnv => ({
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: home,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
});

export interface Ran {
  code: number | null;
  /** Both its outputs. */
  said: string;
}

/** Runs a program to its end. */
export function run(
  program: string,
  args: string[],
  home: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: home,
    env: { ...cleanEnvironment(home), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
}
